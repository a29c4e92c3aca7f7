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
 * The row of a class: how many of its hosts are free, as a step curve.
 */

import {colour, font} from './theme.js';

const PADDING = 12;
const NUMBER_ROOM = 34;

/** Draw the curve of a class into its row. */
export function drawSteps(context, {timeline, now}, each, top, height) {
  const {left, width} = timeline;
  const base = top + height - PADDING / 2;
  const room = height - 1.75 * PADDING;
  const y = (free) => base - (each.hosts ? free / each.hosts : 0) * room;
  const spans = visible(each.steps, timeline, now);
  if (!spans.length) {
    return;
  }
  context.beginPath();
  context.moveTo(Math.max(left, timeline.x(spans[0].from)), base);
  for (const {from, to, free} of spans) {
    context.lineTo(Math.max(left, timeline.x(from)), y(free));
    context.lineTo(Math.min(width, timeline.x(to)), y(free));
  }
  context.lineTo(Math.min(width, timeline.x(spans.at(-1).to)), base);
  context.closePath();
  context.fillStyle = colour('accent-pale');
  context.fill();
  drawLine(context, timeline, spans, y);
  drawNone(context, timeline, spans, base, room);
  drawNumbers(context, timeline, spans, y, top);
}

/**
 * Return the steps in view, each with its end.  What was free is over: nothing
 * is drawn before now.
 */
function visible(steps, timeline, now) {
  const spans = [];
  const begin = Math.max(timeline.from, now);
  for (let index = 0; index < steps.length; index += 1) {
    const from = Math.max(begin, steps[index][0]);
    const [, free] = steps[index];
    const to = steps[index + 1]?.[0] ?? timeline.to;
    if (from <= timeline.to && to > from) {
      spans.push({from, to, free});
    }
  }
  return spans;
}

function drawLine(context, timeline, spans, y) {
  const {left, width} = timeline;
  context.beginPath();
  spans.forEach(({from, to, free}, index) => {
    const start = Math.max(left, timeline.x(from));
    if (index) {
      context.lineTo(start, y(free));
    } else {
      context.moveTo(start, y(free));
    }
    context.lineTo(Math.min(width, timeline.x(to)), y(free));
  });
  context.strokeStyle = colour('accent');
  context.lineWidth = 1.5;
  context.lineJoin = 'round';
  context.stroke();
}

/** Mark where none is free, which a line on the ground does not tell. */
function drawNone(context, timeline, spans, base, room) {
  context.fillStyle = colour('red-pale');
  for (const {from, to, free} of spans) {
    if (free <= 0) {
      const start = Math.max(timeline.left, timeline.x(from));
      const end = Math.min(timeline.width, timeline.x(to));
      context.fillRect(start, base - room, end - start, room);
    }
  }
}

function drawNumbers(context, timeline, spans, y, top) {
  context.font = font(11, 600);
  context.textBaseline = 'bottom';
  let free = -Infinity;
  for (const span of spans) {
    const start = Math.max(timeline.left, timeline.x(span.from));
    const end = Math.min(timeline.width, timeline.x(span.to));
    if (end - start >= NUMBER_ROOM && start >= free) {
      context.fillStyle = colour(span.free > 0 ? 'accent' : 'red');
      context.fillText(String(span.free), start + 5,
                       Math.max(top + 13, y(span.free) - 1));
      free = start + NUMBER_ROOM;
    }
  }
}
