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
 * The lanes of a class's row: offers that overlap in time stand one below the
 * other, and none stands over the window that is asked for.
 */

/**
 * Give the draft and each offer of a class a part of the height of its row.
 *
 * Those that overlap nothing have all of it; a draft that has offers below it
 * keeps the upper half.
 *
 * @param {object|null} draft
 * @param {object[]} offers
 * @returns {Map} of the draft and each offer: [from, to], from 0 to 1
 */
export function lanesOf(draft, offers) {
  const all = (draft ? [draft, ...offers] : [...offers]).sort(
    (one, two) => one.start - two.start);
  const found = new Map();
  let group = [];
  let end = -Infinity;
  for (const each of all) {
    if (each.start >= end) {
      share(group, draft, found);
      group = [];
    }
    group.push(each);
    end = Math.max(end, each.end);
  }
  share(group, draft, found);
  return found;
}

/** Share a row among those that overlap, directly or through others. */
function share(group, draft, found) {
  const below = group.filter((each) => each !== draft);
  let top = 0;
  if (below.length < group.length) {
    top = below.length ? 0.5 : 1;
    found.set(draft, [0, top]);
  }
  const ends = [];
  const lanes = below.map((each) => {
    const free = ends.findIndex((end) => end <= each.start);
    const lane = free === -1 ? ends.length : free;
    ends[lane] = each.end;
    return lane;
  });
  const height = (1 - top) / ends.length;
  below.forEach((each, index) => found.set(
    each, [top + lanes[index] * height, top + (lanes[index] + 1) * height]));
}
