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
 * Without projects, those of other users follow; without users, all leases are
 * listed together.
 */

import {calendarLink} from './calendar_link.js';
import {element, fill} from './elements.js';
import {openPanel} from './panel.js';
import {sentence} from './refusal_text.js';
import {get} from './requests.js';
import {duration, read, timeElement} from './times.js';

/** So many are listed, the newest ones. */
const MOST = 10000;

/** The list of leases, in the panel. */
export class LeaseList {
  /** @param {object} page the fleet, changed(), and openLease(id) */
  constructor(page) {
    this.page = page;
    this.isOpen = false;
    this.loading = false;
    this.othersAreOpen = false;
  }

  async open() {
    this.content = element('div.leases', {'aria-busy': 'true'});
    // NOTE: a new link is shown once; it stays while the list changes.
    const parts = element('div', {}, this.content, calendarLink());
    openPanel(titleOf(this.page.session), parts, {closed: () => {
      this.isOpen = false;
      this.page.changed(null);
    }});
    this.isOpen = true;
    this.page.changed({kind: 'leases'});
    await this.load();
  }

  async load() {
    if (this.loading) {
      // NOTE: what has changed meanwhile may be on a page that is read.
      this.again = true;
      return;
    }
    this.loading = true;
    do {
      this.again = false;
      await this.readAndShow();
    } while (this.again);
    this.loading = false;
  }

  async readAndShow() {
    try {
      this.show(await readLeases(this.page.session?.project?.id));
    } catch (failure) {
      fill(this.content, element('p.failed', {}, sentence(failure.message)));
    }
  }

  show(leases) {
    this.content.removeAttribute('aria-busy');
    const {session} = this.page;
    const user = session?.project ? null : session?.user?.id ?? null;
    const isMine = (lease) => user === null || lease.user_id === user;
    const others = leases.filter((each) => !isMine(each));
    fill(
      this.content, ...this.parts(
        leases.filter(isMine), 'No leases yet. Drag over a class of hosts, or '
        + 'press b, to book one.'),
      others.length ? element(
        'details', {
          open: this.othersAreOpen,
          ontoggle: (event) => {
            this.othersAreOpen = event.currentTarget.open;
          }},
        element('summary', {}, `Of other users (${others.length})`),
        ...this.parts(others, 'None that is not over.')) : null);
  }

  /** Return lists of the leases that are not over, and of the others. */
  parts(leases, none) {
    const now = this.page.fleet.now();
    const live = leases.filter((each) => read(each.end_date) > now)
      .sort((a, b) => read(a.start_date) - read(b.start_date));
    const over = leases.filter((each) => read(each.end_date) <= now)
      .reverse();
    return [
      live.length
        ? element('ul.lease-list', {}, ...live.map((each) => this.item(each)))
        : element('p.note', {}, none),
      over.length ? element(
        'details', {}, element('summary', {}, `Over (${over.length})`),
        element('ul.lease-list', {},
                ...over.map((each) => this.item(each)))) : null];
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
      element('span', {}, timeElement(start), ` · ${duration(end - start)}`,
              this.page.session?.project || !lease.user_id ? ''
                : ` · ${lease.user_id}`)));
  }
}

/** Return the name of the list: without users, no lease is anybody's. */
export function titleOf(session) {
  return session?.user ? 'My leases' : 'All leases';
}

/**
 * Return the newest leases.  The service sends them page by page, the oldest
 * first.
 *
 * @param {string|undefined} project only those of that project
 */
async function readLeases(project) {
  let leases = [];
  let asked = project ? new URLSearchParams({project}) : null;
  for (;;) {
    const {document} = await get('leases', asked);
    leases = [...leases, ...document.leases].slice(-MOST);
    if (!document.next || !document.leases.length) {
      return leases;
    }
    asked = new URL(document.next, window.location).searchParams;
  }
}
