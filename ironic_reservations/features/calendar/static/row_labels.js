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
 * The names of the rows, and what each row shows in words, as a grid that
 * keyboards and screen readers walk through.  Only the rows in view exist.
 */

import {element, fill, icon} from './elements.js';
import {conditionOf, firstVisible, kindOf,
        kindOfWindow} from './host_row.js';
import {KINDS} from './patterns.js';
import {rowOf} from './row_layout.js';
import {shown} from './times.js';

const MOST_SAID = 12;
const QUIET_MS = 120;

/** The grid of the rows in view. */
export class RowLabels {
  /**
   * @param {Element} grid what the rows are put into
   * @param {object} fleet the classes and hosts
   * @param {function} toggle opens or closes a class or a rack
   */
  constructor(grid, fleet, toggle) {
    this.grid = grid;
    this.fleet = fleet;
    this.toggle = toggle;
    this.rows = new Map();
    this.spares = [];
    this.focused = 0;
    grid.addEventListener('click', (event) => {
      const row = event.target.closest('.class-row');
      if (row && !event.target.closest('button')) {
        this.toggle(rowOf(this.laid, Number(row.dataset.index)).key);
      }
    });
    grid.addEventListener('focusin', (event) => {
      const row = event.target.closest('[role=row]');
      if (row) {
        this.moveFocus(Number(row.dataset.index), false);
      }
    });
  }

  /** Show the labels of the rows in view, and of the one that has focus. */
  show(laid, rows, view) {
    this.laid = laid;
    this.view = view;
    this.focused = Math.max(0, Math.min(this.focused, laid.rows - 1));
    this.grid.setAttribute('aria-rowcount', String(laid.rows));
    const wanted = new Map(rows.map((row) => [keyOf(row), row]));
    const kept = laid.rows ? rowOf(laid, this.focused) : null;
    if (kept) {
      wanted.set(keyOf(kept), kept);
    }
    for (const [key, made] of this.rows) {
      if (!wanted.has(key)) {
        this.rows.delete(key);
        this.spare(made);
      }
    }
    for (const [key, row] of wanted) {
      this.update(key, row);
    }
    while (this.spares.length > 0) {
      this.spares.pop().remove();
    }
    window.clearTimeout(this.quiet);
    this.quiet = window.setTimeout(() => this.say(), QUIET_MS);
  }

  /** Keep the element of a host that has left, for one that comes. */
  spare(made) {
    if (made.classList.contains('host-row')
        && made !== document.activeElement) {
      this.spares.push(made);
    } else {
      made.remove();
    }
  }

  update(key, row) {
    let made = this.rows.get(key);
    if (!made) {
      made = row.kind === 'host' ? this.spares.pop() ?? newHostRow()
        : element(
          row.kind === 'rack' ? 'div.row.class-row.rack-row'
            : 'div.row.class-row',
          {role: 'row', 'aria-level': row.kind === 'rack' ? 2 : 1});
      this.rows.set(key, made);
      if (!made.isConnected) {
        this.grid.append(made);
      }
    }
    if (made.dataset.index !== String(row.index)) {
      made.dataset.index = row.index;
      made.setAttribute('aria-rowindex', String(row.index + 1));
    }
    if (made.top !== row.top) {
      made.top = row.top;
      made.style.transform = `translateY(${row.top}px)`;
    }
    const tab = row.index === this.focused ? 0 : -1;
    // NOTE: tabIndex is -1 as well where nothing says that it takes focus.
    if (made.getAttribute('tabindex') !== String(tab)) {
      made.tabIndex = tab;
    }
    if (row.kind !== 'host') {
      this.fillClass(made, row);
    } else {
      this.fillHost(made, row);
    }
  }

  fillClass(made, row) {
    const each = this.fleet.find(row.key);
    const shownName = row.rack === null ? row.name || 'no class'
      : row.rack || 'no rack';
    const {from, to} = this.view;
    const now = this.fleet.now();
    const free = this.fleet.freeAt(row.key, Math.max(from, now));
    const least = this.fleet.leastFree(row.key, Math.max(from, now), to);
    made.setAttribute('aria-expanded', String(row.open));
    const away = unusableText(each);
    const text = [shownName, row.open, free, least, each.hosts,
                  Object.entries(each.conditions).join()].join();
    if (made.dataset.text !== text) {
      made.dataset.text = text;
      fill(
        made,
        element(
          'span.label', {role: 'rowheader'},
          element('button.toggle', {
            type: 'button', tabindex: -1,
            'aria-label': `${row.open ? 'Close' : 'Open'} ${shownName}`,
            onclick: () => this.toggle(row.key)},
          icon(row.open ? 'down' : 'right')),
          element(
            'span.words', {},
            element('span.name', {title: shownName}, shownName),
            element('span.count', {},
                    element('strong', {}, String(free)),
                    ` of ${each.hosts} free`),
            element('span.least', {
              title: `down to ${least} in view${away ? ` · ${away}` : ''}`},
            `down to ${least}`, element('span.in-view', {}, ' in view'),
            away && element('span.away', {},
                            element('span.in-view', {}, ' · '), away)))),
        element('span.said', {role: 'gridcell'}));
    }
    made.words = () => saidOfClass(each, from, to);
  }

