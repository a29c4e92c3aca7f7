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
 * The board: the rows beside their labels, under the axis of time.
 *
 * The page scrolls natively; the canvas stands still behind it and draws the
 * rows in view, once a frame at most.
 */

import {drawHost} from './host_row.js';
import {lanesOf} from './offer_lanes.js';
import {drawBlocked, drawBlockers, drawDraft, drawEdge, drawGhost, drawMoved,
        drawNow, drawShown, drawZoom} from './overlay.js';
import {RowLabels} from './row_labels.js';
import {layout, rowAt, rowsBetween} from './row_layout.js';
import {drawSteps} from './step_curve.js';
import {colour} from './theme.js';
import {Timeline} from './timeline.js';

const LABELS = 248;
const LABELS_NARROW = 128;
const NARROW = 640;

/** All rows of the fleet over time. */
export class Board {
  /**
   * @param {object} places the elements: plot, scroller, spacer
   * @param {object} fleet the classes and hosts
   * @param {object} calls toggle(name) and moved(), after the view has moved
   */
  constructor(places, fleet, calls) {
    this.places = places;
    this.fleet = fleet;
    this.calls = calls;
    /** What is drawn over the rows; see overlay.js. */
    this.over = {
      draft: null, blockers: [], offers: [], moves: [], edge: null, zoom: null,
      litOffer: null, shown: null};
    this.lit = null;
    this.top = 0;
    this.timeline = new Timeline(
      places.plot, (context) => this.draw(context));
    this.labels = new RowLabels(places.spacer, fleet, calls.toggle);
    this.laid = layout(fleet);
    places.scroller.addEventListener('scroll', () => this.later(),
                                     {passive: true});
    new ResizeObserver(() => this.resize()).observe(places.plot);
    this.resize();
  }

  resize() {
    const {clientWidth, clientHeight} = this.places.plot;
    if (!clientWidth || !clientHeight) {
      return;
    }
    const left = clientWidth < NARROW ? LABELS_NARROW : LABELS;
    this.places.plot.parentElement.style.setProperty(
      '--labels', `${left}px`);
    this.timeline.resize(clientWidth, clientHeight, left);
    this.revealDraft();
    this.later();
  }

  /** Show a window of time. */
  show(from, to) {
    this.timeline.show(from, to);
    this.later();
  }

  /** Take in that the fleet has changed. */
  update() {
    this.laid = layout(this.fleet);
    this.places.spacer.style.height = `${this.laid.height}px`;
    this.later();
  }

  /** Draw in the next frame. */
  later() {
    if (!this.waits) {
      this.waits = true;
      window.requestAnimationFrame(() => {
        this.waits = false;
        this.paint();
      });
    }
  }

  paint() {
    const {scroller} = this.places;
    // NOTE: read once: each time after a change, the browser would lay out
    // all of the page.
    this.top = scroller.scrollTop;
    const from = this.top;
    const to = from + this.timeline.height - this.timeline.axisHeight;
    this.visible = rowsBetween(this.laid, from, to);
    this.labels.show(this.laid, this.visible, this.timeline);
    for (const segment of this.laid.segments) {
      const rows = this.visible.filter(
        (row) => row.kind === 'host' && row.key === segment.key);
      if (rows.length) {
        this.fleet.want(segment.key, rows[0].host, rows.at(-1).host);
      }
    }
    this.timeline.redraw();
  }

  /** Draw the rows in view; the axis is there already. */
  draw(context) {
    if (!this.visible) {
      return;
    }
    const {timeline} = this;
    const {ratio} = timeline;
    const scene = {
      timeline, now: this.fleet.now(), margin: this.fleet.margin,
      lentUntil: this.fleet.lentUntil,
      lit: this.lit};
    context.save();
    context.scale(ratio, ratio);
    context.textAlign = 'left';
    context.beginPath();
    context.rect(timeline.left, 0, timeline.width - timeline.left,
                 timeline.height);
    context.clip();
    context.save();
    context.beginPath();
    context.rect(timeline.left, timeline.axisHeight, timeline.width,
                 timeline.height);
    context.clip();
    for (const row of this.visible) {
      this.drawRow(context, scene, row, this.screenTop(row));
    }
    this.drawOverRows(context);
    context.restore();
    drawNow(context, timeline, scene.now);
    if (this.over.edge) {
      const {edge} = this.over;
      drawEdge(context, timeline, edge, edge.top - this.scrolled(), 26);
    }
    if (this.over.zoom) {
      drawZoom(context, timeline, this.over.zoom);
    }
    context.restore();
  }

  drawRow(context, scene, row, top) {
    context.fillStyle = colour('grid');
    context.fillRect(scene.timeline.left, top + row.height - 1,
                     scene.timeline.width, 1);
    if (row.kind !== 'host') {
      drawSteps(context, scene, this.fleet.find(row.key), top, row.height);
      return;
    }
    const host = this.fleet.host(row.key, row.host);
    if (host) {
      drawHost(context, scene, host, top, row.height);
      this.drawOverHost(context, row, host, top);
    }
  }

