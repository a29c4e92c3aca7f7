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
 * The form that books: hosts, window, properties; the service's verdict while
 * they change; what is in the way, and offers; one click books.
 */

import {DryRun, refused} from './dry_run.js';
import {element, fill} from './elements.js';
import {movesOf, roomText} from './moves_text.js';
import {notice} from './notice.js';
import {closePanel, openPanel} from './panel.js';
import {classOf, conditionField, readable, textFor, UNREADABLE}
  from './properties.js';
import {blockerList, blockersOf, count, offerList, offersOf, sentence}
  from './refusal_text.js';
import {get} from './requests.js';
import {DAY, duration, fromInput, HOUR, read, timeElement, toInput, utc, write}
  from './times.js';
import {bookOnce} from './write_once.js';

const RETRY_MS = 3000;
/** The name of a lease without one. */
export const UNNAMED = 'lease';
export const ANY_CLASS = 'any class';
export const NO_TIMES = 'Type from when until when you need them.';
export const NO_LENGTH = 'Type how long you need the hosts: no longer than '
  + 'the time between these.';
export const LARGER_SECOND =
  'The larger number of hosts comes second, or is left empty.';
/** The ways to set dates, with the words for them. */
const DATES = {
  fixed: 'exactly these',
  queue: 'these, or the next free ones',
  open: 'any time between these'};

/** Booking with the panel and the board. */
export class BookingForm {
  /**
   * @param {object} page the fleet, the board, and changed(), booked(lease)
   */
  constructor(page) {
    this.page = page;
    this.dryRun = new DryRun((verdict) => this.judged(verdict));
    this.draft = null;
  }

  get isOpen() {
    return this.draft !== null;
  }

  /**
   * Open the form for a draft: resourceClass, start, end, hosts, and node or
   * rack, whose row was pointed at; an empty rack is none.
   */
  open(draft) {
    this.draft = {hosts: 1, most: null, dates: 'fixed', hours: null, node: null, nodeName: null, pinned: false,
                  rack: null, onlyRack: true, typed: '', name: '',
                  ...draft};
    this.draft.onlyRack &&= this.canAskForRack;
    this.verdict = null;
    const form = this.build();
    const {draft: kept} = this;
    openPanel('Book hosts', form, {
      focus: this.fields.hosts,
      closed: () => this.closed()});
    this.draft = kept;
    this.changed();
    this.nameNode();
  }

  /** Whether the hosts of the rack can be asked for. */
  get canAskForRack() {
    return Boolean(this.draft.rack) && this.page.fleet.rackProperty !== null;
  }

  /** Say what the host is called that whoever sent the address has chosen. */
  async nameNode() {
    const {draft} = this;
    if (!draft.node || draft.nodeName) {
      return;
    }
    try {
      const answer = await get('calendar', new URLSearchParams({
        from: write(draft.start), to: write(draft.end), rows: 'true',
        node: draft.node}));
      const [host] = answer.document.calendar.hosts;
      if (host?.name && draft === this.draft) {
        draft.nodeName = host.name;
        this.places.node.textContent = `Only the host ${host.name}`;
      }
    } catch {
      // NOTE: its id stands there, and the verdict says what is wrong.
    }
  }

