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
 * A lease's own page: plan, events, hosts with their state, the proof, the
 * commands to use it, its history, and all that can be done to it.
 */

import {field, planText} from './booking_form.js';
import {copyable} from './copyable.js';
import {DryRun, refused} from './dry_run.js';
import {element, fill} from './elements.js';
import {historySection, readHistory} from './lease_history.js';
import {roomText} from './moves_text.js';
import {notice} from './notice.js';
import {closePanel, openPanel} from './panel.js';
import {asksForClassAlone, classOf} from './properties.js';
import {ask} from './question.js';
import {blockerList, blockersOf, count, sentence} from './refusal_text.js';
import {get, send} from './requests.js';
import {duration, read, timeElement} from './times.js';
import {TimesForm} from './times_form.js';
import {changeOnce} from './write_once.js';

const EVENTS = {
  start_lease: 'start', before_end_lease: 'end is near', end_lease: 'end'};
const DONE = {UNDONE: 'to come', IN_PROGRESS: 'in progress', DONE: 'done',
              ERROR: 'failed'};
/** So many fit into the address of a request. */
const NODES_AT_ONCE = 40;
/** What becomes of the lease itself, which differs between the two. */
const KEEPS = 'The lease stays in the lists for some days, as ended.';
const FORGETS = 'The lease is removed from the lists, too.';
const OVER = ['TERMINATED', 'DELETING', 'ERROR'];

/** The page of one lease, in the panel. */
export class LeasePage {
  /** @param {object} page the fleet, the board, changed(), jumpTo() and written() */
  constructor(page) {
    this.page = page;
    this.ident = null;
    this.shownSummary = null;
    this.lockStart = null;
    this.tryAgain = null;
    this.editing = false;
    this.opened = null;
    this.stale = false;
  }

  /** Show a lease by its id. */
  async open(ident) {
    this.content = element('div.lease', {'aria-busy': 'true'},
                           element('p.note', {}, 'Loading …'));
    this.show('Lease', ident);
    await this.load(ident);
  }

  /** Show a lease by its id, and on the timeline when it is. */
  async openAndJump(ident) {
    await this.open(ident);
    if (ident === this.ident && this.lease?.id === ident) {
      this.page.jumpTo(this.page.board.over.shown);
    }
  }

  show(title, ident) {
    openPanel(title, this.content, {closed: () => this.closed()});
    this.ident = ident;
    this.page.board.light(ident);
    this.page.changed({kind: 'lease', lease: ident});
  }

  /**
   * Read the lease and show it.
   *
   * @param {boolean} whole whether all of it is shown anew, or no more than
   *     where it stands: whoever types keeps what is there
   */
  async load(ident, whole = true) {
    let lease;
    let hosts;
    let history;
    try {
      const answer = await get(`leases/${encodeURIComponent(ident)}`);
      ({lease} = answer.document);
      [hosts, history] = await Promise.all(
        [this.hostsOf(lease), readHistory(ident)]);
    } catch (failure) {
      if (ident === this.ident && whole) {
        fill(this.content,
             element('p.failed', {}, sentence(failure.message)));
        this.content.removeAttribute('aria-busy');
      }
      return;
    }
    if (ident !== this.ident) {
      return;
    }
    this.lease = lease;
    this.hosts = hosts;
    this.history = history;
    // NOTE: somebody may have begun to type while this was read.
    this.stale = !whole || this.editing;
    if (!this.stale) {
      this.fill();
    } else {
      this.showSummary();
    }
  }

  /** Whether somebody types into it, or goes through it. */
  get isInUse() {
    return this.editing || this.content.contains(document.activeElement);
  }

  /** Take in that something has changed on the timeline. */
  async refresh() {
    if (this.ident !== null) {
      await this.load(this.ident, !this.isInUse);
    }
  }

  /** Take in that time has passed. */
  async tick() {
    if (this.ident === null || !this.shownSummary) {
      return;
    }
    if (this.stale && !this.isInUse) {
      await this.load(this.ident);
    } else {
      this.showSummary();
    }
  }

