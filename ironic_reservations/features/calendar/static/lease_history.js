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
 * The history of a lease: what has happened to it, the oldest first.
 */

import {element} from './elements.js';
import {sentence} from './refusal_text.js';
import {get} from './requests.js';
import {read, timeElement} from './times.js';

const SENTENCES = {
  created: () => 'Booked',
  changed: () => 'Last changed',
  promised: (which) => `Promised later: ${which}`,
  moved: (which) => `Last planned anew, on ${which}`,
  lacks_nodes: () => 'Lacks hosts, since then at the latest',
  nodes_replaced: () => 'Broken hosts replaced, then at the latest',
  start_lease: (_, entry) => STARTS[entry.status],
  before_end_lease: (_, entry) => NEARS[entry.status],
  end_lease: (_, entry) => ENDS[entry.status],
  bound: (which) => `Hosts handed over: ${which}`,
  no_show_warning: (which) => `Warned that nobody has deployed ${which}`,
  no_show_release: (which) => `Released, since nobody deployed: ${which}`,
  deployed: (which) => `Deployed: ${which}`,
  undeployed: (which) => `No longer deployed: ${which}`,
  released: (which) => `Taken back: ${which}`,
  notice: (_, entry) => `Notice “${
    NOTICES[entry.notice] ?? entry.notice}”: ${sentTo(entry.sent)}`};
const STARTS = {IN_PROGRESS: 'Is being started', DONE: 'Started',
                ERROR: 'Could not be started'};
const NEARS = {IN_PROGRESS: 'The end is being announced',
               DONE: 'Its end is near', ERROR: 'The end was not announced'};
const ENDS = {IN_PROGRESS: 'Is being ended', DONE: 'Ended',
              ERROR: 'Could not be ended'};
const NOTICES = {
  before_start: 'starts soon', started: 'has started',
  before_end: 'ends soon', ended: 'is over', fixed: 'does not move any more',
  moved_earlier: 'starts earlier', broken: 'has fewer hosts',
  no_show: 'is not used', maintenance: 'goes into maintenance',
  asked_back: 'hosts are asked back'};
const CHANNELS = {webhook: 'to a webhook', mail: 'by mail',
                  enforcement: 'to the enforcement service'};
const OUTCOMES = {delivered: 'delivered', given_up: 'given up',
                  no_address: 'no address is known'};
const NAMED = 4;

/**
 * Read the history of a lease.
 *
 * @returns {Promise<{entries: object[], failure: Error|null}>} a failure says
 *     why there are none: the rest of the page is shown all the same
 */
export async function readHistory(ident) {
  try {
    const answer = await get(`leases/${encodeURIComponent(ident)}/history`);
    return {entries: answer.document.history, failure: null};
  } catch (failure) {
    return {entries: [], failure};
  }
}

/**
 * Return the section of the page.
 *
 * @param {Map} hosts what is known of its hosts, by the ids of their nodes
 */
export function historySection({entries, failure}, hosts) {
  return element(
    'section.history', {},
    element('h3', {}, 'History'),
    failure && element('p.failed', {}, sentence(failure.message)),
    entries.length > 0 && element(
      'table', {},
      element('thead', {}, element(
        'tr', {}, ...['Time', 'What happened'].map(
          (title) => element('th', {scope: 'col'}, title)))),
      element('tbody', {}, ...entries.map((entry) => element(
        'tr', {},
        element('td', {}, timeElement(read(entry.at))),
        element('td', {}, told(entry, hosts)))))));
}

function told(entry, hosts) {
  const say = SENTENCES[entry.what];
  const which = entry.hosts === undefined ? '' : whichHosts(entry, hosts);
  // NOTE: a later version of the API may know of more.
  const text = say ? say(which, entry) : [entry.what, which].join(' ');
  return entry.since
    ? [text, ', had since ', timeElement(read(entry.since))] : text;
}

/** Return which hosts these are: "gold-0, gold-1", or "2 hosts of gold". */
function whichHosts(entry, hosts) {
  const names = entry.nodes.slice(0, NAMED).map(
    (uuid) => hosts.get(uuid)?.name ?? uuid.slice(0, 8));
  const more = entry.hosts - names.length;
  if (!names.length) {
    const kind = entry.resource_class ? ` of ${entry.resource_class}` : '';
    return `${more} ${more === 1 ? 'host' : 'hosts'}${kind}`;
  }
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function sentTo(sent) {
  return sent.map(({channel, outcome}) => `${CHANNELS[channel] ?? channel}, ${
    outcome ? OUTCOMES[outcome] ?? outcome : 'on its way'}`).join('; ');
}