  build() {
    const {draft, page} = this;
    const number = element('input', {
      id: 'book-hosts', type: 'number', min: 1, max: 100000, required: true,
      value: draft.hosts});
    const condition = conditionField('book-properties', draft.typed);
    const lasts = lengthFields(
      'book', draft.hours ?? Math.max(
        1, Math.floor((draft.end - draft.start) / HOUR)));
    const choice = classChoice('book-class', page.fleet, draft.resourceClass);
    const time = (id, seconds) => element('input', {
      id, type: 'datetime-local', required: true, step: 60,
      value: toInput(seconds), title: utc(seconds)});
    this.fields = {
      hosts: number, choice, length: lasts.length, unit: lasts.unit,
      most: mostHosts('book-most', draft.most),
      dates: element('select', {id: 'book-dates'}, ...Object.entries(DATES).map(
        ([value, words]) => element(
          'option', {value, selected: value === draft.dates}, words))),
      start: time('book-start', draft.start),
      end: time('book-end', draft.end),
      name: element('input', {
        id: 'book-name', type: 'text', maxlength: 80, value: draft.name,
        placeholder: UNNAMED, autocomplete: 'off'}),
      typed: condition.input,
      onlyRack: element('input', {id: 'book-only-rack', type: 'checkbox',
                                  checked: draft.onlyRack}),
      pinned: element('input', {id: 'book-pinned', type: 'checkbox',
                                checked: draft.pinned})};
    this.places = {
      node: element('label', {for: 'book-pinned'},
                    `Only the host ${draft.nodeName ?? draft.node}`),
      summary: element('p.note', {id: 'book-dates-note'}),
      lasts: element('div.pair', {hidden: draft.dates !== 'open'},
                     ...lasts.parts),
      verdict: element('div.verdict', {role: 'status',
                                       'aria-live': 'polite'}),
      submit: element('button.primary', {type: 'submit', disabled: true},
                      'Book')};
    const form = element(
      'form.booking', {
        novalidate: true, 'aria-labelledby': 'panel-title',
        oninput: () => this.typed(),
        onsubmit: (event) => {
          event.preventDefault();
          this.book();
        }},
      element('div.three', {}, field('book-hosts', 'Hosts', number),
              field('book-most', 'or up to', this.fields.most),
              field('book-class', 'of class', choice)),
      this.rackField(),
      field('book-start', 'From', this.fields.start, '.aside'),
      field('book-end', 'Until', this.fields.end, '.aside'),
      field('book-dates', 'Dates', this.fields.dates, '.aside'),
      this.places.lasts,
      this.places.summary,
      field('book-name', 'Name', this.fields.name, '.aside'),
      condition.part,
      this.pinnedField(),
      this.places.verdict,
      element('div.buttons', {},
              element('button', {type: 'button',
                                 onclick: () => closePanel()}, 'Cancel'),
              this.places.submit));
    return form;
  }

  rackField() {
    const {draft} = this;
    if (draft.rack === null) {
      return null;
    }
    if (!this.canAskForRack) {
      return element(
        'p.note', {id: 'book-rack'}, 'Hosts of any rack are booked, not only '
        + `of ${draft.rack || 'those without one'}: only a condition on their `
        + 'properties, below, asks for a rack.');
    }
    return element(
      'div.check', {}, this.fields.onlyRack,
      element('label', {for: 'book-only-rack'},
              `Only hosts of the rack ${draft.rack}`));
  }

  pinnedField() {
    const {draft} = this;
    if (!draft.node) {
      return null;
    }
    return element(
      'div.check', {},
      this.fields.pinned,
      this.places.node,
      element('p.note', {},
              'Costs flexibility: a lease for this one host cannot make room '
              + 'for others, and is refused, or suffers, where any host of '
              + 'the class would do.'));
  }

  /** Take in what was typed. */
  typed() {
    const {fields, draft} = this;
    Object.assign(draft, {
      hosts: Number.parseInt(fields.hosts.value, 10),
      most: fields.most.value ? Number.parseInt(fields.most.value, 10) : null,
      dates: fields.dates.value,
      hours: Number(fields.length.value) * Number(fields.unit.value),
      resourceClass: fields.choice.value,
      start: edgeOf(fields.start, draft.start),
      end: edgeOf(fields.end, draft.end),
      name: fields.name.value.trim(),
      typed: fields.typed.value,
      onlyRack: fields.onlyRack.checked, pinned: fields.pinned.checked});
    this.places.lasts.hidden = draft.dates !== 'open';
    this.changed();
  }

  /** Take in that the edges were dragged. */
  move(part) {
    Object.assign(this.draft, part);
    this.fields.start.value = toInput(this.draft.start);
    this.fields.end.value = toInput(this.draft.end);
    if (part.resourceClass) {
      this.fields.choice.value = part.resourceClass;
    }
    this.changed();
  }

  changed() {
    const {draft} = this;
    const wrong = this.mistake();
    fill(this.places.summary,
         wrong ? '' : `${duration(this.lasts)} · ${
           utc(draft.start)} – ${utc(draft.end)}`);
    this.page.board.over.draft = draft;
    if (wrong) {
      this.dryRun.cancel();
      this.judged({granted: false, sentence: wrong, reasons: [], offers: [],
                   typing: true});
    } else {
      this.dryRun.ask({method: 'POST', path: 'leases', body: this.body()});
    }
    const {resourceClass, hosts, most, dates, start, end, name, typed, rack,
           onlyRack, node, pinned} = draft;
    this.page.changed({
      kind: 'book', resourceClass, hosts, most, dates, start, end, name,
      typed, rack, onlyRack, node, pinned,
      hours: dates === 'open' ? this.lasts / HOUR : null});
  }

