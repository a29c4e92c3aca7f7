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
 * Pointers on the board: drag over a class to book, drag the edge of an own
 * lease to change it, drag on the axis or turn the wheel to zoom, pinch.
 */

import {saidOfBooking, saidOfWindow} from './row_labels.js';
import {snap} from './times.js';
import {showTip} from './tip.js';

const EDGE_REACH = 6;
const MOVED = 5;
const ZOOM = 1.0018;

/** What pointers do on a board. */
export class Gestures {
  /**
   * @param {object} board
   * @param {object} does zoom(from, to), draw(draft), drawn(draft),
   *     openLease(key), accept(offer), edge(booking, which, time),
   *     dropped(booking, which, time), leftEdge() and canChange(booking)
   */
  constructor(board, does) {
    this.board = board;
    this.does = does;
    this.drag = null;
    this.pointers = new Map();
    const {area} = board.places;
    area.addEventListener('pointerdown', (event) => this.down(event));
    area.addEventListener('pointermove', (event) => this.move(event));
    area.addEventListener('pointerup', (event) => this.up(event));
    area.addEventListener('pointercancel', (event) => this.cancel(event));
    area.addEventListener('pointerleave', () => this.leave());
    area.addEventListener('wheel', (event) => this.wheel(event),
                          {passive: false});
  }

  down(event) {
    if (event.button !== 0 || event.target.closest('button')) {
      return;
    }
    this.pointers.set(event.pointerId, event);
    if (this.pointers.size === 2) {
      this.startPinch();
      return;
    }
    const place = this.board.at(event);
    if (place.onLabels || (!place.row && !place.onAxis)) {
      return;
    }
    this.drag = {...this.intent(place), from: place, x: event.clientX,
                 y: event.clientY, moved: false, id: event.pointerId};
  }

  /** Return what a drag from a place is for. */
  intent(place) {
    if (place.onAxis) {
      return {kind: 'zoom'};
    }
    const edge = this.edgeAt(place);
    if (edge) {
      return edge;
    }
    if (place.booking) {
      return {kind: 'none'};
    }
    return {kind: 'draw', row: place.row};
  }

  edgeAt(place) {
    const {timeline} = this.board;
    const near = (time) => Math.abs(timeline.x(time) - place.x) <= EDGE_REACH;
    const {booking} = place;
    if (booking && this.does.canChange(booking)) {
      if (near(booking.end)) {
        return {kind: 'edge', which: 'end', booking};
      }
      if (near(booking.start)
          && booking.start > this.board.fleet.now()) {
        return {kind: 'edge', which: 'start', booking};
      }
    }
    const {draft} = this.board.over;
    if (draft && this.shows(place.row, draft)) {
      for (const which of ['end', 'start']) {
        if (near(draft[which])) {
          return {kind: 'draft', which};
        }
      }
    }
    return null;
  }

  /** Return whether a draft is drawn into a row. */
  shows(row, draft) {
    return row?.name === draft.resourceClass && (row.kind === 'class'
      || (row.kind === 'host' && Boolean(draft.hostId)
          && this.board.fleet.host(row.key, row.host)?.id === draft.hostId));
  }

  move(event) {
    if (this.pointers.has(event.pointerId)) {
      this.pointers.set(event.pointerId, event);
    }
    if (this.pinch) {
      this.movePinch();
      return;
    }
    const place = this.board.at(event);
    if (!this.drag) {
      this.hover(place, event);
      return;
    }
    if (!this.drag.moved) {
      if (Math.hypot(event.clientX - this.drag.x,
                     event.clientY - this.drag.y) < MOVED) {
        return;
      }
      this.drag.moved = true;
      this.board.places.area.setPointerCapture(event.pointerId);
      showTip(null);
    }
    this.moveDrag(place);
  }

  moveDrag(place) {
    const {drag, board, does} = this;
    const {step} = board.timeline;
    if (drag.kind === 'zoom') {
      board.over.zoom = span(drag.from.time, place.time);
      board.later();
    } else if (drag.kind === 'draw') {
      const draft = snapped(span(drag.from.time, place.time), step,
                            board.fleet.now());
      drag.draft = {...draft, row: drag.row};
      board.over.draft = {...draft, resourceClass: drag.row.name,
                          hostId: drag.row.kind === 'host' ? board.fleet.host(
                            drag.row.key, drag.row.host)?.id : null,
                          verdict: null};
      board.later();
    } else if (drag.kind === 'edge') {
      drag.time = snap(place.time, step);
      does.edge(drag.booking, drag.which, drag.time, drag.from.row);
    } else if (drag.kind === 'draft') {
      does.moveDraft(drag.which, snap(place.time, step));
    }
  }

