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
 * The keyboard: everything that the mouse does, and the same in the help.
 */

import {element} from './elements.js';
import {openPanel} from './panel.js';

const HELP = [
  ['↑ ↓', 'go from row to row; Home, End, Page Up, Page Down'],
  ['→ ←', 'open or close the class or rack'],
  ['Enter', 'open or close a class or rack; the lease on a host'],
  ['n p', 'next and previous lease on the host'],
  ['b', 'book hosts of this class'],
  ['f', 'find free slots'],
  ['l', 'the list of leases'],
  ['+ −', 'zoom in and out'],
  ['Shift + → ←', 'later and earlier, by the period that is shown'],
  ['1 7 3 9', '1, 7, 30 or 90 days'],
  ['t', 'back to now'],
  ['Esc', 'close, or leave what is being dragged'],
  ['?', 'this help']];
const MOUSE = [
  ['Drag over a class', 'book that window'],
  ['Drag the end of your lease', 'end it later or earlier; its start, too, '
    + 'before it has started'],
  ['Drag on the axis', 'zoom to that window'],
  ['Ctrl + wheel, or wheel on the axis', 'zoom'],
  ['Shift + wheel', 'later and earlier'],
  ['Two fingers', 'zoom']];
const RANGE_KEYS = {1: 1, 7: 7, 3: 30, 9: 90};
const PAGE_ROWS = 15;

/** Listen to the keyboard: does has a function for each thing to do. */
export function listen(does) {
  const keys = {
    ArrowDown: () => does.moveRow(1), ArrowUp: () => does.moveRow(-1),
    PageDown: () => does.moveRow(PAGE_ROWS),
    PageUp: () => does.moveRow(-PAGE_ROWS),
    Home: () => does.moveRow(-Infinity), End: () => does.moveRow(Infinity),
    ArrowRight: () => does.expand(true), ArrowLeft: () => does.expand(false),
    Enter: () => does.activate(), ' ': () => does.activate(),
    n: () => does.nextBooking(1), p: () => does.nextBooking(-1)};
  const anywhere = {
    b: () => does.book(), f: () => does.find(), l: () => does.leases(),
    t: () => does.today(), '?': () => showHelp(),
    '+': () => does.zoomBy(0.7), '=': () => does.zoomBy(0.7),
    '-': () => does.zoomBy(1.4), '−': () => does.zoomBy(1.4)};
  document.addEventListener('keydown', (event) => {
    if (document.body.classList.contains('signed-out')
        || document.querySelector('dialog[open]')) {
      return;
    }
    if (event.key === 'Escape') {
      does.escape();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event)) {
      return;
    }
    const onGrid = event.target.closest?.('[role=treegrid]');
    let action = anywhere[event.key];
    if (event.shiftKey && event.key === 'ArrowRight') {
      action = () => does.pan(1);
    } else if (event.shiftKey && event.key === 'ArrowLeft') {
      action = () => does.pan(-1);
    } else if (RANGE_KEYS[event.key]) {
      action = () => does.range(RANGE_KEYS[event.key]);
    } else if (onGrid && keys[event.key]) {
      action = keys[event.key];
    }
    if (action) {
      event.preventDefault();
      action();
    }
  });
}

function typing(event) {
  return Boolean(event.target.closest?.('input, select, textarea'));
}

/** Show what keys and mouse do. */
export function showHelp() {
  const rows = (pairs) => element('dl.keys', {}, ...pairs.flatMap(
    ([key, what]) => [element('dt', {}, key), element('dd', {}, what)]));
  openPanel('Keys and mouse', element(
    'div.help', {}, element('h3', {}, 'Keyboard'), rows(HELP),
    element('h3', {}, 'Mouse and fingers'), rows(MOUSE)));
}