  /** How long the lease lasts, in seconds. */
  get lasts() {
    const {dates, hours, start, end} = this.draft;
    return dates === 'open' && hours !== null ? hours * HOUR : end - start;
  }

  /** Return what has to be typed differently, or null. */
  mistake() {
    const {draft} = this;
    if (!(draft.hosts >= 1)) {
      return 'Type how many hosts you need: a number from 1 on.';
    }
    if (draft.most !== null && !(draft.most >= draft.hosts)) {
      return LARGER_SECOND;
    }
    if (!(draft.start && draft.end)) {
      return NO_TIMES;
    }
    if (draft.end <= draft.start) {
      return 'The end must be later than the start.';
    }
    if (!(this.lasts > 0 && this.lasts <= draft.end - draft.start)) {
      return NO_LENGTH;
    }
    if (!readable(draft.typed)) {
      return UNREADABLE;
    }
    return null;
  }

  body() {
    const {draft} = this;
    const now = this.page.fleet.now();
    const start = draft.start <= now ? 'now' : write(draft.start);
    return {
      name: draft.name || UNNAMED,
      ...(draft.dates === 'open'
        ? {between: [start, write(draft.end)], duration: this.lasts}
        : {start_date: start, end_date: write(draft.end), events: []}),
      ...(draft.dates === 'queue' ? {on_refusal: 'queue'} : {}),
      reservations: [{
        resource_type: 'physical:host', min: draft.hosts,
        max: draft.most ?? draft.hosts,
        hypervisor_properties: '',
        resource_properties: textFor({
          resourceClass: draft.resourceClass, typed: draft.typed,
          rack: draft.onlyRack && this.canAskForRack
            ? [this.page.fleet.rackProperty, draft.rack] : null,
          node: draft.pinned ? draft.node : null})}]};
  }

  /** Take in a verdict; null while the service is asked. */
  judged(verdict) {
    const {draft, places, page} = this;
    if (!draft) {
      return;
    }
    places.submit.disabled = !verdict?.granted;
    if (verdict === null) {
      draft.verdict = 'asking';
      places.verdict.setAttribute('aria-busy', 'true');
      page.board.later();
      return;
    }
    this.verdict = verdict;
    window.clearTimeout(this.retry);
    if (verdict.unanswered) {
      this.retry = window.setTimeout(() => this.draft && this.changed(),
                                     RETRY_MS);
    }
    places.verdict.removeAttribute('aria-busy');
    draft.verdict = 'no';
    if (verdict.granted) {
      draft.verdict = verdict.lease.queued ? 'waits' : 'yes';
    }
    const blockers = blockersOf(verdict);
    const offers = offersOf(verdict, draft.resourceClass, classOf);
    Object.assign(page.board.over, {
      blockers, offers, moves: movesOf(verdict.moves)});
    page.board.later();
    places.verdict.className = `verdict ${
      verdict.granted ? 'yes' : verdict.typing ? 'typing' : 'no'}`;
    if (verdict.granted) {
      const room = roomText(verdict.moves);
      const dates = this.plannedDates(verdict.lease);
      fill(places.verdict, element(
        'p', {}, `Possible: ${this.grantedHosts(verdict.lease)} of ${
          draft.resourceClass || ANY_CLASS}${
          dates ? '.' : ', as you ask for it.'}`),
           dates,
           room && element('p.room', {}, room));
    } else if (verdict.typing) {
      fill(places.verdict, element('p', {}, verdict.sentence));
    } else {
      fill(places.verdict,
           element('p', {}, sentence(verdict.sentence)),
           blockerList(blockers),
           verdict.code === 'lease.refused' && offerList(
             offers, (offer) => this.accept(offer),
             (offer) => {
               page.board.over.litOffer = offer;
               page.board.later();
             }));
    }
  }

  /** Return how many hosts are granted: "3 hosts", or "3 of 2 to 4 hosts". */
  grantedHosts(lease) {
    const {hosts, most} = this.draft;
    const granted = most === null || most === hosts ? ''
      : `${lease.reservations[0].nodes.length} of `;
    return `${granted}${hostsText(hosts, most)}`;
  }

