/*
 * Licensed under the Apache License, Version 2.0 (the "License"); you may
 * not use this file except in compliance with the License. You may obtain
 * a copy of the License at
 *
 *      http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
 * WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
 * License for the specific language governing permissions and limitations
 * under the License.
 */
/**
 * The page: puts its parts together.
 */

import * as address from './address.js';
import {Board} from './board.js';
import {BookingForm, draftFrom} from './booking_form.js';
import {byId} from './elements.js';
import {FindForm} from './find_form.js';
import {Fleet, isWithin} from './fleet.js';
import {Gestures} from './gestures.js';
import {firstVisible} from './host_row.js';
import * as keyboard from './keyboard.js';
import {LeaseDrag} from './lease_drag.js';
import {LeaseList, titleOf} from './lease_list.js';
import {LeasePage} from './lease_page.js';
import {drawLegend, letLegendOpen} from './legend.js';
import {keepLooking} from './live.js';
import {connection, forgetNotice, notice} from './notice.js';
import {closePanel, panelIsOpen} from './panel.js';
import {forgetPatterns} from './patterns.js';
import {readSession, whenSignedOut} from './requests.js';
import {nameOf, saidOfBooking, writeTotal} from './row_labels.js';
import {askToSignIn} from './sign_in.js';
import {readTheme} from './theme.js';
import {DAY, days, here, neighbour} from './times.js';
import {showUser} from './user_menu.js';

const RETRY_MS = 2000;

class Page {
  constructor() {
    this.session = null;
    this.fleet = new Fleet(() => this.fleetChanged());
    this.board = new Board(
      {plot: byId('plot'), scroller: byId('scroller'),
       spacer: byId('spacer'), area: byId('area')},
      this.fleet, {toggle: (key) => this.toggle(key)});
    this.booking = new BookingForm(this);
    this.search = new FindForm(this);
    this.leasePage = new LeasePage(this);
    this.leaseList = new LeaseList(this);
    this.leaseDrag = new LeaseDrag(this);
    this.gestures = new Gestures(this.board, this.pointerDoes());
  }

  async start() {
    this.look();
    this.listen();
    await this.signIn(null);
    address.load(here());
    for (const key of address.current().open) {
      this.fleet.setOpen(key, true);
    }
    await this.showWindow();
    await this.restorePanel(address.current().panel);
    keepLooking(() => this.lookAgain());
  }

  async signIn(reason) {
    let session = await this.readSession();
    if (!session.signed_in && session.strategy !== 'noauth') {
      session = await askToSignIn(session, reason);
    }
    this.session = session;
    showUser(session);
    byId('leases').textContent = titleOf(session);
    byId('leases').title = `${titleOf(session)} (l)`;
  }

  async readSession() {
    for (;;) {
      try {
        const session = await readSession();
        connection(null);
        return session;
      } catch (failure) {
        connection(failure);
        await new Promise((resolve) => {
          window.setTimeout(resolve, RETRY_MS);
        });
      }
    }
  }

  async signedOut() {
    if (this.signingIn) {
      return;
    }
    this.signingIn = true;
    this.gestures.drop();
    const before = whoIs(this.session);
    try {
      await this.signIn('Your session has ended. Sign in to go on where you '
                        + 'were.');
      if (whoIs(this.session) !== before) {
        // NOTE: what the page shows is not for whoever reads it now.
        window.location.reload();
        return;
      }
      forgetNotice();
      this.fleet.etag = null;
      await this.fleet.refresh();
      this.askAgain();
    } finally {
      this.signingIn = false;
    }
  }

  /** Ask again what the panel could not learn without a session. */
  askAgain() {
    if (this.booking.isOpen) {
      this.booking.changed();
    } else if (this.leaseList.isOpen) {
      this.leaseList.load();
    } else if (this.search.isOpen) {
      this.search.find();
    } else {
      this.leasePage.askAgain();
    }
  }

  listen() {
    whenSignedOut(() => this.signedOut());
    const scheme = window.matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', () => this.look());
    window.matchMedia('print').addEventListener('change', () => {
      this.look();
      this.board.resize();
      this.board.paint();
    });
    for (const range of address.RANGES) {
      byId(`range-${range}`).addEventListener(
        'click', () => this.range(range));
    }
    byId('earlier').addEventListener('click', () => this.pan(-1));
    byId('later').addEventListener('click', () => this.pan(1));
    byId('today').addEventListener('click', () => this.today());
    byId('book').addEventListener('click', () => this.book());
    byId('find').addEventListener('click', () => this.find());
    byId('leases').addEventListener('click', () => this.leaseList.open());
    byId('help').addEventListener('click', () => keyboard.showHelp());
    letLegendOpen(byId('legend'), byId('legend-toggle'));
    keyboard.listen(this.keysDo());
  }

