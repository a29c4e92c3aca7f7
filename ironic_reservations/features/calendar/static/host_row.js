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
 * The row of a host: its bookings, the cleaning after each, and its condition.
 */

import {STATE} from './fleet.js';
import {filling} from './patterns.js';
import {colour, font, leaseColour} from './theme.js';

const INSET = 3;
const NAME_HEIGHT = 14;
const NARROWEST = 2;
const NAME_ROOM = 40;
/** So much of the pattern of a window is seen beside its name. */
const PATTERN_ROOM = 20;
const DIMMED = 0.28;

const KIND_OF_STATE = {
  [STATE.planned]: 'planned', [STATE.bound]: 'bound',
  [STATE.immediate]: 'immediate'};

/** Return what stands for a state of a booking in patterns and words. */
export function kindOf(booking) {
  return KIND_OF_STATE[booking.state] ?? 'bound';
}

/** Return what stands for a maintenance window in patterns and words. */
export function kindOfWindow({underWay}) {
  return underWay ? 'maintenance under way' : 'maintenance planned';
}

/** Return the condition of a host that is said, or null. */
export function conditionOf(host) {
  if (host.maintenance) {
    return 'maintenance';
  }
  return host.condition === 'usable' ? null : host.condition;
}

/** Return the condition that is drawn from now on, or null. */
function lastingCondition(host) {
  if (host.windows.some((each) => each.underWay)) {
    // NOTE: the maintenance ends with the window; other faults do not.
    return ['usable', 'maintenance'].includes(host.condition)
      ? null : host.condition;
  }
  return conditionOf(host);
}

/**
 * Draw a host.
 *
 * @param {object} scene with the timeline, the time, the margin for cleaning,
 *     when owners can have back what they lend, or null, and the lease that is
 *     lit, or null
 */
export function drawHost(context, scene, host, top, height) {
  const {timeline} = scene;
  drawCondition(context, scene, host, top, height);
  drawLoan(context, scene, host, top, height);
  for (const each of host.windows) {
    drawWindow(context, scene, each, top, height);
  }
  const {bookings} = host;
  const lane = height / host.lanes;
  for (let at = firstVisible(host, timeline.from - scene.margin);
    at < bookings.length && bookings[at].start < timeline.to; at += 1) {
    drawBooking(context, scene, bookings[at],
                top + bookings[at].lane * lane, lane);
  }
  for (const each of host.windows.filter(
    (window) => bookings.some((other) => overlap(window, other)))) {
    // NOTE: a window that was forced stands over a lease; both are to be seen.
    drawWindow(context, scene, each, top + 0.55 * height, 0.45 * height);
  }
}

function overlap(one, other) {
  return one.start < other.end && other.start < one.end;
}

function drawWindow(context, scene, each, top, height) {
  const {timeline} = scene;
  const start = Math.round(Math.max(timeline.left - 4,
                                    timeline.x(each.start)));
  const end = Math.round(Math.min(timeline.width + 4, timeline.x(each.end)));
  if (end < timeline.left || start > timeline.width) {
    return;
  }
  const width = Math.max(end - start, NARROWEST);
  const shade = colour('condition');
  context.fillStyle = filling(context, kindOfWindow(each), shade);
  context.fillRect(start, top + 1, width, height - 2);
  context.strokeStyle = shade;
  context.lineWidth = 1;
  context.strokeRect(start + 0.5, top + 1.5, width - 1, height - 3);
  const room = width - PATTERN_ROOM;
  if (each.purpose && room >= NAME_ROOM && height >= NAME_HEIGHT) {
    drawName(context, each.purpose.name, true, start, room, top + 1,
             height - 2);
  }
}

function drawCondition(context, scene, host, top, height) {
  const condition = lastingCondition(host);
  if (condition === null) {
    return;
  }
  const {timeline} = scene;
  const start = Math.max(timeline.left, timeline.x(scene.now));
  context.globalAlpha = 0.55;
  context.fillStyle = filling(context, condition, colour('condition'));
  context.fillRect(start, top + 1, timeline.width - start, height - 2);
  context.globalAlpha = 1;
}