  up(event) {
    this.pointers.delete(event.pointerId);
    if (this.pinch) {
      this.pinch = null;
      return;
    }
    const {drag, does, board} = this;
    this.drag = null;
    if (!drag) {
      return;
    }
    if (!drag.moved) {
      this.click(drag.from);
    } else if (drag.kind === 'zoom') {
      const {zoom} = board.over;
      board.over.zoom = null;
      does.zoom(zoom.start, zoom.end);
    } else if (drag.kind === 'draw') {
      does.drawn(drag.draft);
    } else if (drag.kind === 'edge') {
      does.dropped(drag.booking, drag.which, drag.time);
    }
  }

  click(place) {
    if (place.offer) {
      this.does.accept(place.offer);
    } else if (place.booking?.lease?.id) {
      this.does.openLease(place.booking.lease.id);
    } else if (place.row && place.row.kind !== 'host') {
      this.does.toggle(place.row.key);
    }
  }

  cancel(event) {
    this.pointers.delete(event.pointerId);
    this.pinch = null;
    this.drop();
  }

  /** Forget the drag that is under way. */
  drop() {
    const {drag, board} = this;
    this.drag = null;
    board.over.zoom = null;
    board.over.edge = null;
    if (drag?.kind === 'draw' && drag.moved) {
      board.over.draft = null;
    } else if (drag?.kind === 'edge') {
      this.does.leftEdge();
    }
    board.later();
    return drag !== null;
  }

  leave() {
    if (!this.drag) {
      showTip(null);
      this.does.hover(null);
    }
  }

  hover(place, event) {
    const {area} = this.board.places;
    const edge = place.onLabels ? null : this.edgeAt(place);
    let cursor = 'default';
    if (edge) {
      cursor = 'ew-resize';
    } else if (place.offer || place.booking?.lease?.id) {
      cursor = 'pointer';
    } else if (place.onAxis && !place.onLabels) {
      cursor = 'zoom-in';
    } else if (place.row && !place.onLabels && !place.booking) {
      cursor = 'crosshair';
    }
    area.style.cursor = cursor;
    this.does.hover(place.booking?.lease ?? null);
    if (place.onLabels || event.pointerType !== 'mouse') {
      showTip(null);
    } else {
      showTip(this.tipOf(place), event);
    }
  }

  tipOf(place) {
    const {fleet} = this.board;
    if (place.booking) {
      const also = place.window ? `; ${saidOfWindow(place.window)}` : '';
      return {text: saidOfBooking(place.booking) + also,
              at: place.booking.start, until: place.booking.end};
    }
    if (place.window) {
      return {text: saidOfWindow(place.window), at: place.window.start,
              until: place.window.end};
    }
    if (place.row && place.row.kind !== 'host') {
      const each = fleet.find(place.row.key);
      return {text: `${fleet.freeAt(each.key, place.time)} of ${
        each.hosts} free`, at: place.time};
    }
    return place.row || place.onAxis ? {text: '', at: place.time} : null;
  }

  wheel(event) {
    const {timeline} = this.board;
    const place = this.board.at(event);
    const zooms = event.ctrlKey || event.metaKey || place.onAxis;
    const sideways = event.shiftKey
      || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!zooms && !sideways) {
      return;
    }
    event.preventDefault();
    const {from, to} = timeline;
    if (zooms) {
      // NOTE: what is under the mouse stays there, at the limits, too.
      const factor = timeline.limited((to - from) * ZOOM ** event.deltaY)
        / (to - from);
      this.does.zoom(place.time - (place.time - from) * factor,
                     place.time + (to - place.time) * factor);
    } else {
      const shift = (event.deltaX || event.deltaY) * timeline.secondsAPixel;
      this.does.zoom(from + shift, to + shift);
    }
  }

  startPinch() {
    this.drop();
    const [one, two] = [...this.pointers.values()].map(
      (event) => this.board.at(event));
    this.pinch = {one: one.time, two: two.time};
  }

  /** Keep both times under their fingers. */
  movePinch() {
    const {timeline} = this.board;
    const [one, two] = [...this.pointers.values()].map(
      (event) => this.board.at(event).x);
    if (two === undefined || Math.abs(two - one) < 10) {
      return;
    }
    const width = timeline.width - timeline.left;
    const asked = (this.pinch.two - this.pinch.one) / (two - one);
    if (asked > 0) {
      const scale = timeline.limited(asked * width) / width;
      const from = this.pinch.one - (one - timeline.left) * scale;
      this.does.zoom(from, from + width * scale);
    }
  }
}

function span(one, two) {
  return {start: Math.min(one, two), end: Math.max(one, two)};
}

function snapped({start, end}, step, now) {
  const first = Math.max(snap(start, step), Math.ceil(now / 60) * 60);
  return {start: first, end: Math.max(snap(end, step), first + step)};
}
