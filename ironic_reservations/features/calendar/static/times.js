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
 * Times: everywhere in seconds since 1970 in UTC, shown in the zone of the
 * reader, with UTC on hover.
 */

import {element} from './elements.js';

export const MINUTE = 60;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const LOCALE = 'en-GB';
const local = (options) => new Intl.DateTimeFormat(LOCALE, options);

const dayAndTime = local({
  weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit',
  minute: '2-digit'});
const dayTimeAndYear = local({
  weekday: 'short', day: 'numeric', month: 'short', year: 'numeric',
  hour: '2-digit', minute: '2-digit'});
const clockTime = local({hour: '2-digit', minute: '2-digit'});
const dayOnly = local({day: 'numeric', month: 'short'});
const dayInMonth = local({weekday: 'short', day: 'numeric'});
const weekday = local({weekday: 'short', day: 'numeric', month: 'short'});
const dayAndYear = local({
  day: 'numeric', month: 'short', year: 'numeric'});
const monthOnly = local({month: 'short', year: 'numeric'});

const date = (seconds) => new Date(seconds * 1000);

/** Return now, by the clock of this machine. */
export function here() {
  return Date.now() / 1000;
}

/** Read a date of the API, which is in UTC if it names no zone. */
export function read(text) {
  let written = text.trim().replace(' ', 'T');
  if (!/([zZ]|[+-]\d\d:\d\d)$/.test(written)) {
    written += 'Z';
  }
  // NOTE: browsers read milliseconds; the API writes microseconds.
  return Date.parse(written.replace(/(\.\d{3})\d+/, '$1')) / 1000;
}

/** Write a time as the API reads it. */
export function write(seconds) {
  return date(Math.round(seconds)).toISOString().replace('.000Z', 'Z');
}

/** Return a time as the reader reads it. */
export function shown(seconds) {
  const sameYear = date(seconds).getFullYear() === new Date().getFullYear();
  return (sameYear ? dayAndTime : dayTimeAndYear).format(date(seconds));
}

/** Return a time in UTC, for readers who compare. */
export function utc(seconds) {
  return `${date(seconds).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** Return an element with a time of the reader's zone, UTC on hover. */
export function timeElement(seconds) {
  return element('time', {datetime: write(seconds), title: utc(seconds)},
                 shown(seconds));
}

/** Return how long something takes: "3 d 4 h". */
export function duration(seconds) {
  const parts = [];
  let left = Math.round(seconds / MINUTE) * MINUTE;
  for (const [unit, size] of [['d', DAY], ['h', HOUR], ['min', MINUTE]]) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count && parts.length < 2) {
      parts.push(`${count} ${unit}`);
    }
  }
  return parts.join(' ') || '0 min';
}

/** Return the first and the last day of a window. */
export function days(start, end) {
  return `${dayOnly.format(date(start))} – ${
    dayAndYear.format(date(end - 1))}`;
}

/**
 * Return the labels of the time axis for times that many seconds apart; each
 * begins with a space, since it stands right of its tick.
 */
export function axisLabels(splits, step) {
  let previous = null;
  return splits.map((seconds) => {
    const at = date(seconds);
    if (step < DAY) {
      const day = at.toDateString();
      const above = day === previous ? '' : weekday.format(at);
      previous = day;
      return ` ${above}\n ${clockTime.format(at)}`;
    }
    const month = monthOnly.format(at);
    const above = month === previous ? '' : month;
    previous = month;
    return ` ${above}\n ${step < 20 * DAY
      ? dayInMonth.format(at) : dayOnly.format(at)}`;
  });
}

/** Return a time as an input of type datetime-local has it. */
export function toInput(seconds) {
  const at = date(seconds);
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60000);
  return shifted.toISOString().slice(0, 16);
}

/** Read an input of type datetime-local; NaN if it is empty. */
export function fromInput(text) {
  return text ? new Date(text).getTime() / 1000 : NaN;
}

/** Return the midnight before, in the reader's zone. */
export function midnight(seconds) {
  const at = date(seconds);
  at.setHours(0, 0, 0, 0);
  return at.getTime() / 1000;
}

/**
 * Return the window of the same length after a window, or before it.
 *
 * @param {number} way 1: after, -1: before
 */
export function neighbour(from, to, way) {
  const count = Math.round((to - from) / DAY);
  if (count >= 1 && from === midnight(from)
      && Math.abs(to - laterDay(from, count)) <= HOUR) {
    // NOTE: days begin at midnight also where the clock is changed.
    const start = laterDay(from, way * count);
    return [start, laterDay(start, count)];
  }
  const shift = way * (to - from);
  return [from + shift, to + shift];
}

function laterDay(seconds, count) {
  const at = date(seconds);
  at.setDate(at.getDate() + count);
  return at.getTime() / 1000;
}

/** Return the nearest multiple of a step, by the reader's clock. */
export function snap(seconds, step) {
  const near = Math.round(onClock(seconds) / step) * step;
  const there = seconds + near - onClock(seconds);
  // NOTE: the clock may have changed between the two.
  // NOTE: in whole seconds, since what is a little less than a minute is
  // shown as the one before.
  return Math.round(there + near - onClock(there));
}

function onClock(seconds) {
  return seconds - date(seconds).getTimezoneOffset() * 60;
}
