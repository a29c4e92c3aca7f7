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
 * The time scale: the axis with its labels and grid, in the reader's zone, and
 * the canvas below it, which others draw rows on.
 */

import {colour, font} from './theme.js';
import {axisLabels} from './times.js';

const {uPlot} = window;
const AXIS_HEIGHT = 52;
/** As wide is a letter of the axis, at most, in pixels of CSS. */
const LETTER = 7;
const SHORTEST = 15 * 60;
/** The service tells no more than 366 days at a time. */
export const LONGEST = 365 * 86400;

/** An axis of time over a canvas. */
export class Timeline {
  /**
   * @param {Element} parent what it fills
   * @param {function} draw draws the rows, with the canvas's context
   */
  constructor(parent, draw) {
    this.parent = parent;
    this.from = 0;
    this.to = 1;
    this.left = 0;
    this.plot = new uPlot(
      this.options(draw), [[0, 1], [null, null]], parent);
    this.plot.ctx.canvas.setAttribute('aria-hidden', 'true');
  }

  options(draw) {
    const shades = {stroke: () => colour('muted'),
                    font: () => font(12)};
    return {
      width: 600, height: 300, legend: {show: false},
      cursor: {show: false, drag: {x: false, y: false}},
      padding: [0, 0, 0, () => this.left],
      scales: {
        x: {time: true, range: () => [this.from, this.to]},
        y: {range: () => [0, 1]}},
      series: [{}, {show: false}],
      axes: [{
        // NOTE: beside their ticks, where no edge cuts the first in half.
        side: 0, size: AXIS_HEIGHT, space: 84, gap: 28, align: 1,
        stroke: shades.stroke,
        font: font(12),
        grid: {stroke: () => colour('grid'), width: 1},
        ticks: {stroke: () => colour('line'), width: 1, size: 4},
        values: (plot, splits, axis, space, step) =>
          axisLabels(splits, step).map((label, at) => (
            this.hasRoom(splits[at], label) ? label : '')),
      }, {show: false}],
      hooks: {draw: [(plot) => draw(plot.ctx)]},
    };
  }

  /** Return whether a label beside its tick is not cut by the edge. */
  hasRoom(time, label) {
    const longest = Math.max(...label.split('\n').map((line) => line.length));
    return this.x(time) + longest * LETTER <= this.width;
  }

  get axisHeight() {
    return AXIS_HEIGHT;
  }

  /** Take a size, in pixels of CSS; the rows begin right of the labels. */
  resize(width, height, left) {
    this.left = left;
    this.width = width;
    this.height = height;
    this.plot.setSize({width, height});
  }

  /** Return a length of time that can be shown. */
  limited(length) {
    return Math.min(Math.max(length, SHORTEST), LONGEST);
  }

  /** Show a window of time. */
  show(from, to) {
    const length = this.limited(to - from);
    const middle = (from + to) / 2;
    this.from = middle - length / 2;
    this.to = middle + length / 2;
    this.plot.setScale('x', {min: this.from, max: this.to});
  }

  /** Draw again, because rows have changed or moved. */
  redraw() {
    this.plot.redraw(false, true);
  }

  /** Draw again with new colours. */
  recolour() {
    this.plot.axes[0].font = [font(12 * this.ratio), 12 * this.ratio,
                              12 * this.ratio];
    this.redraw();
  }

  get ratio() {
    return window.devicePixelRatio || 1;
  }

  /** Return where a time is, in pixels of CSS from the left. */
  x(time) {
    return this.left + (time - this.from) / (this.to - this.from)
      * (this.width - this.left);
  }

  /** Return the time at a place. */
  time(x) {
    return this.from + (x - this.left) / (this.width - this.left)
      * (this.to - this.from);
  }

  /** Return how many seconds one pixel is. */
  get secondsAPixel() {
    return (this.to - this.from) / (this.width - this.left);
  }

  /** Return the step that edges snap to: what one aims at with a mouse. */
  get step() {
    const fine = this.secondsAPixel * 6;
    return [300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600].find(
      (each) => each >= fine) ?? 86400;
  }
}
