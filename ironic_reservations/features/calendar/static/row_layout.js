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
 * Where each row is: classes one below the other, each followed by its hosts
 * where it is open. Nothing here grows with the number of hosts.
 */

export const CLASS_HEIGHT = 64;
export const RACK_HEIGHT = 40;
export const HOST_HEIGHT = 26;

/** Return the layout of classes, and of the racks of those that are open. */
export function layout(fleet) {
  const segments = [];
  let top = 0;
  let index = 0;
  const add = (kind, each, head, shows) => {
    const {key, name, rack} = each;
    const open = fleet.isOpen(key);
    const hosts = open && shows ? fleet.rowCount(key) : 0;
    const height = head + hosts * HOST_HEIGHT;
    segments.push({kind, key, name, rack: rack ?? null, head, top, index,
                   open, hosts, height});
    top += height;
    index += 1 + hosts;
  };
  for (const each of fleet.classes) {
    const racks = fleet.racks(each.name);
    add('class', each, CLASS_HEIGHT, racks.length === 0);
    racks.forEach((rack) => add('rack', rack, RACK_HEIGHT, true));
  }
  return {segments, height: top, rows: index};
}

/** Return the rows between two heights, from the top down. */
export function rowsBetween(laid, from, to) {
  const rows = [];
  for (const segment of laid.segments) {
    if (segment.top + segment.height < from) {
      continue;
    }
    if (segment.top > to) {
      break;
    }
    if (segment.top + segment.head >= from) {
      rows.push(headRow(segment));
    }
    const below = segment.top + segment.head;
    const first = Math.max(0, Math.floor((from - below) / HOST_HEIGHT));
    const last = Math.min(
      segment.hosts - 1, Math.floor((to - below) / HOST_HEIGHT));
    for (let host = first; host <= last; host += 1) {
      rows.push(hostRow(segment, host));
    }
  }
  return rows;
}

/** Return the row at a height, or null. */
export function rowAt(laid, height) {
  return rowsBetween(laid, height, height).find(
    (row) => row.top <= height && height < row.top + row.height) ?? null;
}

/** Return the row of an index among all rows, or null. */
export function rowOf(laid, index) {
  for (const segment of laid.segments) {
    if (index === segment.index) {
      return headRow(segment);
    }
    if (index <= segment.index + segment.hosts) {
      return hostRow(segment, index - segment.index - 1);
    }
  }
  return null;
}

function headRow({kind, key, name, rack, index, top, head, open}) {
  return {kind, key, name, rack, index, top, height: head, open};
}

function hostRow(segment, host) {
  return {
    kind: 'host', key: segment.key, name: segment.name, rack: segment.rack,
    host, index: segment.index + 1 + host,
    top: segment.top + segment.head + host * HOST_HEIGHT,
    height: HOST_HEIGHT, last: segment.hosts};
}
