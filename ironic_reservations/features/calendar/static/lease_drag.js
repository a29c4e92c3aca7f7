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
 * Dragging the start or the end of an own lease: the service says at once
 * whether it can, and what moves for it; the drop does it.
 */

import {DryRun} from './dry_run.js';
import {element} from './elements.js';
import {movesText} from './lease_page.js';
import {movesOf, roomText} from './moves_text.js';
import {forgetNotice, notice} from './notice.js';
import {blockersOf, sentence, whose} from './refusal_text.js';
import {get} from './requests.js';
import {read, shown, write} from './times.js';
import {changeOnce} from './write_once.js';

const SHORTEST = 60;
const MOST_NAMED = 3;

/** The edge of a lease that is being dragged. */
export class LeaseDrag {
  /** @param {object} page the fleet, the board, and written() */
  constructor(page) {
    this.page = page;
    this.dryRun = new DryRun((verdict) => this.judged(verdict));
    this.lease = null;
  }

  /** Return whether the reader may drag the edges of a booking. */
  canChange(booking) {
    return Boolean(booking.lease?.own && booking.lease.id)
      && booking.end > this.page.fleet.now();
  }

  /** Take in that an edge is somewhere else now. */
  move(booking, which, time, row) {
    const {board, fleet} = this.page;
    const limit = which === 'end'
      ? Math.max(booking.start + SHORTEST, fleet.now() + SHORTEST)
      : booking.end - SHORTEST;
    const kept = which === 'end' ? Math.max(time, limit)
      : Math.min(time, limit);
    if (board.over.edge?.time === kept) {
      return;
    }
    board.over.edge = {time: kept, which, top: row.top,
                       resourceClass: row.name,
                       verdict: board.over.edge?.verdict ?? 'asking'};
    board.light(booking.lease.key);
    board.later();
    this.before ??= this.readBefore(booking.lease.id);
    this.dryRun.ask({
      method: 'PUT', path: `leases/${booking.lease.id}`,
      body: bodyOf(which, kept)});
  }

  async readBefore(ident) {
    try {
      const answer = await get(`leases/${ident}`);
      this.lease = answer.document.lease;
    } catch {
      this.lease = null;
    }
  }

  judged(verdict) {
    const {board} = this.page;
    const {edge} = board.over;
    if (!edge) {
      return;
    }
    this.verdict = verdict;
    if (verdict === null) {
      edge.verdict = 'asking';
    } else {
      edge.verdict = verdict.granted ? 'yes' : 'no';
      const what = edge.which === 'end' ? 'End' : 'Start';
      const moves = verdict.granted && this.lease
        ? `; ${movesText(this.lease, verdict.lease)}` : '';
      const room = roomText(verdict.moves);
      const blockers = blockersOf(verdict);
      notice(verdict.granted
        ? `${what} ${shown(edge.time)}: possible${moves}. ${
          room ? `${room} ` : ''}Drop to do it, Esc to leave it.`
        : element('span', {}, sentence(verdict.sentence),
                  inTheWay(blockers)), !verdict.granted);
      Object.assign(board.over, {blockers, moves: movesOf(verdict.moves)});
    }
    board.later();
  }

  /** Do it, as the drop says. */
  async drop(booking, which) {
    const {board} = this.page;
    const {edge} = board.over;
    this.forget();
    if (!edge) {
      return;
    }
    try {
      const lease = await changeOnce(
        booking.lease.id, bodyOf(which, edge.time));
      notice(`${lease.name}: ${shown(read(lease.start_date))} – ${
        shown(read(lease.end_date))}.`);
    } catch (failure) {
      notice(sentence(`Not changed. ${failure.message}`), true);
    }
    this.page.written();
  }

  /** Leave everything as it was. */
  forget() {
    this.dryRun.cancel();
    forgetNotice();
    this.before = null;
    this.lease = null;
    Object.assign(this.page.board.over, {
      edge: null, blockers: [], moves: []});
    this.page.board.later();
  }
}

/** Return whose leases are in the way, as a sentence; empty for none. */
function inTheWay(blockers) {
  const all = [...new Set(blockers.map(whose))];
  const more = all.length > MOST_NAMED ? ' and more' : '';
  return all.length ? ` In the way: ${
    all.slice(0, MOST_NAMED).join(', ')}${more}.` : '';
}

function bodyOf(which, time) {
  return {[which === 'end' ? 'end_date' : 'start_date']: write(time)};
}