  /** Say when a lease would be whose dates are not simply those typed in. */
  plannedDates(lease) {
    const {dates} = this.draft;
    if (dates === 'fixed' || (dates === 'queue' && !lease.queued)) {
      return null;
    }
    return dates === 'open' ? planText(lease) : windowText(
      'These times are taken. It waits, and starts at the latest: ', lease);
  }

  async book() {
    if (!this.verdict?.granted || this.mistake()) {
      return;
    }
    await this.post(this.body());
  }

  /** Book what was offered, unchanged. */
  async accept(offer) {
    await this.post(offer.lease);
  }

  async post(body) {
    const {page, places} = this;
    places.submit.disabled = true;
    this.dryRun.cancel();
    let lease;
    try {
      lease = await bookOnce(body, page.fleet.now());
    } catch (failure) {
      this.judged(refused(failure));
      return;
    }
    notice(`Booked: ${lease.name}.`);
    closePanel();
    page.booked(lease);
  }

  closed() {
    this.dryRun.cancel();
    window.clearTimeout(this.retry);
    this.draft = null;
    this.verdict = null;
    Object.assign(this.page.board.over, {
      draft: null, blockers: [], offers: [], moves: [], litOffer: null});
    this.page.board.later();
    this.page.changed(null);
  }
}

/** Return for when a lease is planned whose dates are open. */
export function planText(lease) {
  return windowText(`Planned${lease.fixed ? '' : ' for now'}: `, lease);
}

function windowText(words, lease) {
  return element('p', {}, words, timeElement(read(lease.start_date)), ' – ',
                 timeElement(read(lease.end_date)), '.');
}

/** Return a number of hosts: "3 hosts", or "2 to 4 hosts". */
export function hostsText(hosts, most) {
  return most === null || most === hosts ? count(hosts, 'host')
    : `${hosts} to ${count(most, 'host')}`;
}

/** Return a field for the larger number of a range of hosts. */
export function mostHosts(id, most) {
  return element('input', {id, type: 'number', min: 1, max: 100000,
                           value: most});
}

/** Return the time of a field; an hour that comes twice stays which it is. */
export function edgeOf(input, before) {
  return before && input.value === toInput(before)
    ? before : fromInput(input.value);
}

/**
 * Return a choice of the classes.
 *
 * @param {string|undefined} chosen a class, whether or not it has hosts
 */
export function classChoice(id, {classes}, chosen) {
  const known = classes.some((each) => each.name === chosen);
  // NOTE: what is asked for is what is shown, even if there is none of it.
  const all = known || chosen === undefined || chosen === null ? classes
    : [...classes, {name: chosen, hosts: 0}];
  return element('select', {id}, ...all.map((each) => element(
    'option', {value: each.name, selected: each.name === chosen},
    // NOTE: nobody can ask for hosts that have no class.
    each.name ? `${each.name} (${each.hosts})` : ANY_CLASS)));
}

/**
 * Return fields for a length: a number, and days or hours.
 *
 * @param {number} hours the length that they show
 */
export function lengthFields(form, hours) {
  const inDays = hours % 24 === 0;
  const length = element('input', {
    id: `${form}-length`, type: 'number', min: 1, required: true,
    value: inDays ? hours / 24 : hours});
  const unit = element(
    'select', {id: `${form}-unit`, 'aria-label': 'Unit'},
    element('option', {value: 24, selected: inDays}, 'days'),
    element('option', {value: 1, selected: !inDays}, 'hours'));
  return {length, unit, parts: [field(length.id, 'for', length),
                                element('div.field', {}, unit)]};
}

/** Return a field with its label; looks: classes after dots. */
export function field(id, label, input, looks = '') {
  return element(`div.field${looks}`, {}, element('label', {for: id}, label),
                 input);
}

/** Return a draft for a class when nothing was dragged. */
export function draftFrom(resourceClass, from, to, now) {
  const start = Math.ceil(Math.max(from, now) / HOUR) * HOUR;
  const length = Math.min(DAY, Math.max(HOUR, (to - from) / 7));
  return {resourceClass, start, end: start + Math.round(length / HOUR) * HOUR};
}
