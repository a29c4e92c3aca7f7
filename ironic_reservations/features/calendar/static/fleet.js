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
 * The fleet as the service tells it: classes with their free hosts over time,
 * and, of the classes that are open, the hosts with their bookings.
 *
 * The document of the classes is small and asked for again and again, with its
 * ETag; hosts come in pages, those in view first, and once more after the
 * document has changed.
 */

import {get} from './requests.js';
import {DAY, here, read, write} from './times.js';

export const STATE = {planned: 0, bound: 1, immediate: 2};

const PAGE = 500;
const PAGES_AT_ONCE = 2;
/** How much is asked for on each side of the view, in views. */
const BESIDE = 0.5;
/** The service tells 366 days at a time; edges are moved to full hours. */
const MOST = 366 * DAY - 7200;

/** The classes and hosts of one window of time. */
export class Fleet {
  /** @param {function} changed called after anything has changed */
  constructor(changed) {
    this.changed = changed;
    this.classes = [];
    this.margin = 0;
    this.lentUntil = null;
    this.rackProperty = null;
    this.loaded = null;
    this.unanswered = null;
    this.clockAhead = 0;
    this.sequence = null;
    this.etag = null;
    this.opened = new Map();
    this.wanted = null;
    this.asking = null;
  }

  /** Now, by the clock of the service. */
  now() {
    return here() + this.clockAhead;
  }

  /** Why the page is not up to date, or null. */
  get failure() {
    return this.unanswered ?? [...this.opened.values()].map(
      (rows) => rows.failure).find((each) => each !== null) ?? null;
  }

  /** Return the class, or the rack of an open class, of a key. */
  find(key) {
    const {name, rack} = partsOf(key);
    const groups = rack === null ? this.classes : this.racks(name);
    return groups.find((each) => each.key === key) ?? null;
  }

  /** Return the racks of an open class; none where it has no racks. */
  racks(name) {
    return this.opened.get(name)?.racks ?? [];
  }

  /** Ask for the window of a view, unless it is there. */
  async show(from, to) {
    const beside = Math.min((to - from) * BESIDE,
                            Math.max(0, (MOST - (to - from)) / 2));
    if (this.wanted && this.wanted.from <= from && to <= this.wanted.to
        && this.wanted.to - this.wanted.from <= 4 * (to - from) + 2 * DAY) {
      return;
    }
    this.wanted = {
      from: Math.floor((from - beside) / 3600) * 3600,
      to: Math.ceil((to + beside) / 3600) * 3600};
    this.etag = null;
    await this.refresh();
  }

  /** Ask whether anything has changed, and take it in. */
  async refresh() {
    while (this.asking) {
      await this.asking;
    }
    this.asking = this.readClasses().finally(() => {
      this.asking = null;
    });
    await this.asking;
  }

  async readClasses() {
    const wanted = this.wanted;
    let answer;
    try {
      answer = await get('calendar', query(wanted), this.etag);
    } catch (failure) {
      this.unanswered = failure;
      this.changed();
      return;
    }
    const mended = this.failure !== null;
    this.unanswered = null;
    for (const rows of this.opened.values()) {
      rows.askFailedAgain();
    }
    if (answer.status === 304) {
      if (mended) {
        this.changed();
      }
      return;
    }
    if (wanted !== this.wanted) {
      return;
    }
    this.etag = answer.etag;
    this.takeClasses(answer.document.calendar, wanted);
    for (const rows of this.opened.values()) {
      rows.becomeStale();
    }
    this.changed();
  }

  takeClasses(document, wanted) {
    const origin = read(document.origin);
    this.clockAhead = origin + document.now - here();
    this.margin = document.margin ?? 0;
    this.lentUntil = typeof document.lent_until === 'number'
      ? origin + document.lent_until : null;
    this.loaded = {from: origin, to: origin + document.end, wanted};
    this.rackProperty = document.rack_property ?? null;
    this.sequence = document.sequence;
    this.classes = document.classes.map((each) => ({
      // NOTE: hosts without a class are one, too; its name is empty.
      ...group(each, origin), name: each.resource_class ?? '',
      key: each.resource_class ?? ''}));
  }

  /** Open a class or a rack into its hosts, or close it. */
  setOpen(key, open) {
    if (!open) {
      const before = this.failure;
      for (const each of [...this.opened.keys()]) {
        if (isWithin(each, key)) {
          this.opened.delete(each);
        }
      }
      if (this.failure !== before) {
        // NOTE: it was of hosts that nobody looks at any more.
        this.changed();
      }
    } else if (!this.opened.has(key)) {
      this.opened.set(key, new Rows(this, key));
    }
  }