  /** Take the colours of the style sheet. */
  look() {
    readTheme();
    forgetPatterns();
    drawLegend(byId('legend-list'));
    this.board.timeline.recolour();
    this.board.later();
  }

  async lookAgain() {
    await this.fleet.refresh();
    if (address.current().from === null) {
      await this.showWindow();
    }
    this.leasePage.tick();
    this.board.later();
    // NOTE: leases start and end by the clock, without any news.
    this.showTotal();
    return this.fleet.failure === null;
  }

  fleetChanged() {
    const {fleet} = this;
    connection(fleet.failure);
    byId('empty').hidden = fleet.loaded === null
      || fleet.classes.length > 0;
    byId('loading').hidden = fleet.loaded !== null;
    this.board.update();
    this.showTotal();
    if (this.seen !== fleet.sequence) {
      this.seen = fleet.sequence;
      this.leasePage.refresh();
      if (this.leaseList.isOpen) {
        this.leaseList.load();
      }
    }
  }

  // The window of time

  showShownWindow() {
    const {from, to} = address.shownWindow(this.fleet.now());
    this.board.show(from, to);
    const {timeline} = this.board;
    const period = days(timeline.from, timeline.to);
    // NOTE: what is written again is read aloud again.
    if (byId('period').textContent !== period) {
      byId('period').textContent = period;
    }
    for (const range of address.RANGES) {
      byId(`range-${range}`).setAttribute('aria-pressed', String(
        Math.abs(timeline.to - timeline.from - range * DAY) < DAY / 12));
    }
    this.showTotal();
    return timeline;
  }

  /** Say how much of all classes is free at first, and taken in view. */
  showTotal() {
    const {fleet, board: {timeline}} = this;
    const from = Math.max(timeline.from, fleet.now());
    const taken = timeline.to > from
      ? fleet.utilisation(from, timeline.to) : null;
    writeTotal(byId('total'), fleet.total(from), taken);
  }

  async showWindow() {
    const {from, to} = this.showShownWindow();
    await this.fleet.show(from, to);
  }

  /** Show a window that was zoomed to. */
  zoom(from, to) {
    this.board.show(from, to);
    const {timeline} = this.board;
    address.change({from: timeline.from, to: timeline.to, range: null});
    this.showShownWindow();
    window.clearTimeout(this.zoomTimer);
    this.zoomTimer = window.setTimeout(() => this.showWindow(), 120);
  }

  zoomBy(factor) {
    const {from, to} = this.board.timeline;
    const middle = (from + to) / 2;
    const half = (to - from) / 2 * factor;
    this.zoom(middle - half, middle + half);
  }

  /** Show the window after the one that is shown, or the one before. */
  pan(way) {
    const {from, to} = this.board.timeline;
    this.zoom(...neighbour(from, to, way));
  }

  range(range) {
    address.change({range, from: null, to: null});
    this.showWindow();
  }

  today() {
    const {from, to} = this.board.timeline;
    const length = Math.round((to - from) / DAY);
    if (address.RANGES.includes(length)) {
      this.range(length);
    } else {
      const start = this.fleet.now() - (to - from) / 8;
      this.zoom(start, start + to - from);
    }
  }

  // Rows

  /** Open a class or a rack, or close it. */
  toggle(key) {
    const open = !this.fleet.isOpen(key);
    this.fleet.setOpen(key, open);
    const keys = [...address.current().open].filter(
      (each) => !isWithin(each, key));
    address.change({open: new Set(open ? [...keys, key] : keys)});
    this.board.update();
    // NOTE: what keys do next is about the row that was clicked.
    const {labels, laid} = this.board;
    labels.focused = laid.segments.find((each) => each.key === key)?.index
      ?? labels.focused;
  }

  classInFocus() {
    return this.board.labels.focusedRow()?.name
      ?? this.fleet.classes[0]?.name;
  }

  moveRow(by) {
    const {labels, laid} = this.board;
    const index = Math.max(0, Math.min(laid.rows - 1, labels.focused + by));
    const row = labels.moveFocus(index);
    if (row) {
      this.board.reveal(row);
      this.board.light(null);
      this.walked = null;
    }
  }

  expand(open) {
    const row = this.board.labels.focusedRow();
    if (!row) {
      return;
    }
    if (row.kind !== 'host' && row.open !== open) {
      this.toggle(row.key);
    } else if (!open && row.kind !== 'class') {
      // NOTE: the row above that it belongs to.
      const above = row.kind === 'host' ? row.key : row.name;
      const segment = this.board.laid.segments.find(
        (each) => each.key === above);
      this.moveRow(segment.index - row.index);
    }
  }

  activate() {
    const row = this.board.labels.focusedRow();
    if (row && row.kind !== 'host') {
      this.toggle(row.key);
    } else if (this.walked?.lease?.id) {
      this.openLease(this.walked.lease.id);
    } else {
      this.nextBooking(1);
    }
  }

