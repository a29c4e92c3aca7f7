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
 * Short notices: what has been done, or could not be.
 */

import {byId, element, fill, icon} from './elements.js';

const SHOWN_MS = 6000;
let timer = null;

/**
 * Show a notice; a failure stays until the next one.
 *
 * @param {string|Node} text
 */
export function notice(text, failed = false) {
  const place = byId('notice');
  window.clearTimeout(timer);
  fill(place, element(
    `p${failed ? '.failed' : ''}`, {}, text, failed && element(
      'button.plain', {type: 'button', 'aria-label': 'Dismiss',
                       title: 'Dismiss', onclick: () => forgetNotice()},
      icon('close'))));
  if (!failed) {
    timer = window.setTimeout(() => place.replaceChildren(), SHOWN_MS);
  }
}

/** Take away what is shown: it does not hold any more. */
export function forgetNotice() {
  window.clearTimeout(timer);
  byId('notice').replaceChildren();
}

/** Show, or take away, that the service does not answer. */
export function connection(failure) {
  const place = byId('connection');
  const text = failure ? failure.message : '';
  if (place.textContent !== text) {
    place.textContent = text;
    place.hidden = !failure;
  }
}
