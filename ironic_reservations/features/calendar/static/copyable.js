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
 * A text with a button that copies it.
 */

import {element, icon} from './elements.js';

const SHOWN_MS = 2000;
/** That of a UUID; what is longer may not fit into a line. */
const LONGEST_WORD = 36;

/** Return a text that a click copies. */
export function copyable(text, title) {
  const said = element('span.copied', {role: 'status'});
  return element(
    'div.copyable', {},
    element('pre', {tabindex: 0, 'aria-label': title},
            element('code', {}, ...unbroken(text))),
    element('button.plain', {
      type: 'button', 'aria-label': `Copy: ${title}`, title: 'Copy',
      onclick: async () => {
        said.textContent = await copy(text) ? 'copied' : 'select and copy it';
        window.setTimeout(() => {
          said.textContent = '';
        }, SHOWN_MS);
      }}, icon('copy')), said);
}

/** Return a text in parts; short words are not broken at their hyphens. */
function unbroken(text) {
  return text.split(/(\s+)/).map((word) => (
    word.includes('-') && word.length <= LONGEST_WORD
      ? element('span.word', {}, word) : word));
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // NOTE: without TLS there is no clipboard but on this machine itself.
    return false;
  }
}