  fillHost(made, row) {
    const host = this.fleet.host(row.key, row.host);
    const level = row.rack === null ? '2' : '3';
    if (made.getAttribute('aria-level') !== level) {
      made.setAttribute('aria-level', level);
    }
    const badges = host ? [conditionOf(host), host.lent && 'lent'].filter(
      (each) => each) : [];
    const [name, badge] = made.firstChild.children;
    write(name, host ? nameOf(host) : '…');
    write(badge, badges.join(', '));
    badge.hidden = !badges.length;
    made.words = () => (host
      ? saidOfHost(host, this.view, this.fleet.lentUntil)
      : 'is being loaded');
  }

  /** Write what each row shows in words, once the rows stand still. */
  say() {
    for (const made of this.rows.values()) {
      write(made.lastChild, made.words());
    }
  }

  /** Give the focus to a row. */
  moveFocus(index, take = true) {
    if (!this.laid?.rows) {
      return null;
    }
    this.focused = Math.max(0, Math.min(index, this.laid.rows - 1));
    const row = rowOf(this.laid, this.focused);
    this.update(keyOf(row), row);
    for (const made of this.rows.values()) {
      made.tabIndex = Number(made.dataset.index) === this.focused ? 0 : -1;
    }
    if (take) {
      this.rows.get(keyOf(row)).focus({preventScroll: true});
    }
    return row;
  }

  /** Return the row that has, or last had, the focus. */
  focusedRow() {
    return this.laid?.rows ? rowOf(this.laid, this.focused) : null;
  }
}

function keyOf(row) {
  return `${row.kind} ${row.key} ${row.host ?? ''}`;
}

function newHostRow() {
  return element(
    'div.row.host-row', {role: 'row', 'aria-level': 2},
    element('span.label', {role: 'rowheader'}, element('span.name'),
            element('span.condition')),
    element('span.said', {role: 'gridcell'}));
}

/**
 * Write how much of all classes is free, and taken.
 *
 * @param {{hosts: number, free: number}} total now, or as the view begins
 * @param {number|null} taken which share, in view
 */
export function writeTotal(place, {hosts, free}, taken) {
  const share = taken === null ? null : `${Math.round(100 * taken)} % taken`;
  const text = `${free} of ${hosts} free ${share}`;
  if (place.dataset.text !== text) {
    place.dataset.text = text;
    fill(place, element('span.count', {},
                        element('strong', {}, String(free)),
                        ` of ${hosts} free`),
         share && element('span.least', {
           title: 'Of the hosts of all classes, on average from now until the '
             + 'end of what is shown: booked, in cleaning, or not usable'},
         share, element('span.in-view', {}, ' in view')));
    place.hidden = hosts === 0;
  }
}

function write(place, text) {
  if (place.textContent !== text) {
    place.textContent = text;
  }
}

function unusableText({hosts, conditions}) {
  const away = hosts - (conditions?.usable ?? hosts);
  return away ? `${away} not usable` : null;
}

function saidOfClass(each, from, to) {
  const inView = each.steps.filter(([at], index) => at < to
    && (each.steps[index + 1]?.[0] ?? Infinity) > from);
  const said = inView.slice(0, MOST_SAID).map(
    ([at, free]) => `${free} free from ${shown(Math.max(at, from))}`);
  if (inView.length > MOST_SAID) {
    said.push(`and ${inView.length - MOST_SAID} more changes`);
  }
  return said.join('; ');
}

function saidOfHost(host, {from, to}, lentUntil) {
  const said = [conditionOf(host) ?? 'usable'];
  if (host.lent) {
    said.push(lentUntil === null || lentUntil >= to
      ? 'lent by its owner' : `lent by its owner, until ${shown(lentUntil)}`);
  }
  const first = said.length;
  const {bookings} = host;
  said.push(...host.windows.filter(
    (each) => each.start < to && each.end > from).map(saidOfWindow));
  for (let at = firstVisible(host, from);
    at < bookings.length && bookings[at].start < to; at += 1) {
    if (said.length > MOST_SAID) {
      said.push('and more');
      break;
    }
    said.push(saidOfBooking(bookings[at]));
  }
  if (said.length === first) {
    said.push('no bookings');
  }
  return said.join('; ');
}

/** Return the name of a host; the reader may not be allowed to know it. */
export function nameOf(host) {
  return host.name ?? host.node_uuid ?? `host ${host.id}`;
}

/** Return a maintenance window in words. */
export function saidOfWindow(each) {
  const {purpose} = each;
  let what = '';
  if (purpose) {
    what = purpose.reason === purpose.name ? `: ${purpose.name}`
      : `: ${purpose.name} (${purpose.reason})`;
  }
  return `${KINDS[kindOfWindow(each)].label}, from ${
    shown(each.start)} until ${shown(each.end)}${what}`;
}

/** Return a booking in words. */
export function saidOfBooking(booking) {
  const {lease} = booking;
  let whose = 'of somebody else';
  if (lease?.own) {
    whose = `of your lease ${lease.name}`;
  } else if (lease?.name) {
    whose = `of the lease ${lease.name}${
      lease.user_id ? ` of ${lease.user_id}` : ''}`;
  }
  const kind = KINDS[kindOf(booking)].label.split(':')[0];
  const instances = booking.amount
    ? `, ${booking.amount} instance${booking.amount === 1 ? '' : 's'}` : '';
  return `${kind} from ${shown(booking.start)} until ${shown(booking.end)}, ${
    whose}${instances}`;
}
