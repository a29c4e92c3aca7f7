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
 * Refusals as the reader sees them: the times of the service's sentences in
 * the reader's own zone, what is in the way, and the offers.
 */

import {element} from './elements.js';
import {duration, read, shown, timeElement, utc} from './times.js';

const IN_SENTENCE =
  /\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z|\+00:00)/g;

/** Return a sentence of the service with local times, UTC on hover. */
export function sentence(text) {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(IN_SENTENCE)) {
    parts.push(text.slice(from, match.index));
    parts.push(timeElement(read(match[0].replace(' UTC', ''))));
    from = match.index + match[0].length;
  }
  parts.push(text.slice(from));
  return element('span', {}, ...parts);
}

/** Return what is in the way, as windows for the timeline. */
export function blockersOf(verdict) {
  return (verdict?.reasons ?? []).flatMap((reason) =>
    (reason.blockers ?? []).map((blocker) => ({
      start: read(blocker.start_date), end: read(blocker.end_date),
      hosts: blocker.hosts ?? 1, own: blocker.own,
      lease: blocker.lease_id ?? null, name: blocker.lease_name ?? null,
      user: blocker.user_id ?? null})));
}

/** Return what is in the way, as a list. */
export function blockerList(blockers) {
  if (!blockers.length) {
    return null;
  }
  return element(
    'div.blockers', {},
    element('h3', {}, 'In the way'),
    element('ul', {}, ...blockers.slice(0, 6).map((each) => element(
      'li', {}, `${count(each.hosts, 'host')} of ${whose(each)}: `,
      timeElement(each.start), ' until ', timeElement(each.end)))));
}

/** Return whose the lease is that is in the way. */
export function whose({own, name, user}) {
  if (!own) {
    return name === null ? 'another lease'
      : `the lease ${name} of ${user ?? 'an unknown user'}`;
  }
  return name === null ? 'your own lease' : `your lease ${name}`;
}

const NAMES = {
  later: 'Later', earlier: 'Earlier', shorter: 'Shorter', fewer: 'Fewer',
  other_class: 'Other class', no_affinity: 'Not on one host'};

/** Return the offers of a verdict: what each is called, and its window. */
export function offersOf(verdict, resourceClass, nameOfClass) {
  return (verdict?.offers ?? []).map((offer) => {
    const {between, start_date: from, end_date: to} = offer.lease;
    const [first, last] = between ?? [from, to];
    return {
      kind: offer.kind, lease: offer.lease, detail: offer.detail,
      start: first && first !== 'now' ? read(first) : Date.now() / 1000,
      end: read(last),
      hosts: offer.lease.reservations?.[0]?.min ?? null,
      label: NAMES[offer.kind] ?? offer.kind,
      resourceClass: nameOfClass(offer.lease) ?? resourceClass};
  });
}

/** Return the offers as buttons, each of which accepts one unchanged. */
export function offerList(offers, accept, light) {
  if (!offers.length) {
    return element('p.note', {}, 'There is no offer instead.');
  }
  return element(
    'div.offers', {},
    element('h3', {}, 'Possible instead — one click books it'),
    element('ul', {}, ...offers.map((offer) => element(
      'li', {}, element(
        'button.offer', {
          type: 'button', title: offer.detail,
          onclick: () => accept(offer),
          onpointerenter: () => light(offer),
          onpointerleave: () => light(null)},
        element('strong', {}, offer.label),
        element('span', {}, hostsText(offer)),
        element('span', {title: `${utc(offer.start)} – ${utc(offer.end)}`},
                `${shown(offer.start)} – ${shown(offer.end)} (${
                  duration(offer.end - offer.start)})`))))));
}

function hostsText(offer) {
  return `${offer.hosts === null ? '' : `${count(offer.hosts, 'host')} of `}${
    offer.resourceClass ?? 'any class'}`;
}

/** Return a number with its noun. */
export function count(number, noun) {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
