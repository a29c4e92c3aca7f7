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
 * The panel beside the board, which shows one thing at a time.
 */

import {byId, element, fill, icon} from './elements.js';

let atClose = null;
let opener = null;

/**
 * Show something in the panel.
 *
 * @param {string} title its heading
 * @param {Element} content
 * @param {object} more closed(), called once it is closed; focus: an element
 */
export function openPanel(title, content, {closed = null, focus = null} = {}) {
  const panel = byId('panel');
  leave();
  if (panel.hidden) {
    opener = document.activeElement;
  }
  atClose = closed;
  const heading = element('h2', {id: 'panel-title', tabindex: -1}, title);
  fill(
    panel,
    element(
      'header.panel-head', {}, heading,
      element('button.plain', {
        type: 'button', 'aria-label': 'Close', title: 'Close (Esc)',
        onclick: () => closePanel()}, icon('close'))),
    content);
  panel.hidden = false;
  panel.scrollTop = 0;
  document.body.classList.add('with-panel');
  (focus ?? heading).focus({preventScroll: true});
  focus?.select?.();
}

/** Close the panel; the focus goes back to where it came from. */
export function closePanel() {
  const panel = byId('panel');
  if (panel.hidden) {
    return;
  }
  panel.hidden = true;
  panel.replaceChildren();
  document.body.classList.remove('with-panel');
  leave();
  if (opener?.isConnected) {
    opener.focus({preventScroll: true});
  }
  opener = null;
}

/** Return whether the panel is open. */
export function panelIsOpen() {
  return !byId('panel').hidden;
}

function leave() {
  const callback = atClose;
  atClose = null;
  callback?.();
}
