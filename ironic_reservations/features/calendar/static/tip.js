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
 * The tip beside the pointer: what is there, and when, also in UTC.  It is
 * for the mouse alone; the grid of the rows says the same to others.
 */

import {byId, element, fill} from './elements.js';
import {shown, utc} from './times.js';

const ASIDE = 14;

/** Show a tip at a pointer, or take it away. */
export function showTip(tip, event = null) {
  const place = byId('tip');
  if (tip === null) {
    place.hidden = true;
    return;
  }
  const times = tip.until ? `${utc(tip.at)} – ${utc(tip.until)}`
    : `${shown(tip.at)} · ${utc(tip.at)}`;
  fill(place, tip.text && element('p', {}, tip.text),
       element('p.utc', {}, times));
  place.hidden = false;
  const {offsetWidth, offsetHeight} = place;
  const left = Math.min(event.clientX + ASIDE,
                        window.innerWidth - offsetWidth - 4);
  const below = event.clientY + ASIDE + offsetHeight < window.innerHeight;
  place.style.left = `${Math.max(4, left)}px`;
  place.style.top = `${below ? event.clientY + ASIDE
    : event.clientY - offsetHeight - 4}px`;
}