  /** Light up the next booking of the row that has the focus. */
  nextBooking(way) {
    const row = this.board.labels.focusedRow();
    const host = row?.kind === 'host'
      ? this.fleet.host(row.key, row.host) : null;
    if (!host?.bookings.length) {
      return;
    }
    const {bookings} = host;
    const at = bookings.indexOf(this.walked);
    const next = at === -1
      ? Math.min(firstVisible(host, this.board.timeline.from),
                 bookings.length - 1)
      : Math.max(0, Math.min(bookings.length - 1, at + way));
    this.walked = bookings[next];
    this.board.light(this.walked.lease?.key ?? null);
    byId('said').textContent = saidOfBooking(this.walked);
  }

  // What others call

  /** Write into the URL what the panel shows. */
  changed(panel) {
    address.change({panel});
  }

  /** Take in a new lease, and show it. */
  booked(lease) {
    this.written();
    this.leasePage.openAndJump(lease.id);
  }

  /** Show when a lease is, in the row of its class. */
  jumpTo({start, end, classes}) {
    const {board} = this;
    const {from, to} = board.timeline;
    const length = to - from;
    const isInView = from <= start && start < to
      && (end <= to || end - start > length);
    if (!isInView) {
      // NOTE: the scale stays; so does what the eye knows.
      const left = start - length / 8;
      this.zoom(left, left + length);
    }
    board.revealClass([...classes][0]);
  }

  /** Take in that something of ours was written. */
  written() {
    this.fleet.refresh();
  }

  openLease(ident) {
    this.leasePage.open(ident);
  }

  book(draft = null) {
    const {from, to} = this.board.timeline;
    if (this.hasHosts()) {
      this.booking.open(draft ?? draftFrom(
        this.classInFocus(), from, to, this.fleet.now()));
      this.board.revealDraft();
    }
  }

  find(wanted = {resourceClass: this.classInFocus()}) {
    if (this.hasHosts()) {
      this.search.open(wanted);
    }
  }

  /** Return whether there is anything to book; say so if not. */
  hasHosts() {
    if (this.fleet.classes.length) {
      return true;
    }
    notice(this.fleet.loaded === null
      ? 'The hosts are still being loaded.'
      : 'There is nothing to book: no hosts are open to leases yet.');
    return false;
  }

  async restorePanel(panel) {
    if (panel?.kind === 'lease') {
      this.openLease(panel.lease);
    } else if (panel?.kind === 'leases') {
      this.leaseList.open();
    } else if (panel?.kind === 'find') {
      this.find(panel);
    } else if (panel?.kind === 'book' && panel.start && panel.end) {
      this.book(panel);
    }
  }

  pointerDoes() {
    const {booking, leaseDrag, board} = this;
    return {
      zoom: (from, to) => this.zoom(from, to),
      toggle: (key) => this.toggle(key),
      hover: (lease) => board.light(
        lease?.key ?? this.leasePage.ident ?? null),
      openLease: (ident) => this.openLease(ident),
      canChange: (each) => leaseDrag.canChange(each),
      edge: (...moved) => leaseDrag.move(...moved),
      dropped: (...moved) => leaseDrag.drop(...moved),
      leftEdge: () => leaseDrag.forget(),
      drawn: (draft) => this.drawn(draft),
      moveDraft: (which, time) => {
        const other = booking.draft[which === 'end' ? 'start' : 'end'];
        if (which === 'end' ? time > other : time < other) {
          booking.move({[which]: time});
        }
      },
      accept: (offer) => (offer.book ? offer.book()
        : booking.accept(offer))};
  }

  drawn({start, end, row}) {
    const host = row.kind === 'host'
      ? this.fleet.host(row.key, row.host) : null;
    const kept = keptOf(this.booking);
    this.book({...kept, start, end, resourceClass: row.name,
               node: host?.node_uuid ?? null, hostId: host?.id ?? null,
               rack: row.kind === 'rack' ? row.rack : null,
               nodeName: host && nameOf(host)});
  }

  keysDo() {
    return {
      moveRow: (by) => this.moveRow(by),
      expand: (open) => this.expand(open),
      activate: () => this.activate(),
      nextBooking: (way) => this.nextBooking(way),
      book: () => this.book(),
      find: () => this.find(),
      leases: () => this.leaseList.open(),
      today: () => this.today(),
      pan: (way) => this.pan(way),
      zoomBy: (factor) => this.zoomBy(factor),
      range: (range) => this.range(range),
      escape: () => {
        if (!this.gestures.drop() && !this.leasePage.leaveEditor()
            && panelIsOpen()) {
          closePanel();
        }
      }};
  }
}

function whoIs({user, project}) {
  return JSON.stringify([user, project]);
}

/** Return what a form that is open already keeps when a window is drawn. */
function keptOf({draft}) {
  if (!draft) {
    return null;
  }
  const {hosts, most, dates, name, typed} = draft;
  return {hosts, most, dates, name, typed};
}

new Page().start();
