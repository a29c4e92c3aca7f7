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
 * What is drawn over the rows: the line of now, the window that is being
 * booked, what is in its way, and the offers as ghosts.
 */

import {colour, font} from './theme.js';
import {days, shown} from './times.js';

const INSET = 4;
/** A row that is lower has room for one line of words. */
const TWO_LINES = 40;

/** Draw the line of now over all rows. */
export function drawNow(context, timeline, now) {
  const x = timeline.x(now);
  if (x < timeline.left || x > timeline.width) {
    return;
  }
  context.strokeStyle = colour('now');
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, timeline.axisHeight);
  context.lineTo(x, timeline.height);
  context.stroke();
  context.font = font(10.5, 600);
  const room = context.measureText('now').width + 10;
  const left = Math.max(timeline.left,
                        Math.min(x - room / 2, timeline.width - room));
  context.fillStyle = colour('now');
  context.beginPath();
  context.roundRect(left, timeline.axisHeight - 14, room, 14, 3);
  context.fill();
  context.fillStyle = colour('ground');
  context.textBaseline = 'middle';
  context.fillText('now', left + 5, timeline.axisHeight - 7);
}

/**
 * Draw a window that is asked for, with its state: "asking", "yes" or "no".
 */
export function drawDraft(context, timeline, draft, top, height) {
  const shade = colour(draft.verdict === 'no' ? 'red' : 'accent');
  const box = boxOf(timeline, draft, top, height);
  context.fillStyle = shade;
  context.globalAlpha = 0.14;
  context.fillRect(...box);
  context.globalAlpha = 1;
  context.strokeStyle = shade;
  context.lineWidth = 2;
  context.setLineDash(draft.verdict === 'yes' ? [] : [6, 4]);
  context.strokeRect(...box);
  context.setLineDash([]);
  const [left, , width] = box;
  context.fillStyle = shade;
  for (const edge of [left, left + width]) {
    context.fillRect(edge - 2.5, top + height / 2 - 9, 5, 18);
  }
  const words = {
    asking: '…', yes: '✓ possible', waits: '… later',
    no: '✕ not possible'}[draft.verdict];
  tag(context, words ?? '', left + 6, lineOf(top, height), shade);
}

/**
 * Draw below the curve of a class when something is in the way of a window.
 *
 * @param {boolean} named whether there is room for whose it is
 */
export function drawBlockers(context, timeline, blockers, top, height,
                             named) {
  for (const blocker of blockers) {
    const [left, , width] = boxOf(timeline, blocker, top, height);
    context.fillStyle = colour('red');
    context.globalAlpha = 0.9;
    context.fillRect(left, top + height - 9, width, 6);
    context.globalAlpha = 1;
    if (named && width > 90) {
      const name = blocker.name ?? (blocker.own ? 'yours' : 'taken');
      tag(context, shortened(context, `${blocker.hosts} ${name}`, width - 12),
          Math.max(left, timeline.left) + 4, top + height - 17,
          colour('red'));
    }
  }
}

/** Draw a frame round the bookings of a host that are in the way. */
export function drawBlocked(context, timeline, host, blockers, top, height) {
  const lane = height / host.lanes;
  context.strokeStyle = colour('red');
  context.lineWidth = 2;
  for (const booking of host.bookings) {
    if (booking.end >= timeline.from && booking.start <= timeline.to
        && blockers.some((each) => isOf(booking, each))) {
      const left = Math.max(timeline.left - 4, timeline.x(booking.start));
      const right = Math.min(timeline.width + 4, timeline.x(booking.end));
      context.strokeRect(left + 1, top + booking.lane * lane + 2,
                         Math.max(right - left, 5) - 2, lane - 4);
    }
  }
}

/** Draw the windows that other leases will have on a host, to make room. */
export function drawMoved(context, timeline, host, moves, top, height) {
  for (const move of moves) {
    if (host.node_uuid && move.nodes.includes(host.node_uuid)) {
      const [left, at, width, inner] = boxOf(timeline, move, top, height);
      context.strokeStyle = colour('accent');
      context.lineWidth = 2;
      context.setLineDash([4, 3]);
      context.strokeRect(left + 1, at, width - 2, inner);
      context.setLineDash([]);
      if (width > 60) {
        tag(context, shortened(context, `→ ${move.name}`, width - 16),
            Math.max(left, timeline.left) + 6, top + height / 2,
            colour('accent'));
      }
    }
  }
}

