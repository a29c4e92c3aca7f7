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
 * The state of the page in its URL, so that it can be sent to a colleague.
 *
 *     ?range=7             seven days from the midnight before now
 *     ?from=...&to=...     that window
 *     &open=gold           the classes and racks that are open, one key each
 *     &lease=<id>          the lease that is shown
 *     &book=gold&hosts=2&start=...&end=...     a booking as it is filled in
 *     &name=...&condition=...&rack=...&node=...         and what else it asks
 *     &most=4&dates=open&hours=72          a range of hosts, and how dates are
 *     &find=gold&hosts=2&most=4&hours=72&start=...&end=...
 *     &name=...&condition=...                                       a search
 */

import {LONGEST} from './timeline.js';
import {DAY, midnight, read, write} from './times.js';

export const RANGES = [1, 7, 30, 90];
const DEFAULT_RANGE = 7;
const SHORTEST = 600;
const DATES = ['fixed', 'queue', 'open'];
const LONGEST_NAME = 80;
// NOTE: an address that is longer than a browser or a proxy takes is of no
// use to a colleague.
const LONGEST_CONDITION = 4000;
// NOTE: Safari refuses to write the URL more than 100 times in 30 seconds.
const WRITES_AT_ONCE = 20;
const WRITE_MS = 400;

const state = {
  range: DEFAULT_RANGE, from: null, to: null, open: new Set(), panel: null};

let writesLeft = WRITES_AT_ONCE;
let countedAt = performance.now();
let timer = null;

/** The state, as read last. */
export function current() {
  return state;
}

/** Read the state from the URL; all that makes no sense is left out. */
export function load(now) {
  const asked = new URLSearchParams(window.location.search);
  const range = Number(asked.get('range'));
  state.range = RANGES.includes(range) ? range : DEFAULT_RANGE;
  const from = asked.has('from') ? read(asked.get('from')) : NaN;
  const to = asked.has('to') ? read(asked.get('to')) : NaN;
  if (to - from >= SHORTEST && to - from <= LONGEST) {
    Object.assign(state, {from, to, range: null});
  } else {
    Object.assign(state, {from: null, to: null});
  }
  state.open = new Set(asked.getAll('open'));
  state.panel = panelOf(asked);
  return state;
}

function panelOf(asked) {
  if (asked.has('lease')) {
    return {kind: 'lease', lease: asked.get('lease')};
  }
  for (const kind of ['book', 'find']) {
    if (asked.has(kind)) {
      const start = asked.has('start') ? read(asked.get('start')) : NaN;
      const end = asked.has('end') ? read(asked.get('end')) : NaN;
      return {
        ...(kind === 'book' ? bookingOf(asked) : {}),
        kind, resourceClass: asked.get(kind),
        name: (asked.get('name') ?? '').slice(0, LONGEST_NAME),
        typed: (asked.get('condition') ?? '').slice(0, LONGEST_CONDITION),
        hosts: Math.max(1, Number.parseInt(asked.get('hosts'), 10) || 1),
        most: Number.parseInt(asked.get('most'), 10) || null,
        hours: Number(asked.get('hours')) || null,
        start: Number.isNaN(start) ? null : start,
        end: Number.isNaN(end) ? null : end};
    }
  }
  return asked.has('leases') ? {kind: 'leases'} : null;
}

/** Read what a booking asks for and a search does not. */
function bookingOf(asked) {
  const node = asked.get('node');
  return {
    dates: DATES.includes(asked.get('dates')) ? asked.get('dates') : 'fixed',
    rack: asked.get('rack'), onlyRack: asked.has('rack'),
    node, pinned: node !== null};
}

/** Return the window that is shown. */
export function shownWindow(now) {
  if (state.from !== null) {
    return {from: state.from, to: state.to};
  }
  const from = state.range === 1 ? now - 2 * 3600 : midnight(now);
  return {from, to: from + state.range * DAY};
}

/** Write part of the state into the URL: at once, or soon after. */
export function change(part) {
  Object.assign(state, part);
  const now = performance.now();
  writesLeft = Math.min(
    WRITES_AT_ONCE, writesLeft + (now - countedAt) / WRITE_MS);
  countedAt = now;
  if (writesLeft >= 1) {
    writeUrl();
  } else {
    timer ??= window.setTimeout(writeUrl, (1 - writesLeft) * WRITE_MS);
  }
}

function writeUrl() {
  window.clearTimeout(timer);
  timer = null;
  writesLeft -= 1;
  const written = new URLSearchParams();
  if (state.from !== null) {
    written.set('from', write(state.from));
    written.set('to', write(state.to));
  } else {
    written.set('range', state.range);
  }
  for (const name of state.open) {
    written.append('open', name);
  }
  writePanel(written, state.panel);
  window.history.replaceState(null, '', `?${written}`);
}

function writePanel(written, panel) {
  if (panel === null) {
    return;
  }
  if (panel.kind === 'lease') {
    written.set('lease', panel.lease);
  } else if (panel.kind === 'leases') {
    written.set('leases', '');
  } else if (panel.kind === 'book' || panel.kind === 'find') {
    written.set(panel.kind, panel.resourceClass ?? '');
    written.set('hosts', panel.hosts);
    if (panel.hours) {
      written.set('hours', panel.hours);
    }
    for (const key of ['start', 'end']) {
      if (panel[key]) {
        written.set(key, write(panel[key]));
      }
    }
    writeBooking(written, panel);
  }
}

function writeBooking(written, {name, typed, most, dates, rack, onlyRack,
                                node, pinned}) {
  if (most) {
    written.set('most', most);
  }
  if (dates && dates !== 'fixed') {
    written.set('dates', dates);
  }
  if (name) {
    written.set('name', name);
  }
  if (typed && typed.length <= LONGEST_CONDITION) {
    written.set('condition', typed);
  }
  if (rack && onlyRack) {
    written.set('rack', rack);
  }
  if (node && pinned) {
    written.set('node', node);
  }
}