  isOpen(key) {
    return this.opened.has(key);
  }

  /** Return a host of an open class or rack, or null until it is there. */
  host(key, index) {
    return this.opened.get(key)?.hosts[index] ?? null;
  }

  /** Return how many hosts an open class or rack shows. */
  rowCount(key) {
    const rows = this.opened.get(key);
    return rows?.complete ? rows.hosts.length : this.find(key).hosts;
  }

  /** Have the hosts of a class or rack loaded, those of these rows first. */
  want(key, first, last) {
    this.opened.get(key)?.want(first, last);
  }

  /** Return how many hosts are free of a class or rack: the least. */
  leastFree(key, from, to) {
    const found = this.find(key);
    let least = found ? Infinity : 0;
    found?.steps.forEach(([at, free], index) => {
      const until = found.steps[index + 1]?.[0] ?? Infinity;
      if (at < to && until > from) {
        least = Math.min(least, free);
      }
    });
    return least === Infinity ? 0 : least;
  }

  /** Return how many hosts there are, and how many are free at a time. */
  total(time) {
    return this.classes.reduce((sum, each) => ({
      hosts: sum.hosts + each.hosts,
      free: sum.free + this.freeAt(each.key, time)}), {hosts: 0, free: 0});
  }

  /**
   * Return which share of all hosts is not free in a window, on average; null
   * where nothing of it is known.
   */
  utilisation(from, to) {
    let free = 0;
    let all = 0;
    for (const {hosts, steps} of this.classes) {
      steps.forEach(([at, count], index) => {
        const until = Math.min(to, steps[index + 1]?.[0] ?? to);
        const length = Math.max(0, until - Math.max(at, from));
        free += count * length;
        all += hosts * length;
      });
    }
    return all ? 1 - free / all : null;
  }

  /** Return how many hosts are free of a class or rack at a time. */
  freeAt(key, time) {
    return this.leastFree(key, time, time + 1);
  }
}

// NOTE: what stands between them is in the name of neither.
const BETWEEN = '\n';
const BY_NAME = new Intl.Collator(undefined, {numeric: true});

/** Return the key of a rack; an empty one is of hosts without a rack. */
function keyOfRack(name, rack) {
  return `${name}${BETWEEN}${rack}`;
}

/** Return the class, and the rack or null, of a key. */
function partsOf(key) {
  const [name, rack] = key.split(BETWEEN);
  return {name, rack: rack ?? null};
}

/** Return whether a key is another one, or that of a rack of it. */
export function isWithin(key, other) {
  return key === other || key.startsWith(`${other}${BETWEEN}`);
}

/** Take in a class or a rack. */
function group(each, origin) {
  return {
    hosts: each.hosts, conditions: each.conditions,
    steps: each.steps.map(([at, free]) => [origin + at, free])};
}

function query(wanted, more = {}) {
  return new URLSearchParams({
    from: write(wanted.from), to: write(wanted.to), ...more});
}

/**
 * Give each booking a lane: those of a shared host may overlap, each on the
 * first lane that is free.
 */
function withLanes(host) {
  const ends = [];
  for (const booking of host.bookings) {
    let lane = ends.findIndex((end) => end <= booking.start);
    if (lane === -1) {
      lane = ends.length;
    }
    ends[lane] = booking.end;
    booking.lane = lane;
  }
  host.lanes = Math.max(1, ends.length);
  return host;
}

/** Return a page of hosts that has not been asked for; count: its hosts. */
function newPage(marker) {
  return {marker, fresh: false, failed: null, etag: null, count: null};
}

/** The hosts of one open class or rack, page by page; or its racks. */
class Rows {
  constructor(fleet, key) {
    this.fleet = fleet;
    this.key = key;
    this.hosts = [];
    this.racks = [];
    this.pages = [newPage(null)];
    this.complete = false;
    this.loading = 0;
    this.first = 0;
    this.last = PAGE;
    this.generation = 0;
  }

  /** Why some of the hosts are not up to date, or null. */
  get failure() {
    return this.pages.find((page) => page.failed !== null)?.failed ?? null;
  }

  becomeStale() {
    this.generation += 1;
    for (const page of this.pages) {
      page.fresh = false;
      page.failed = null;
      if (page.wanted !== this.fleet.wanted) {
        page.etag = null;
      }
    }
    this.proceed();
  }