  /** Show where the lease stands now. */
  showSummary() {
    const summary = this.summary();
    if (summary.textContent !== this.shownSummary.textContent) {
      this.shownSummary.replaceWith(summary);
      this.shownSummary = summary;
    }
    if (this.start <= this.page.fleet.now()) {
      this.lockStart?.();
    }
  }

  /** Return what is known of the hosts of a lease, by their ids. */
  async hostsOf(lease) {
    const nodes = lease.reservations.flatMap(
      (each) => each.nodes.map((node) => node.uuid));
    const hosts = new Map();
    for (let at = 0; at < nodes.length; at += NODES_AT_ONCE) {
      const asked = new URLSearchParams({
        from: lease.start_date, to: lease.end_date, rows: 'true'});
      for (const uuid of nodes.slice(at, at + NODES_AT_ONCE)) {
        asked.append('node', uuid);
      }
      const answer = await get('calendar', asked);
      for (const host of answer.document.calendar.hosts) {
        hosts.set(host.node_uuid, host);
      }
    }
    return hosts;
  }

  fill() {
    const {lease} = this;
    this.page.board.over.shown = {
      start: this.start, end: this.end, label: lease.name,
      classes: this.classes()};
    this.page.board.later();
    this.content.removeAttribute('aria-busy');
    const heading = document.getElementById('panel-title');
    heading.textContent = lease.name;
    fill(
      this.content,
      this.shownSummary = this.summary(),
      element('button.link', {
        type: 'button',
        onclick: () => this.page.jumpTo(this.page.board.over.shown)},
      'Show on the timeline'),
      this.actions(),
      this.editor = element('div.editor'),
      ...lease.reservations.map((each) => this.reservation(each)),
      this.events(),
      this.commands(),
      historySection(this.history, this.hosts),
      this.about());
  }

  /** Return the classes of its hosts; while it has none, what it asks for. */
  classes() {
    return new Set(this.hosts.size
      ? [...this.hosts.values()].map((host) => host.resource_class ?? '')
      : [classOf(this.lease) ?? '']);
  }

  get start() {
    return read(this.lease.start_date);
  }

  get end() {
    return read(this.lease.end_date);
  }

  get isOver() {
    return OVER.includes(this.lease.status);
  }

  summary() {
    const {lease} = this;
    const now = this.page.fleet.now();
    let when = `ended ${duration(now - this.end)} ago`;
    if (this.start > now) {
      when = `starts in ${duration(this.start - now)}`;
    } else if (this.end > now) {
      when = `ends in ${duration(this.end - now)}`;
    }
    return element(
      'div.summary', {},
      element('p', {},
              element(`span.status.${lease.status.toLowerCase()}`, {},
                      lease.status.toLowerCase()),
              ' ', when),
      element('p', {}, timeElement(this.start), ' – ', timeElement(this.end),
              ` (${duration(this.end - this.start)})`),
      lease.degraded && element(
        'p.failed', {}, 'Degraded: ',
        sentence(String(
          lease.degraded_reason?.detail ?? lease.degraded_reason
          ?? 'not all of its hosts can be used.'))),
      this.openDates(now),
      lease.waiting && element('p.waiting', {}, 'Waits: ',
                               sentence(String(lease.waiting))));
  }

  /** Say how its dates may still change by themselves. */
  openDates(now) {
    const {queued, between, fixed, fix_before: before} = this.lease;
    if (this.isOver || this.start <= now) {
      return null;
    }
    if (queued) {
      return element('p.waiting', {}, 'Queued: it starts earlier if hosts '
                     + 'become free.');
    }
    if (!between || fixed) {
      return null;
    }
    const [earliest, latest] = between.map(read);
    return element(
      'p.waiting', {}, 'Its dates are open: it may move between ',
      timeElement(earliest), ' and ', timeElement(latest),
      before ? `, until ${duration(before)} before its start.` : '.');
  }

