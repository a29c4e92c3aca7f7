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
 * What a dry run says of other leases, which make room, in words.
 */

import {count} from './refusal_text.js';
import {duration, read} from './times.js';

const MOST_NAMED = 3;

/** Return which other leases make room, as a sentence; empty for none. */
export function roomText(moves) {
  const {leases = [], others = 0} = moves ?? {};
  const said = leases.slice(0, MOST_NAMED).map(movedText);
  if (leases.length > said.length) {
    said.push(`${leases.length - said.length} more of these leases move`);
  }
  if (others) {
    said.push(`${count(others, 'lease')} of others ${
      others === 1 ? 'moves' : 'move'}`);
  }
  return said.length ? `To make room, ${said.join('; ')}.` : '';
}

/** Return which windows on which nodes leases will have that make room. */
export function movesOf(moves) {
  return (moves?.leases ?? []).map((each) => ({
    name: each.name, start: read(each.start_date), end: read(each.end_date),
    nodes: each.nodes.map((node) => node.to)}));
}

function movedText({name, shift, nodes}) {
  const said = [];
  if (shift) {
    said.push(`starts ${duration(Math.abs(shift))} ${
      shift > 0 ? 'later' : 'earlier'}`);
  }
  if (nodes.length) {
    said.push(nodes.length === 1 ? 'moves to another host'
      : `moves to ${nodes.length} other hosts`);
  }
  return `${name} ${said.join(' and ')}`;
}