  askFailedAgain() {
    for (const page of this.pages.filter((each) => each.failed !== null)) {
      page.fresh = false;
      page.failed = null;
    }
    this.proceed();
  }

  want(first, last) {
    this.first = first;
    this.last = last;
    this.proceed();
  }

  proceed() {
    while (this.loading < PAGES_AT_ONCE) {
      const index = this.next();
      if (index === -1) {
        return;
      }
      this.load(index);
    }
  }

  /** Return the page to ask for next: one in view, else one that is new. */
  next() {
    const waits = (page) => !page.fresh && !page.loading;
    let start = 0;
    const inView = this.pages.findIndex((page) => {
      const first = start;
      start += page.count ?? Infinity;
      return first <= this.last && this.first < start && waits(page);
    });
    if (inView !== -1) {
      return inView;
    }
    const newest = this.pages.length - 1;
    return !this.complete && waits(this.pages[newest])
      && !this.pages[newest].etag ? newest : -1;
  }

  async load(index) {
    const page = this.pages[index];
    const {generation} = this;
    const {wanted} = this.fleet;
    page.loading = true;
    this.loading += 1;
    try {
      const {name, rack} = partsOf(this.key);
      const asked = query(wanted, {
        rows: 'true', resource_class: name,
        limit: this.racks.length ? 1 : PAGE,
        ...(rack === null ? {racks: 'true'} : {rack}),
        ...(page.marker ? {marker: page.marker} : {})});
      const answer = await get('calendar', asked, page.etag);
      page.fresh = generation === this.generation;
      if (answer.status !== 304 && this.pages[index] === page) {
        page.etag = answer.etag;
        page.wanted = wanted;
        this.take(index, answer.document.calendar);
        this.fleet.changed();
      }
    } catch (failure) {
      // NOTE: nobody misses what is not in the list any more.
      if (this.pages[index] !== page) {
        return;
      }
      if (failure.status === 404 && index > 0) {
        this.startAgain();
      } else {
        // NOTE: not at once, but as soon as the service has answered.
        page.fresh = true;
        page.failed = failure;
        this.fleet.changed();
      }
    } finally {
      page.loading = false;
      this.loading -= 1;
      this.proceed();
    }
  }

  take(index, document) {
    const origin = read(document.origin);
    if (index === 0 && this.takeRacks(document, origin)) {
      return;
    }
    const leases = document.leases.map((lease, at) => {
      const key = lease.id ?? `${this.key} ${index} ${at}`;
      return {...lease, key};
    });
    const hosts = document.hosts.map((host) => withLanes({
      ...host,
      bookings: host.bookings.map(([start, end, state, lease, amount]) => ({
        start: origin + start, end: origin + end, state,
        lease: lease < 0 ? null : leases[lease], amount})),
      windows: host.maintenances.map(([start, end, underWay, window]) => ({
        start: origin + start, end: origin + end, underWay: underWay === 1,
        purpose: document.maintenances[window] ?? null}))}));
    // NOTE: the service may send fewer at a time than are asked for.
    const start = this.pages.slice(0, index).reduce(
      (sum, page) => sum + page.count, 0);
    hosts.forEach((host, at) => {
      this.hosts[start + at] = host;
    });
    const more = (document.links ?? []).some((link) => link.rel === 'next');
    const marker = hosts.at(-1)?.id ?? null;
    const following = this.pages[index + 1];
    const moved = this.pages[index].count !== hosts.length;
    this.pages[index].count = hosts.length;
    if (!more) {
      this.pages.length = index + 1;
      this.hosts.length = start + hosts.length;
      this.complete = true;
    } else if (!following || following.marker !== marker || moved) {
      this.pages.length = index + 1;
      this.pages.push(newPage(marker));
      this.complete = false;
    }
  }

  /** Take in the racks of a class; returns whether there are any. */
  takeRacks(document, origin) {
    const {name} = partsOf(this.key);
    this.racks = (document.classes[0]?.racks ?? []).map((each) => ({
      ...group(each, origin), name, rack: each.rack ?? '',
      key: keyOfRack(name, each.rack ?? '')})).sort(
      (one, two) => !one.rack - !two.rack
        || BY_NAME.compare(one.rack, two.rack));
    if (this.racks.length) {
      // NOTE: each has hosts of its own, and only the racks are kept here.
      Object.assign(this, {hosts: [], complete: true, first: 0, last: 0});
      this.pages.length = 1;
    }
    return this.racks.length > 0;
  }

  startAgain() {
    this.pages = [newPage(null)];
    this.complete = false;
  }
}
