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
 * The fields that change when a lease is: its start and its end; or, before it
 * starts, the window of its open dates, its length, and how long before its
 * start they are fixed.
 */

import {edgeOf, field, lengthFields, NO_LENGTH, NO_TIMES}
  from './booking_form.js';
import {element} from './elements.js';
import {HOUR, read, toInput, write} from './times.js';

const DATES = {fixed: 'exactly these', open: 'any time between these'};

/** The fields for the times of a lease. */
export class TimesForm {
  /**
   * @param {object} lease as it is now; somebody else may change it meanwhile
   * @param {number} now
   */
  constructor(lease, now) {
    const [start, end] = [lease.start_date, lease.end_date].map(read);
    this.wasOpen = Boolean(lease.between) && !lease.fixed;
    const [earliest, latest] = this.wasOpen ? lease.between.map(read)
      : [start, end];
    this.before = {fixed: {start, end}, open: {start: earliest, end: latest},
                   lasts: end - start, fixBefore: lease.fix_before ?? null};
    this.isLocked = false;
    this.build(this.wasOpen ? 'open' : 'fixed');
    if (start <= now) {
      this.lock();
    }
  }

  build(chosen) {
    const {before} = this;
    const time = (id, seconds) => element('input', {
      id, type: 'datetime-local', step: 60, required: true,
      value: toInput(seconds)});
    const lasts = lengthFields('lease', inHours(before.lasts));
    lasts.length.step = 'any';
    this.fields = {
      dates: element('select', {id: 'lease-dates'}, ...Object.entries(
        DATES).map(([value, words]) => element(
        'option', {value, selected: value === chosen}, words))),
      start: time('lease-start', before[chosen].start),
      end: time('lease-end', before[chosen].end),
      length: lasts.length, unit: lasts.unit,
      fixBefore: element('input', {
        id: 'lease-fix-before', type: 'number', min: 0, step: 'any',
        value: before.fixBefore === null ? null
          : inHours(before.fixBefore)})};
    this.filled = {length: this.lengthTyped(),
                   fixBefore: this.fields.fixBefore.value};
    this.open = element(
      'div', {hidden: chosen !== 'open'},
      element('div.pair', {}, ...lasts.parts),
      field('lease-fix-before', 'Fixed so many hours before its start',
            this.fields.fixBefore));
    this.note = element('p.note', {hidden: true},
                        'It has started: only its end can change.');
    this.parts = [
      field('lease-start', 'From', this.fields.start, '.aside'), this.note,
      field('lease-end', 'Until', this.fields.end, '.aside'),
      field('lease-dates', 'Dates', this.fields.dates, '.aside'), this.open];
  }

  /** Whether its dates are to be open. */
  get isOpen() {
    return this.fields.dates.value === 'open';
  }

  /** The field that is typed into first. */
  get first() {
    return this.isLocked ? this.fields.end : this.fields.start;
  }

  /** Take in that a field was changed. */
  typed(changed) {
    if (changed === this.fields.dates) {
      this.show();
    }
  }

  /** Show the times that the lease has, of the kind that is chosen. */
  show() {
    const {start, end} = this.before[this.fields.dates.value];
    this.fields.start.value = toInput(start);
    this.fields.end.value = toInput(end);
    this.open.hidden = !this.isOpen;
  }

  /** Take in that the lease has started; returns whether that is news. */
  lock() {
    if (this.isLocked) {
      return false;
    }
    this.isLocked = true;
    const {dates, start} = this.fields;
    if (this.isOpen) {
      dates.value = 'fixed';
      this.show();
    }
    start.value = toInput(this.before.fixed.start);
    start.disabled = dates.disabled = true;
    this.note.hidden = false;
    return true;
  }

  /** Return what has to be typed differently, or null. */
  mistake() {
    const {start, end} = this.edges();
    if (!(start && end)) {
      return NO_TIMES;
    }
    if (!this.isOpen) {
      return null;
    }
    const lasts = this.lasts();
    if (!(lasts > 0 && lasts <= end - start)) {
      return NO_LENGTH;
    }
    return Number(this.fields.fixBefore.value) >= 0 ? null
      : 'Type a number of hours from 0 on, or leave it as it is.';
  }

  /** Return the body of the change; it is empty where there is none. */
  change() {
    const {start, end} = this.edges();
    if (this.isOpen) {
      return this.opening(start, end);
    }
    // NOTE: a date that its owner sets is open no more, even the one it has.
    const {before, wasOpen} = this;
    return {
      ...(!this.isLocked && (wasOpen || start !== before.fixed.start)
        ? {start_date: write(start)} : {}),
      ...(wasOpen && !this.isLocked || end !== before.fixed.end
        ? {end_date: write(end)} : {})};
  }

  opening(start, end) {
    const {open, lasts} = this.before;
    const hours = this.fields.fixBefore.value;
    return {
      ...(this.wasOpen && start === open.start && end === open.end ? {}
        : {between: [write(start), write(end)]}),
      ...(this.lasts() === lasts ? {} : {duration: this.lasts()}),
      ...(hours === '' || hours === this.filled.fixBefore ? {}
        : {fix_before: Math.round(hours * HOUR)})};
  }

  edges() {
    const {dates, start, end} = this.fields;
    const before = this.before[dates.value];
    return {start: edgeOf(start, before.start), end: edgeOf(end, before.end)};
  }

  /** How long the lease is to last, in seconds. */
  lasts() {
    return this.lengthTyped() === this.filled.length ? this.before.lasts
      : Math.round(this.lengthTyped() * HOUR);
  }

  lengthTyped() {
    return Number(this.fields.length.value) * Number(this.fields.unit.value);
  }
}

/** Return seconds in hours, as they are shown. */
function inHours(seconds) {
  return Math.round(seconds / HOUR * 100) / 100;
}