  actions() {
    if (this.isOver) {
      return null;
    }
    const started = this.start <= this.page.fleet.now();
    return element(
      'div.buttons.actions', {},
      element('button', {type: 'button', onclick: () => this.editTimes()},
              'Change times'),
      element('button', {type: 'button', onclick: () => this.editName()},
              'Rename'),
      started && element(
        'button', {type: 'button', title: KEEPS, onclick: () => this.endNow()},
        'End now'),
      this.lease.degraded && element(
        'button', {type: 'button',
                   onclick: () => this.write({heal: true},
                                             'Broken hosts are replaced.')},
        'Replace broken hosts'),
      element('button.danger', {type: 'button', title: FORGETS,
                                onclick: () => this.remove()}, 'Delete'));
  }

  editName() {
    const input = element('input', {
      id: 'lease-name', type: 'text', maxlength: 80, required: true,
      value: this.lease.name, autocomplete: 'off'});
    this.edit(element(
      'form', {onsubmit: (event) => {
        event.preventDefault();
        this.write({name: input.value.trim()}, 'Renamed.');
      }},
      field('lease-name', 'Name', input), this.editButtons('Rename')));
    input.focus();
    input.select();
  }

  editTimes() {
    const form = new TimesForm(this.lease, this.page.fleet.now());
    const verdict = element('div.verdict', {role: 'status'});
    const buttons = this.editButtons('Change');
    const submit = buttons.lastChild;
    const dryRun = new DryRun((found) => {
      showChange(this, verdict, submit, found);
      if (found?.granted && form.isOpen) {
        verdict.append(planText(found.lease));
      }
    });
    const tryIt = () => {
      submit.disabled = true;
      const wrong = form.mistake();
      if (wrong || !Object.keys(form.change()).length) {
        dryRun.cancel();
        verdict.className = 'verdict';
        fill(verdict, wrong && element('p', {}, wrong));
      } else {
        dryRun.ask({method: 'PUT', path: `leases/${this.lease.id}`,
                    body: form.change()});
      }
    };
    submit.disabled = true;
    this.tryAgain = tryIt;
    this.lockStart = () => {
      if (form.lock()) {
        tryIt();
      }
    };
    this.edit(element(
      'form', {
        novalidate: true,
        oninput: (event) => {
          form.typed(event.target);
          tryIt();
        },
        onsubmit: (event) => {
          event.preventDefault();
          if (!submit.disabled) {
            this.write(form.change(), 'Changed.');
          }
        }},
      ...form.parts, verdict, buttons));
    form.first.focus();
  }

  edit(form) {
    this.editing = true;
    this.opened = document.activeElement.textContent;
    fill(this.editor, form);
  }

  /** Close what changes the lease; returns whether it was open. */
  leaveEditor() {
    if (this.ident === null || !this.editing) {
      return false;
    }
    const {ident, opened} = this;
    this.editing = false;
    fill(this.editor);
    this.focusAction(opened);
    if (this.stale) {
      // NOTE: what others have changed meanwhile was held back.
      this.load(ident).then(
        () => ident === this.ident && this.focusAction(opened));
    }
    return true;
  }

  /** Give the focus to a button by its words, or else to the heading. */
  focusAction(words) {
    const buttons = [...this.content.querySelectorAll('.actions button')];
    (buttons.find((each) => each.textContent === words)
      ?? document.getElementById('panel-title')).focus({preventScroll: true});
  }

  /** Ask again for what could not be learnt before. */
  askAgain() {
    this.tryAgain?.();
    this.refresh();
  }

  editButtons(yes) {
    return element(
      'div.buttons', {},
      element('button', {type: 'button', onclick: () => this.leaveEditor()},
              'Cancel'),
      element('button.primary', {type: 'submit'}, yes));
  }

  async giveBack(reservation, node, name) {
    if (await ask(`Give ${name} back? What runs on it is lost.`,
                  'Give back')) {
      await this.write({reservations: [
        {id: reservation.id, give_back: [node.uuid]}]},
      `${name} is given back.`);
    }
  }

  async endNow() {
    if (await ask(`End “${this.lease.name}” now? Its hosts are taken back, `
                  + `and what runs on them is lost. ${KEEPS}`, 'End now')) {
      await this.write({end_date: 'now'}, 'The lease ends now.');
    }
  }