/** Return whether a booking is one of a lease that is in the way. */
function isOf(booking, blocker) {
  // NOTE: of the leases of others no more is known than when they are.
  return blocker.lease === null
    ? Math.abs(booking.start - blocker.start) < 1
      && Math.abs(booking.end - blocker.end) < 1
    : booking.lease?.id === blocker.lease;
}

/** Draw when the lease is that the panel shows. */
export function drawShown(context, timeline, shown, top, height) {
  const [left, , width] = boxOf(timeline, shown, top, height);
  context.strokeStyle = colour('ink');
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(left + 1, top + 18);
  context.lineTo(left + 1, top + 9);
  context.lineTo(left + width - 1, top + 9);
  context.lineTo(left + width - 1, top + 18);
  context.stroke();
  if (width > 30) {
    tag(context, shortened(context, shown.label, width - 20),
        Math.max(left, timeline.left) + 8, top + 9, colour('ink'));
  }
}

/** Draw an offer, which a click accepts. */
export function drawGhost(context, timeline, offer, top, height, lit) {
  const box = boxOf(timeline, offer, top, height);
  context.fillStyle = colour('ground');
  context.globalAlpha = 0.7;
  context.fillRect(...box);
  context.globalAlpha = 1;
  context.strokeStyle = colour('accent');
  context.lineWidth = lit ? 2.5 : 1.5;
  context.setLineDash([4, 3]);
  context.strokeRect(...box);
  context.setLineDash([]);
  tag(context, offer.label, Math.max(box[0], timeline.left) + 6,
      lineOf(top, height), colour('accent'));
}

/** Draw where an edge of a lease is dragged to. */
export function drawEdge(context, timeline, edge, top, height) {
  const shade = colour(edge.verdict === 'no' ? 'red' : 'accent');
  const x = timeline.x(edge.time);
  context.strokeStyle = shade;
  context.lineWidth = 2;
  context.setLineDash(edge.verdict === 'yes' ? [] : [5, 4]);
  context.beginPath();
  context.moveTo(x, timeline.axisHeight);
  context.lineTo(x, timeline.height);
  context.stroke();
  context.setLineDash([]);
  const words = shown(edge.time);
  context.font = font(11, 600);
  const room = context.measureText(words).width + 12;
  // NOTE: left of the line where there is no room right of it.
  tag(context, words, x + room > timeline.width ? x - room : x + 6,
      top + height / 2, shade);
}

/** Draw the part of the axis that will be zoomed to. */
export function drawZoom(context, timeline, zoom) {
  const box = boxOf(timeline, zoom, 0, timeline.height);
  context.fillStyle = colour('accent');
  context.globalAlpha = 0.12;
  context.fillRect(...box);
  context.globalAlpha = 1;
  tag(context, days(zoom.start, zoom.end), Math.max(box[0], timeline.left)
    + 6, timeline.axisHeight / 2, colour('accent'));
}

/** Return the box of a window in a row. */
export function boxOf(timeline, {start, end}, top, height) {
  const left = Math.max(timeline.left - 4, timeline.x(start));
  const right = Math.min(timeline.width + 4, timeline.x(end));
  const inset = Math.min(INSET, height / 8);
  return [left, top + inset, Math.max(right - left, 3), height - 2 * inset];
}

/** Return the height of the first line of words in a box. */
function lineOf(top, height) {
  return top + (height < TWO_LINES ? height / 2 : 14);
}

function shortened(context, words, room) {
  context.font = font(11, 600);
  let kept = words;
  while (kept && context.measureText(kept).width > room) {
    kept = kept.slice(0, -1);
  }
  return kept === words ? words : `${kept.slice(0, -1)}…`;
}

function tag(context, words, left, middle, shade) {
  if (!words) {
    return;
  }
  context.font = font(11, 600);
  context.textBaseline = 'middle';
  const room = context.measureText(words).width + 8;
  context.fillStyle = colour('ground');
  context.globalAlpha = 0.92;
  context.beginPath();
  context.roundRect(left - 4, middle - 8, room, 16, 3);
  context.fill();
  context.globalAlpha = 1;
  context.fillStyle = shade;
  context.fillText(words, left, middle + 0.5);
}
