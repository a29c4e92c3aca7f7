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
 * The reader's leases as a list: the way to each of them without a mouse.
 */

import {calendarLink} from './calendar_link.js';
import {element, fill} from './elements.js';
import {openPanel} from './panel.js';
import {get} from './requests.js';
import {duration, read, timeElement} from './times.js';

/** The list of leases, in the panel. */
export class LeaseList {
  /** @param {object} page the fleet, changed(), and openLease(id) */
  constructor(page) {
    this.page = page;
    this.isOpen = false;
  }

  async open() {
    this.content = element('div.leases', {'aria-busy': 'true'});
    // NOTE: a new link is shown once; it stays while the list changes.
    const parts = element('div', {}, this.content, calendarLink());
    openPanel('My leases', parts, {closed: () => {
      this.isOpen = false;
      this.page.changed(null);
    }});
    this.isOpen = true;
    this.page.changed({kind: 'leases'});
    await this.load();
  }

  async load() {
    let leases;
    try {
      const project = this.page.session?.project?.id;
      const answer = await get(
        'leases', project ? new URLSearchParams({project}) : null);
      ({leases} = answer.document);
    } catch (failure) {
      fill(this.content, element('p.failed', {}, failure.message));
      return;
    }
    this.content.removeAttribute('aria-busy');
    const now = this.page.fleet.now();
    const live = leases.filter((each) => read(each.end_date) > now)
      .sort((a, b) => read(a.start_date) - read(b.start_date));
    const over = leases.filter((each) => read(each.end_date) <= now)
      .reverse();
    fill(
      this.content,
      live.length
        ? element('ul.lease-list', {}, ...live.map((each) => this.item(each)))
        : element('p.note', {}, 'No leases yet. Drag over a class of hosts, '
                  + 'or press b, to book one.'),
      over.length ? element(
        'details', {}, element('summary', {}, `Over (${over.length})`),
        element('ul.lease-list', {},
                ...over.map((each) => this.item(each)))) : null);
  }

  item(lease) {
    const start = read(lease.start_date);
    const end = read(lease.end_date);
    return element('li', {}, element(
      'button.offer', {type: 'button',
                       onclick: () => this.page.openLease(lease.id)},
      element('strong', {}, lease.name),
      element(`span.status.${lease.status.toLowerCase()}`, {},
              lease.degraded ? 'degraded' : lease.status.toLowerCase()),
      element('span', {}, timeElement(start), ` · ${duration(end - start)}`)));
  }
}