  async remove() {
    const started = this.start <= this.page.fleet.now();
    const more = started
      ? 'Its hosts are taken back, and what runs on them is lost.'
      : 'Others can have its hosts at once.';
    if (!await ask(`Delete “${this.lease.name}”? ${more} ${FORGETS}`,
                   'Delete')) {
      return;
    }
    try {
      await send('DELETE', `leases/${this.lease.id}`);
    } catch (failure) {
      notice(sentence(failure.message), true);
      return;
    }
    notice(`Deleted: ${this.lease.name}.`);
    closePanel();
    this.page.written();
  }

  async write(body, done) {
    try {
      await changeOnce(this.lease.id, body);
    } catch (failure) {
      this.editing = true;
      const verdict = this.editor.querySelector('.verdict')
        ?? this.editor.appendChild(element('div.verdict'));
      showChange(this, verdict, null, refused(failure));
      return;
    }
    this.editing = false;
    notice(done);
    this.page.written();
    await this.load(this.lease.id);
  }

  reservation(each) {
    const proof = element('div');
    return element(
      'section', {},
      element('h3', {}, wantedOf(each)),
      conditionsOf(each).map((text) => element(
        'p.condition-text', {}, 'with ', element('code', {}, text))),
      element(
        'table', {},
        element('thead', {}, element(
          'tr', {}, ...['Host', 'Promise', 'State'].map(
            (title) => element('th', {scope: 'col'}, title)))),
        element('tbody', {}, ...each.nodes.map(
          (node) => this.host(each, node)))),
      element(
        'details', {ontoggle: (event) => fill(
          proof, event.target.open && copyable(each.id, 'proof'))},
        element('summary', {}, 'Show the proof'),
        element('p.note', {}, 'It opens the hosts of this lease for a deploy:'
                + ' treat it as a password.'),
        proof));
  }

  host(reservation, node) {
    const known = this.hosts.get(node.uuid);
    const name = known?.name ?? node.uuid;
    const canGiveBack = this.lease.status === 'ACTIVE'
      && reservation.nodes.length > 1 && !reservation.amount;
    return element(
      'tr', {},
      element('td', {title: node.uuid}, element('span', {}, name),
              canGiveBack && element(
        'button.link', {
          type: 'button', 'aria-label': `Give back ${name}`,
          onclick: () => this.giveBack(reservation, node, name)},
        'give back')),
      element('td', {}, node.state, ...(node.lent_until ? [
        ', lent until ', timeElement(read(node.lent_until))] : [])),
      element('td', {}, known?.provision_state ?? '–',
              known?.maintenance ? ', maintenance' : ''));
  }

  events() {
    return element(
      'section', {},
      element('h3', {}, 'Events'),
      element(
        'table', {},
        element('thead', {}, element(
          'tr', {}, ...['Event', 'Time', 'Status'].map(
            (title) => element('th', {scope: 'col'}, title)))),
        element('tbody', {}, ...this.lease.events.map((event) => element(
          'tr', {},
          element('td', {}, EVENTS[event.event_type] ?? event.event_type),
          element('td', {}, timeElement(read(event.time))),
          element('td', {}, DONE[event.status] ?? event.status))))));
  }

  commands() {
    if (this.isOver) {
      return null;
    }
    return element(
      'section', {},
      element('h3', {}, 'Use it'),
      ...commandsFor(this.lease, this.hosts).map(([title, text]) => element(
        'div.command', {}, element('p.note', {}, title),
        copyable(text, title))));
  }

  about() {
    const {lease} = this;
    const written = (text) => (text ? timeElement(read(text)) : '–');
    return element(
      'section', {},
      element('h3', {}, 'About'),
      element(
        'dl', {},
        element('dt', {}, 'Created'), element('dd', {},
                                              written(lease.created_at)),
        element('dt', {}, 'Changed'), element('dd', {},
                                              written(lease.updated_at)),
        element('dt', {}, 'Project'), element('dd', {},
                                              lease.project_id ?? '–'),
        element('dt', {}, 'User'), element('dd', {}, lease.user_id ?? '–'),
        element('dt', {}, 'Id'), element('dd', {},
                                            element('code', {}, lease.id))));
  }

  closed() {
    this.ident = null;
    this.editing = false;
    this.shownSummary = null;
    this.lockStart = null;
    this.tryAgain = null;
    this.page.board.over.shown = null;
    this.page.board.light(null);
    this.page.changed(null);
  }
}

