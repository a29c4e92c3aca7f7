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
 * Elements of the page.
 *
 * Everything that is shown becomes a text node or an attribute: no name,
 * property or sentence is ever read as HTML.
 */

/**
 * Return a new element.
 *
 * @param {string} tag its name, with classes after dots: "p.note"
 * @param {object} attributes with on... for listeners; null leaves one out
 * @param {...(Node|string|null)} children strings become text
 */
export function element(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const made = document.createElement(name);
  if (classes.length) {
    made.classList.add(...classes);
  }
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) {
      continue;
    }
    if (key.startsWith('on')) {
      made.addEventListener(key.slice(2), value);
    } else {
      made.setAttribute(key, value === true ? '' : String(value));
    }
  }
  append(made, children);
  return made;
}

/** Replace all that an element contains. */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

function append(parent, children) {
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) {
      parent.append(child);
    }
  }
}

/** Return the element of the page with that id. */
export function byId(id) {
  return document.getElementById(id);
}

const SVG = 'http://www.w3.org/2000/svg';

/** Return an icon of index.html by its name. */
export function icon(name) {
  const drawn = document.createElementNS(SVG, 'svg');
  drawn.setAttribute('class', 'icon');
  drawn.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS(SVG, 'use');
  use.setAttribute('href', `#icon-${name}`);
  drawn.append(use);
  return drawn;
}