  /** Draw what is in the way on a host, and the draft if it is of the host. */
  drawOverHost(context, row, host, top) {
    const {timeline} = this;
    const {blockers, draft, edge, moves} = this.over;
    // NOTE: who makes room may go to a host of any class.
    drawMoved(context, timeline, host, moves, top, row.height);
    if ((edge ?? draft)?.resourceClass !== row.name) {
      return;
    }
    drawBlocked(context, timeline, host, blockers, top, row.height);
    // NOTE: the row of its class may be far above.
    if (draft && draft.hostId === host.id) {
      drawDraft(context, timeline, {...draft, verdict: null}, top,
                row.height);
    }
  }

  drawOverRows(context) {
    const {timeline} = this;
    const {blockers, edge, litOffer, shown} = this.over;
    for (const segment of this.laid.segments.filter(
      (each) => each.kind === 'class')) {
      const row = {...segment, height: segment.head};
      const top = this.screenTop(row);
      if (shown?.classes.has(segment.name)) {
        drawShown(context, timeline, shown, top, row.height);
      }
      const {draft, places} = this.placesIn(row);
      for (const [each, [from, to]] of places) {
        const box = [top + from * row.height, (to - from) * row.height];
        if (each === draft) {
          drawDraft(context, timeline, draft, ...box);
        } else {
          drawGhost(context, timeline, each, ...box, litOffer === each);
        }
      }
      if ((edge ?? draft)?.resourceClass === segment.name) {
        drawBlockers(context, timeline, blockers, top, row.height,
                     places.size <= 1);
      }
    }
  }

  /** Return the draft of a class's row, and where it and each offer is. */
  placesIn(row) {
    const isHere = (each) => each?.resourceClass === row.name;
    const draft = isHere(this.over.draft) ? this.over.draft : null;
    return {draft, places: lanesOf(draft, this.over.offers.filter(isHere))};
  }

  scrolled() {
    return this.top - this.timeline.axisHeight;
  }

  screenTop(row) {
    return row.top - this.scrolled();
  }

  /** Return the place of a pointer: its row, time and booking. */
  at(event) {
    const box = this.places.plot.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const height = y + this.scrolled();
    const row = y < this.timeline.axisHeight ? null
      : rowAt(this.laid, height);
    return {
      x, y, row, time: this.timeline.time(x),
      onAxis: y < this.timeline.axisHeight,
      onLabels: x < this.timeline.left,
      booking: row ? this.bookingAt(row, x, height - row.top) : null,
      window: row ? this.windowAt(row, x) : null,
      offer: row?.kind === 'class' ? this.offerAt(row, x, height - row.top)
        : null};
  }

  bookingAt(row, x, y) {
    const host = row.kind === 'host' ? this.fleet.host(row.key, row.host)
      : null;
    if (!host || x < this.timeline.left) {
      return null;
    }
    const lane = Math.floor(y / (row.height / host.lanes));
    const reach = 3 * this.timeline.secondsAPixel;
    const time = this.timeline.time(x);
    return host.bookings.find(
      (each) => each.lane === lane && each.start - reach <= time
        && time <= each.end + reach) ?? null;
  }

  windowAt(row, x) {
    const host = row.kind === 'host' ? this.fleet.host(row.key, row.host)
      : null;
    if (!host || x < this.timeline.left) {
      return null;
    }
    const time = this.timeline.time(x);
    return host.windows.find(
      (each) => each.start <= time && time < each.end) ?? null;
  }

  offerAt(row, x, y) {
    const time = this.timeline.time(x);
    const share = y / row.height;
    const {draft, places} = this.placesIn(row);
    for (const [each, [from, to]] of places) {
      if (each !== draft && each.start <= time && time <= each.end
          && from <= share && share < to) {
        return each;
      }
    }
    return null;
  }

  /** Scroll until the class is in view that is to be booked. */
  revealDraft() {
    const {draft} = this.over;
    // NOTE: what was drawn over a host is seen there.
    if (draft && !draft.hostId) {
      this.revealClass(draft.resourceClass);
    }
  }

  /** Scroll until the row of a class is in view. */
  revealClass(name) {
    const found = this.laid?.segments.find(
      (each) => each.kind === 'class' && each.name === name);
    if (found) {
      this.reveal({top: found.top, height: found.head});
    }
  }

  /** Scroll until a row is in view. */
  reveal(row) {
    const {scroller} = this.places;
    if (row.top < scroller.scrollTop) {
      scroller.scrollTop = row.top;
    } else if (row.top + row.height
               > scroller.scrollTop + scroller.clientHeight) {
      scroller.scrollTop = row.top + row.height - scroller.clientHeight;
    }
  }

  /** Light up all parts of a lease, by its key; null for none. */
  light(key) {
    if (this.lit !== key) {
      this.lit = key;
      this.later();
    }
  }
}
