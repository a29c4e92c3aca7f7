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
 * The link with which other calendars show one's leases, as iCal.
 */

import {copyable} from './copyable.js';
import {element, fill} from './elements.js';
import {get, send} from './requests.js';

/** Return the part of a page that makes, and takes back, the link. */
export function calendarLink() {
  const state = element('div', {role: 'status'});
  const part = element(
    'details.ical', {ontoggle: () => part.open && show(state)},
    element('summary', {}, 'In another calendar (iCal)'),
    element('p.note', {}, 'With a link, phones and mail programs show your '
            + 'leases. Whoever has the link can read them, and do nothing '
            + 'else.'),
    state);
  return part;
}

async function show(state) {
  try {
    const {document} = await get('calendar/token');
    const there = document.calendar_token !== null;
    fill(state, there && element('p', {}, 'There is a link already. It is '
                                 + 'not shown again; a new one replaces it.'),
         buttons(state, there));
  } catch (failure) {
    fill(state, element('p.failed', {}, failure.message));
  }
}

function buttons(state, there) {
  return element(
    'div.buttons', {},
    there && element('button', {type: 'button', onclick: () => revoke(state)},
                     'Take it back'),
    element('button', {type: 'button', onclick: () => make(state)},
            there ? 'Make a new link' : 'Make a link'));
}

async function make(state) {
  try {
    const {document} = await send('POST', 'calendar/token');
    fill(state, element('p', {}, 'Copy it now; it is not shown again:'),
         copyable(document.calendar_token.url, 'link'),
         buttons(state, true));
  } catch (failure) {
    fill(state, element('p.failed', {}, failure.message));
  }
}

async function revoke(state) {
  try {
    await send('DELETE', 'calendar/token');
    fill(state, element('p', {}, 'The link shows nothing any more.'),
         buttons(state, false));
  } catch (failure) {
    fill(state, element('p.failed', {}, failure.message));
  }
}
