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
 * The search: "4 hosts of gold for 3 days, some time between Monday and the
 * 20th", and the earliest slots as a list, each a click from booked; so is a
 * lease at any time of the window.  The list is always that of the form: it is
 * emptied and read again with each change.
 */

import {ANY_CLASS, classChoice, field, hostsText, LARGER_SECOND, lengthFields,
        mostHosts, UNNAMED} from './booking_form.js';
import {element, fill} from './elements.js';
import {notice} from './notice.js';
import {openPanel} from './panel.js';
import {conditionField, readable, textFor, UNREADABLE} from './properties.js';
import {get} from './requests.js';
import {count, sentence} from './refusal_text.js';
import {DAY, duration, fromInput, HOUR, read, timeElement, toInput, utc,
        write} from './times.js';
import {bookOnce} from './write_once.js';

const SLOTS = 8;
/** So long nothing is typed before the service is asked. */
const PAUSE_MS = 250;

/** Searching with the panel and the board. */
export class FindForm {
  /** @param {object} page the fleet, the board, and changed(), booked(lease) */
  constructor(page) {
    this.page = page;
    this.asked = 0;
    this.isOpen = false;
  }

  open(wanted = {}) {
    const {fleet} = this.page;
    const now = fleet.now();
    const start = wanted.start ?? now;
    const condition = conditionField('find-properties', wanted.typed ?? '');
    const lasts = lengthFields('find', wanted.hours ?? 24);
    this.fields = {
      typed: condition.input, length: lasts.length, unit: lasts.unit,
      hosts: element('input', {id: 'find-hosts', type: 'number', min: 1,
                               required: true, value: wanted.hosts ?? 1}),
      most: mostHosts('find-most', wanted.most),
      choice: classChoice('find-class', fleet, wanted.resourceClass),
      start: timeInput('find-start', start),
      end: timeInput('find-end', wanted.end ?? start + 14 * DAY),
      name: element('input', {
        id: 'find-name', type: 'text', maxlength: 80,
        value: wanted.name ?? '', placeholder: UNNAMED,
        autocomplete: 'off'})};
    this.result = element('div.slots', {role: 'status'});
    const form = element(
      'form.find', {
        'aria-labelledby': 'panel-title', novalidate: true,
        oninput: (event) => this.typed(event.target),
        onsubmit: (event) => {
          event.preventDefault();
          this.find();
        }},
      element('div.three', {},
              field('find-hosts', 'Hosts', this.fields.hosts),
              field('find-most', 'or up to', this.fields.most),
              field('find-class', 'of class', this.fields.choice)),
      element('div.pair', {}, ...lasts.parts),
      field('find-start', 'some time between', this.fields.start),
      field('find-end', 'and', this.fields.end),
      field('find-name', 'Name', this.fields.name, '.aside'),
      condition.part,
      element('div.buttons', {},
              element('button.primary', {type: 'submit'}, 'Find slots')),
      this.result);
    openPanel('Find free hosts', form, {
      focus: this.fields.hosts, closed: () => this.closed()});
    this.isOpen = true;
    this.find();
  }

  /** Return what the form asks for. */
  wanted() {
    const {fields} = this;
    return {
      kind: 'find', resourceClass: fields.choice.value,
      hosts: Number(fields.hosts.value),
      most: fields.most.value ? Number(fields.most.value) : null,
      hours: Number(fields.length.value) * Number(fields.unit.value),
      start: fromInput(fields.start.value), end: fromInput(fields.end.value),
      name: fields.name.value.trim(), typed: fields.typed.value.trim()};
  }

  /** Take in that a field was changed. */
  typed(changed) {
    if (changed === this.fields.name) {
      // NOTE: a name changes no slot, only the words of the buttons.
      this.page.changed(this.wanted());
      if (this.slots) {
        this.show(this.wanted(), this.slots);
      }
      return;
    }
    this.forget();
    fill(this.result, element('p.note', {}, 'Looking …'));
    this.timer = window.setTimeout(() => this.find(), PAUSE_MS);
  }

  /** Forget the slots, and the answer to come, of a form that is changed. */
  forget() {
    window.clearTimeout(this.timer);
    this.asked += 1;
    this.slots = null;
    Object.assign(this.page.board.over, {offers: [], litOffer: null});
    this.page.board.later();
  }

