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
 * The colours that the canvas draws with: those of the style sheet, light or
 * dark, so that there is one place for them.
 */

const NAMES = [
  'ground', 'raised', 'ink', 'muted', 'line', 'grid', 'accent', 'accent-pale',
  'red', 'red-pale', 'other', 'other-pale', 'condition', 'now', 'on-lease',
  'lease-1', 'lease-2', 'lease-3', 'lease-4', 'lease-5', 'lease-6',
  'lease-7', 'lease-8'];
const LEASE_COLOURS = 8;
const MOST_CHOSEN = 5000;

let colours = {};
/** The number of the colour of each own lease that was seen. */
const chosen = new Map();

/** Read the colours again, after the reader has chosen others. */
export function readTheme() {
  const style = window.getComputedStyle(document.documentElement);
  colours = Object.fromEntries(NAMES.map(
    (name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  colours.font = style.getPropertyValue('--font').trim();
}

/** Return a colour by its name. */
export function colour(name) {
  return colours[name];
}

/** Return a font for the canvas. */
export function font(size, weight = 400) {
  return `${weight} ${size}px ${colours.font}`;
}

/** Return the colour of a lease: own ones differ, others are all alike. */
export function leaseColour(lease) {
  if (!lease?.own || !lease.id) {
    return colours.other;
  }
  return colours[`lease-${1 + numberOf(lease.id)}`];
}

/**
 * Return the number of a lease's colour: the one that its id tells, unless
 * others that were seen before have it while another one is less used.
 */
function numberOf(ident) {
  if (!chosen.has(ident)) {
    if (chosen.size >= MOST_CHOSEN) {
      chosen.clear();
    }
    let sum = 0;
    for (const letter of ident) {
      sum = (sum * 31 + letter.charCodeAt(0)) % 65521;
    }
    const uses = new Array(LEASE_COLOURS).fill(0);
    chosen.forEach((number) => {
      uses[number] += 1;
    });
    const least = Math.min(...uses);
    let number = sum % LEASE_COLOURS;
    while (uses[number] > least) {
      number = (number + 1) % LEASE_COLOURS;
    }
    chosen.set(ident, number);
  }
  return chosen.get(ident);
}