/** Mark from when on nobody but its owner gets a host that is lent. */
function drawLoan(context, scene, host, top, height) {
  const {timeline, lentUntil} = scene;
  if (!host.lent || lentUntil === null) {
    return;
  }
  const start = Math.max(timeline.left, timeline.x(lentUntil));
  if (start < timeline.width) {
    context.globalAlpha = 0.55;
    context.fillStyle = filling(context, 'lent', colour('condition'));
    context.fillRect(start, top + 1, timeline.width - start, height - 2);
    context.globalAlpha = 1;
  }
}

/** Return the first booking that may end after a time. */
export function firstVisible({bookings, lanes}, from) {
  if (lanes > 1) {
    return 0;
  }
  let low = 0;
  let high = bookings.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bookings[middle].end < from) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

function drawBooking(context, scene, booking, top, height) {
  const {timeline, lit} = scene;
  const start = Math.round(
    Math.max(timeline.left - 4, timeline.x(booking.start)));
  const end = Math.round(
    Math.min(timeline.width + 4, timeline.x(booking.end)));
  const width = Math.max(end - start, NARROWEST);
  const kind = kindOf(booking);
  const shade = leaseColour(booking.lease);
  const isLit = lit !== null && booking.lease?.key === lit;
  const inset = Math.min(INSET, height / 8);
  const inner = height - 2 * inset;
  const isDimmed = lit !== null && !isLit;
  context.globalAlpha = isDimmed ? DIMMED : 1;
  drawMargin(context, scene, booking, top, height);
  // NOTE: whole pixels and no rounded corners: there are hundreds of these in
  // each frame, and a browser without a graphics card draws them itself.
  context.fillStyle = filling(context, kind, shade);
  context.fillRect(start, top + inset, width, inner);
  if (kind !== 'bound' || isLit) {
    context.strokeStyle = isLit ? colour('ink') : shade;
    context.lineWidth = isLit ? 2 : 1;
    context.strokeRect(start + 0.5, top + inset + 0.5, width - 1, inner - 1);
  }
  // NOTE: names stay readable, whatever is lit.
  context.globalAlpha = 1;
  if (booking.lease?.name && width >= NAME_ROOM && inner >= NAME_HEIGHT) {
    drawName(context, booking.lease.name, kind !== 'bound' || isDimmed, start,
             width, top + inset, inner);
  }
}

function drawMargin(context, scene, booking, top, height) {
  const {timeline} = scene;
  const start = Math.max(timeline.left, timeline.x(booking.end));
  const end = Math.min(
    timeline.width, timeline.x(booking.end + scene.margin));
  if (end - start >= 1.5) {
    context.fillStyle = filling(context, 'margin', colour('muted'));
    context.fillRect(start, top + height / 5, end - start, height * 0.6);
  }
}

/** @param {boolean} patterned whether the name needs a ground */
function drawName(context, name, patterned, start, width, top, height) {
  context.font = font(11.5, 500);
  context.textBaseline = 'middle';
  const left = Math.max(start, 0) + 6;
  const [written, room] = fitting(context, name, start + width - left - 6);
  if (patterned) {
    context.fillStyle = colour('ground');
    context.fillRect(left - 3, top + 3, room + 6, height - 6);
  }
  context.fillStyle = patterned ? colour('ink') : colour('on-lease');
  context.fillText(written, left, Math.round(top + height / 2) + 0.5);
}

const fitted = new Map();
const MOST_FITTED = 5000;

/**
 * Return as much of a name as there is room for, and how wide that is.  The
 * same names come again in each frame.
 */
function fitting(context, name, room) {
  const key = `${Math.round(room)} ${name}`;
  let found = fitted.get(key);
  if (found === undefined) {
    if (fitted.size >= MOST_FITTED) {
      fitted.clear();
    }
    let letters = [...name];
    let shown = name;
    let {width} = context.measureText(shown);
    while (width > room && letters.length > 1) {
      const kept = Math.min(letters.length - 1,
                            Math.ceil(letters.length * room / width));
      letters = letters.slice(0, Math.max(1, kept));
      shown = `${letters.join('')}…`;
      ({width} = context.measureText(shown));
    }
    found = [shown, width];
    fitted.set(key, found);
  }
  return found;
}