  async find() {
    const {page} = this;
    const wanted = this.wanted();
    this.forget();
    page.changed(wanted);
    if (!(Number.isInteger(wanted.hosts) && wanted.hosts >= 1
          && wanted.hours > 0 && wanted.end > wanted.start)) {
      fill(this.result, element(
        'p.failed', {}, 'Type how many hosts, for how long, and an end that '
        + 'is later than the start.'));
      return;
    }
    if (wanted.most !== null && !(Number.isInteger(wanted.most)
                                  && wanted.most >= wanted.hosts)) {
      fill(this.result, element('p.failed', {}, LARGER_SECOND));
      return;
    }
    if (!readable(wanted.typed)) {
      fill(this.result, element('p.failed', {}, UNREADABLE));
      return;
    }
    const turn = this.asked;
    fill(this.result, element('p.note', {}, 'Looking …'));
    const properties = textFor({typed: wanted.typed});
    let slots;
    try {
      const answer = await get('availability', new URLSearchParams({
        ...(wanted.resourceClass
          ? {resource_class: wanted.resourceClass} : {}),
        ...(properties ? {resource_properties: properties} : {}),
        count: wanted.hosts,
        duration: wanted.hours * 3600, slots: SLOTS,
        start_date: write(Math.max(wanted.start, page.fleet.now())),
        end_date: write(wanted.end)}));
      slots = answer.document.availability.slots;
    } catch (failure) {
      if (turn === this.asked) {
        fill(this.result, element('p.failed', {}, sentence(failure.message)));
      }
      return;
    }
    if (turn === this.asked) {
      this.slots = slots.map((slot) => ({
        start: read(slot.start_date), end: read(slot.end_date)}));
      this.show(this.wanted(), this.slots);
    }
  }

  show(wanted, slots) {
    const {board} = this.page;
    const what = bookingOf(wanted);
    board.over.offers = slots.map((slot) => ({
      ...slot, resourceClass: wanted.resourceClass, label: '',
      book: () => this.book(wanted, slot)}));
    board.later();
    if (!slots.length) {
      fill(this.result, element('p', {}, this.noSlot(wanted)));
      return;
    }
    fill(
      this.result,
      element('h3', {}, 'The earliest — one click books it'),
      element('ol', {}, ...slots.map((slot, index) => element(
        'li', {}, element(
          'button.offer', {
            type: 'button', title: `${utc(slot.start)} – ${utc(slot.end)}`,
            onclick: () => this.book(wanted, slot),
            onpointerenter: () => this.light(index),
            onpointerleave: () => this.light(null)},
          element('strong', {}, timeElement(slot.start)),
          element('span', {}, 'until ', timeElement(slot.end)),
          element('span', {}, what))))),
      element('h3', {}, 'Or any time between these — its dates stay open'),
      element(
        'button.offer', {type: 'button', onclick: () => this.book(wanted),
                         'aria-describedby': 'find-open-note'},
        element('strong', {}, timeElement(wanted.start)),
        element('span', {}, 'until ', timeElement(wanted.end)),
        element('span', {}, what)),
      element('p.note', {id: 'find-open-note'},
              'It is planned at the earliest, and may move in that time to '
              + 'make room for others, until its dates are fixed.'));
  }

  /** Say why there is none, and what may help. */
  noSlot({resourceClass, hosts, hours, typed}) {
    const all = this.page.fleet.find(resourceClass)?.hosts ?? 0;
    if (resourceClass && hosts > all) {
      return `There is no such slot: ${resourceClass} has ${
        count(all, 'host')} in all. Try fewer hosts, or another class.`;
    }
    return `There is no such slot: ${count(hosts, 'host')} of ${
      resourceClass || ANY_CLASS}${withText(typed)} ${hosts === 1 ? 'is not free' : 'are not free together'
    } for ${duration(hours * 3600)} in that time. Try ${
      hosts === 1 ? '' : 'fewer hosts, '}a shorter time, or a later end.`;
  }

  light(index) {
    const {over} = this.page.board;
    over.litOffer = index === null ? null : over.offers[index];
    this.page.board.later();
  }

  /** Book a slot, or any time of the window where there is none. */
  async book(wanted, slot = null) {
    const {page} = this;
    const {start, end} = slot ?? wanted;
    const first = start <= page.fleet.now() ? 'now' : write(start);
    let lease;
    try {
      lease = await bookOnce({
        name: wanted.name || UNNAMED,
        ...(slot ? {start_date: first, end_date: write(end), events: []}
          : {between: [first, write(end)], duration: wanted.hours * 3600}),
        reservations: [{
          resource_type: 'physical:host', min: wanted.hosts,
          max: wanted.most ?? wanted.hosts, hypervisor_properties: '',
          resource_properties: textFor(wanted)}]}, page.fleet.now());
    } catch (failure) {
      this.forget();
      fill(this.result,
           element('p.failed', {}, sentence(failure.message)),
           element('button', {type: 'button', onclick: () => this.find()},
                   'Look again'));
      return;
    }
    notice(`Booked: ${lease.name}.`);
    page.booked(lease);
  }

  closed() {
    this.isOpen = false;
    this.forget();
    this.page.changed(null);
  }
}

/** Return what a slot books: "4 hosts of gold for 3 d, as “training”". */
function bookingOf({hosts, most, resourceClass, hours, name, typed}) {
  return `${hostsText(hosts, most)} of ${resourceClass || ANY_CLASS}${
    withText(typed)} for ${duration(hours * 3600)}, as “${name || UNNAMED}”`;
}

function withText(typed) {
  return typed ? ` with ${typed}` : '';
}

function timeInput(id, seconds) {
  return element('input', {
    id, type: 'datetime-local', required: true, step: 60,
    value: toInput(Math.ceil(seconds / HOUR) * HOUR)});
}
