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
 * Patterns for states, so that no colour has to be told from another one.
 */

import {colour} from './theme.js';

/** How each state and condition is drawn, and what the legend says. */
export const KINDS = {
  free: {label: 'free hosts'},
  planned: {label: 'planned: may still move'},
  bound: {label: 'bound'},
  immediate: {label: 'reserved at once'},
  margin: {label: 'kept for cleaning'},
  'maintenance planned': {label: 'maintenance window, planned'},
  'maintenance under way': {label: 'maintenance window, under way'},
  cleaning: {label: 'in cleaning'},
  'in transition': {label: 'in transition'},
  maintenance: {label: 'maintenance'},
  broken: {label: 'broken'},
  deployed: {label: 'in use without a lease'},
  closed: {label: 'closed to leases'},
  lent: {label: 'lent: from here on its owner can have it'},
};

const made = new Map();

/** Forget the patterns, after the colours have changed. */
export function forgetPatterns() {
  made.clear();
}

/** Return what to fill a state with: a colour, or a pattern of it. */
export function filling(context, kind, shade) {
  const key = `${kind} ${shade} ${window.devicePixelRatio}`;
  if (!made.has(key)) {
    made.set(key, create(context, kind, shade));
  }
  return made.get(key);
}

function create(context, kind, shade) {
  const draw = TILES[kind];
  if (!draw) {
    return shade;
  }
  const ratio = window.devicePixelRatio || 1;
  const tile = document.createElement('canvas');
  const [size, paint] = draw;
  tile.width = Math.round(size * ratio);
  tile.height = Math.round(size * ratio);
  const inside = tile.getContext('2d');
  inside.scale(tile.width / size, tile.height / size);
  inside.strokeStyle = shade;
  inside.fillStyle = shade;
  paint(inside, size);
  const pattern = context.createPattern(tile, 'repeat');
  // NOTE: the tile is in pixels of the device, the canvas scaled to those of
  // CSS.
  pattern.setTransform(new DOMMatrix().scale(
    size / tile.width, size / tile.height));
  return pattern;
}

function stripes(context, size, width, rising) {
  context.lineWidth = width;
  context.beginPath();
  for (const shift of [-size, 0, size]) {
    context.moveTo(shift - 2, rising ? size + 2 : -2);
    context.lineTo(shift + size + 2, rising ? -2 : size + 2);
  }
  context.stroke();
}

/** Zigzags across, which no other pattern has. */
function zigzags(context, size, width) {
  context.lineWidth = width;
  context.lineJoin = 'miter';
  context.beginPath();
  for (const top of [0, size]) {
    context.moveTo(-size / 2, top);
    context.lineTo(0, top + size / 2);
    context.lineTo(size / 2, top);
    context.lineTo(size, top + size / 2);
    context.lineTo(1.5 * size, top);
  }
  context.stroke();
}

function pale(context, size) {
  context.globalAlpha = 0.16;
  context.fillRect(0, 0, size, size);
  context.globalAlpha = 1;
}

function onGround(context, size) {
  context.fillStyle = colour('ground');
  context.fillRect(0, 0, size, size);
  context.fillStyle = context.strokeStyle;
  pale(context, size);
}

const TILES = {
  planned: [8, (context, size) => {
    onGround(context, size);
    stripes(context, size, 2, true);
  }],
  immediate: [6, (context, size) => {
    onGround(context, size);
    for (const [x, y] of [[1.5, 1.5], [4.5, 4.5]]) {
      context.beginPath();
      context.arc(x, y, 1.2, 0, 2 * Math.PI);
      context.fill();
    }
  }],
  margin: [6, (context, size) => {
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(2.5, 0);
    context.lineTo(2.5, size);
    context.stroke();
  }],
  'maintenance planned': [8, (context, size) => {
    onGround(context, size);
    zigzags(context, size, 1);
  }],
  'maintenance under way': [8, (context, size) => {
    onGround(context, size);
    zigzags(context, size, 2.6);
  }],
  cleaning: [12, (context) => {
    context.lineWidth = 1.2;
    for (const [x, y, radius] of [[3.5, 3.5, 2.4], [9, 9, 1.6]]) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.stroke();
    }
  }],
  'in transition': [8, (context) => {
    for (const [x, y] of [[2, 2], [6, 6]]) {
      context.fillRect(x - 1, y - 1, 2, 2);
    }
  }],
  maintenance: [10, (context, size) => {
    context.lineWidth = 1.2;
    stripes(context, size, 1.2, false);
  }],
  broken: [10, (context, size) => {
    stripes(context, size, 1.2, false);
    stripes(context, size, 1.2, true);
  }],
  deployed: [8, (context, size) => {
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(0, 4);
    context.lineTo(size, 4);
    context.stroke();
  }],
  lent: [10, (context) => {
    for (const [x, y] of [[0, 5], [5, 10]]) {
      context.beginPath();
      context.moveTo(x + 0.5, y);
      context.lineTo(x + 4.5, y);
      context.lineTo(x + 2.5, y - 4);
      context.fill();
    }
  }],
  closed: [10, (context) => {
    context.lineWidth = 1.4;
    context.beginPath();
    context.moveTo(3, 3);
    context.lineTo(7, 7);
    context.moveTo(7, 3);
    context.lineTo(3, 7);
    context.stroke();
  }],
};