/**
 * Return the commands that use a lease, with a title each.
 *
 * @param {object} lease
 * @param {Map} hosts what is known of its hosts, by the ids of their nodes
 */
export function commandsFor(lease, hosts) {
  const all = lease.reservations;
  return [
    ['Wait until it has started, and show its plan',
     `baremetal reservation lease plan ${lease.id} --wait 120`],
    ...deployOf(lease, hosts),
    ...all.flatMap((each, index) => bootOf(
      lease, index,
      all.length > 1 ? `, reservation ${index + 1} (${wantedOf(each)})` : '')),
    ['Extend it',
     `baremetal reservation lease set ${lease.id} --extend 2h`]];
}

/** Return the command that deploys the hosts of a lease, if any can be. */
function deployOf(lease, hosts) {
  const all = lease.reservations.flatMap((each) => each.nodes);
  // NOTE: compute hosts are Nova's; what is not known yet is a node of Ironic.
  const nodes = all.filter(
    ({uuid}) => hosts.get(uuid)?.kind !== 'compute host');
  if (all.length && !nodes.length) {
    return [];
  }
  const which = nodes.length === all.length ? '--all'
    : nodes.map(({uuid}) => `--node ${uuid}`).join(' ');
  return [['Deploy its hosts',
           `baremetal reservation deploy ${lease.id} ${which} --wait 1800`]];
}

/** Return the commands that boot servers on a reservation of instances. */
function bootOf(lease, index, which) {
  if (!lease.reservations[index].amount) {
    return [];
  }
  return [
    [`Put its proof into a variable${which}`,
     `proof=$(baremetal reservation lease plan ${lease.id} -f json |\n`
     + "    python3 -c 'import json, sys; print(json.load(sys.stdin)"
     + `["reservations"][${index}]["id"])')`],
    [`Boot a server in Nova, with its private flavor${which}`,
     'openstack server create --flavor "$proof" --image IMAGE '
     + '--network NETWORK NAME']];
}

/** Return what a reservation asks for: "2 hosts of gold". */
function wantedOf(reservation) {
  const {amount, min, max} = reservation;
  const of = classOf({reservations: [reservation]});
  return (amount ? count(amount, 'instance')
    : `${min === max ? min : `${min}–${max}`} ${max === 1 ? 'host' : 'hosts'}`)
    + (of ? ` of ${of}` : '');
}

/** Return the conditions on hosts that ask for more than their class. */
function conditionsOf(reservation) {
  return [reservation.hypervisor_properties, reservation.resource_properties]
    .filter((text) => text && text !== '[]' && !asksForClassAlone(text));
}

function showChange(view, place, submit, verdict) {
  if (verdict === null) {
    place.setAttribute('aria-busy', 'true');
    return;
  }
  place.removeAttribute('aria-busy');
  place.className = `verdict ${verdict.granted ? 'yes' : 'no'}`;
  if (submit) {
    submit.disabled = !verdict.granted;
  }
  if (verdict.granted) {
    const room = roomText(verdict.moves);
    fill(place, element('p', {}, `Possible: ${
      movesText(view.lease, verdict.lease, view.hosts)}.`),
         room && element('p.room', {}, room));
  } else {
    const blockers = blockersOf(verdict);
    fill(place, element('p', {}, sentence(verdict.sentence)),
         blockerList(blockers));
  }
}

/** Return what a change moves, from the plans before and afterwards. */
export function movesText(before, after, hosts = new Map()) {
  const nodes = (lease) => lease.reservations.flatMap(
    (each) => each.nodes.map((node) => node.uuid));
  const had = new Set(nodes(before));
  const added = nodes(after).filter((uuid) => !had.has(uuid));
  if (!added.length) {
    return 'it keeps its hosts';
  }
  const named = added.slice(0, 4).map(
    (uuid) => hosts.get(uuid)?.name ?? uuid.slice(0, 8));
  const more = added.length > named.length
    ? ` and ${added.length - named.length} more` : '';
  return `it moves to ${named.join(', ')}${more}`;
}
