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
 * The legend: each pattern beside its words.
 */

import {element, fill} from './elements.js';
import {filling, KINDS} from './patterns.js';
import {colour} from './theme.js';

const WIDTH = 26;
const HEIGHT = 14;

/** Have a button open and close the legend, where there is no room for it. */
export function letLegendOpen(place, button) {
  button.addEventListener('click', () => {
    const open = place.classList.toggle('open');
    button.setAttribute('aria-expanded', String(open));
  });
}

/** Draw the legend with the colours of now. */
export function drawLegend(place) {
  fill(place, ...Object.entries(KINDS).map(([kind, {label}]) => element(
    'li', {}, swatch(kind), element('span', {}, label))));
}

function swatch(kind) {
  const ratio = window.devicePixelRatio || 1;
  const canvas = element('canvas', {
    width: WIDTH * ratio, height: HEIGHT * ratio, 'aria-hidden': 'true'});
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  if (kind === 'free') {
    context.fillStyle = colour('accent-pale');
    context.fillRect(0, 5, WIDTH, HEIGHT - 5);
    context.fillStyle = colour('accent');
    context.fillRect(0, 4, WIDTH, 1.5);
    return canvas;
  }
  const ofLease = ['planned', 'bound', 'immediate'].includes(kind);
  const shade = colour(ofLease ? 'lease-1' : 'condition');
  context.fillStyle = filling(context, kind, shade);
  context.fillRect(0.5, 0.5, WIDTH - 1, HEIGHT - 1);
  context.strokeStyle = shade;
  context.strokeRect(0.5, 0.5, WIDTH - 1, HEIGHT - 1);
  return canvas;
}
