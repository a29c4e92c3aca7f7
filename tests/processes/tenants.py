#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.


"""Tenants: reservations, leases, deploys, and what they must not do."""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
from concurrent import futures
import datetime
import json
import threading
from typing import Any

from tests.processes import acting
from tests.processes import exchange
from tests.processes import mix as mixes

_RETRIES = 4
#: In how many seconds a lease ends whose holder does not wait for its end.
_SOON = 4
#: When, in seconds from now, leases start that nobody else is in the way of,
#: and how long they last.
_FAR_AHEAD = (3600.0, 3600.0 * 24 * 30)
_LASTS = 600
#: How many of these are asked for at once.
_AT_ONCE = 6
#: How long, in seconds, a lease lasts that may not start late.
_LONG = 60
#: For how many seconds the dates of a lease stay open, and how long before its
#: start they are fixed.
_OPEN = 1.5
_FIXED = 15
#: How long, in seconds, a lease lasts that others lend a node for, and for how
#: long one looks at it once its node is deployed.
_LENT = 30
_WATCHED = 8
#: How many nodes are asked for until one can be had.
_NODES_TRIED = 4
#: How long, in seconds, others are let line up behind one of them.
_OTHERS = (2.0, 5.0)

_Ahead = collections.deque[tuple[datetime.datetime, str]]


class Tenant:
    """One tenant, who does one thing after another until the storm is over.

    :param nodes: of Ironic, with their classes.
    :param taken: nodes that some tenant has had lately: where it is worth
        trying what must not be done.
    :param mix: how often what is done.
    :param owners: the projects that nodes belong to.
    :param booked: nodes that were booked for maintenance lately.
    :param ahead: nodes that leases of some tenants have far ahead, and from
        when on.
    """

    def __init__(self, asker: exchange.Asker, nodes: dict[str, str],
                 taken: collections.deque[str],
                 mix: mixes.Mix | None = None,
                 owners: Collection[str] = (),
                 booked: Collection[str] = (),
                 ahead: _Ahead | None = None) -> None:
        self._ahead: _Ahead = collections.deque() if ahead is None else ahead
        self._asker = asker
        self._owns = asker.person.project in owners
        self._taken = taken
        self._booked = booked
        self._nodes = nodes
        self._choice = asker.choice
        self._mix = mix or mixes.Mix()

    def run(self) -> None:
        """Live on until the storm is over."""
        lives = {'reserve': self._reserve, 'linger': self._linger,
                 'lease': self._lease, 'repeat': self._repeat,
                 'act': self._act, 'squat': self._squat,
                 'intrude': self._intrude, 'allocate': self._allocate,
                 'look_round': self._look_round, 'rush': self._rush,
                 'line_up': self._line_up}
        often = [self._mix.lives.get(name, 0) for name in lives]
        while self._asker.wait(*self._mix.leisure):
            live, = self._choice.choices(list(lives.values()), often)
            live()

    # Reservations

    def _reserve(self) -> None:
        body: dict[str, Any] = {'instance_uuid': self._asker.uuid(),
                                'ttl': self._choice.choice((4, 8, 15, 30))}
        key = None
        if self._choice.random() < self._mix.keyed:
            key = self._asker.uuid()
        else:
            body['uuid'] = self._asker.uuid()
        if self._choice.random() < 0.3:
            body['resource_class'] = self._choice.choice(
                sorted(set(self._nodes.values())))
        else:
            body['node_uuid'] = self._choice.sample(
                list(self._nodes),
                self._choice.randint(1, min(5, len(self._nodes))))
        given = self._insist('reserve', 'POST', '/v1/reservations', body,
                             'reservation', key)
        if given is None:
            return
        self._taken.append(given['node_uuid'])
        self._look_over(given['node_uuid'])
        path = f'/v1/reservations/{given["uuid"]}'
        for _ in range(self._choice.randint(0, 3)):
            if not self._asker.wait(*self._mix.between):
                break
            match self._choice.choice(('show', 'renew', 'again', 'list')):
                case 'show':
                    self._asker.ask('show', 'GET', path)
                case 'renew':
                    self._asker.ask('renew', 'PATCH', path, [
                        {'op': 'replace', 'path': '/ttl',
                         'value': self._choice.choice((2, 10, 25))}])
                case 'again':
                    self._asker.ask('reserve', 'POST', '/v1/reservations',
                                    body, key=key)
                case 'list':
                    self._asker.ask('list', 'GET', '/v1/reservations')
        if self._choice.random() < self._mix.used:
            self._use(given['node_uuid'], given['uuid'])
        if self._choice.random() < self._mix.acted_on:
            acting.Holder(self._asker, given['node_uuid'], given['uuid'],
                          self._owns, leased=False).act()
        if self._choice.random() < 0.7:
            self._insist_gone('release', path)

    def _linger(self) -> None:
        """Renew a reservation at the last moment, and look whether it is."""
        body = {'instance_uuid': self._asker.uuid(),
                'uuid': self._asker.uuid(), 'ttl': 3,
                'node_uuid': self._choice.sample(
                    list(self._nodes), min(3, len(self._nodes)))}
        given = self._insist('reserve', 'POST', '/v1/reservations', body,
                             'reservation')
        if given is None or given['expires_at'] is None:
            return
        path = f'/v1/reservations/{given["uuid"]}'
        if not self._wait_until(
                _read(given['expires_at']) - datetime.timedelta(
                    seconds=self._choice.uniform(0.05, 1.0))):
            return
        renewed = self._asker.ask('renew', 'PATCH', path, [
            {'op': 'replace', 'path': '/ttl', 'value': 15}])
        for _ in range(5):
            if renewed.status != 200 or not self._asker.wait(0.5, 2):
                break
            self._asker.ask('show', 'GET', path)

    # Leases

    def _lease(self) -> None:
        when, wanted = self._when(), self._wanted()
        if 'on_refusal' in when and self._taken and (
                self._choice.random() < self._mix.lined_up):
            wanted = _this(self._choice.choice(list(self._taken)))
        body = {'name': f'storm-{self._asker.uuid()[:8]}',
                **when, 'reservations': [wanted]}
        if self._choice.random() < 0.2:
            self._asker.ask('try', 'POST', '/v1/leases?dry_run=true', body)
        lease = self._insist('lease', 'POST', '/v1/leases', body, 'lease',
                             key=self._asker.uuid())
        if lease is None:
            return
        path = f'/v1/leases/{lease["id"]}'
        used = False
        for _ in range(self._choice.randint(5, 15)):
            if not self._asker.wait(0.5, 2):
                break
            shown = self._asker.ask('show-lease', 'GET', path)
            if shown.status != 200:
                continue
            lease = shown.document['lease']
            if lease['status'] not in ('PENDING', 'STARTING', 'ACTIVE'):
                return
            if not used and lease['status'] == 'ACTIVE':
                used = self._choice.random() < 0.7
                if used:
                    self._use_lease(lease)
            elif self._choice.random() < 0.3:
                self._change(path, lease)
        if self._choice.random() < self._mix.ended:
            self._insist_gone('end-lease', path)

    def _repeat(self) -> None:
        """Ask for a lease once more when it has been ended."""
        now = datetime.datetime.now(datetime.UTC)
        body = {'name': f'storm-{self._asker.uuid()[:8]}',
                'start_date': 'now', 'end_date': _date(
                    now + datetime.timedelta(seconds=40)),
                'reservations': [self._wanted()]}
        key = self._asker.uuid()
        lease = self._insist('lease', 'POST', '/v1/leases', body, 'lease',
                             key=key)
        if lease is None:
            return
        self._insist_gone('end-lease', f'/v1/leases/{lease["id"]}')
        for _ in range(_RETRIES):
            if not self._asker.wait(0.5, 2) or self._asker.ask(
                    'lease', 'POST', '/v1/leases', body,
                    key=key).status == 409:
                return

    def _rush(self) -> None:
        """Ask at once for more of a class than the project may have."""
        start = self._far_ahead()
        name = self._choice.choice(sorted(set(self._nodes.values())))
        wanted = [_of_class(name)] * _AT_ONCE
        if self._choice.random() < 0.7:
            # NOTE: those of one class often meet on one node, and plan again.
            wanted = [_this(node) for node in self._choice.sample(
                list(self._nodes), min(_AT_ONCE, len(self._nodes)))]
        asked = [(self._asker.uuid(), self._lasting(start, each))
                 for each in wanted]
        with futures.ThreadPoolExecutor(_AT_ONCE) as asking:
            leases = [each for each in asking.map(
                lambda each: self._insist('lease', 'POST', '/v1/leases',
                                          each[1], 'lease', each[0]), asked)
                if each]
        # NOTE: of its own project, and with that of all that counts.
        self._asker.ask('audit', 'GET', '/v1/leases?limit=1000')
        for lease in leases:
            self._insist_gone('end-lease', f'/v1/leases/{lease["id"]}')

    def _line_up(self) -> None:
        """Wait for a node that another lease has, far ahead, until its end.

        Half of the time it is that of another tenant, and half of those have
        as much as they may have by then.
        """
        theirs = self._had_by_another() if self._choice.random() < 0.5 else (
            None)
        if theirs is not None:
            self.follow(self.line_up(*theirs, self._choice.random() < 0.5))
            return
        had = self.have_ahead()
        if had is not None:
            path, start, node = had
            queued = self.line_up(start, node)
            self._ahead.append((start, node))
            self._asker.wait(*_OTHERS)
            self.end([path])
            self.follow(queued)

    def have_ahead(self) -> tuple[str, datetime.datetime, str] | None:
        """Lease a node far ahead.

        :returns: the path of the lease, its start and the node.
        """
        for node in self._choice.sample(list(self._nodes), _NODES_TRIED):
            start = self._far_ahead()
            lease = self._insist('lease', 'POST', '/v1/leases', self._lasting(
                start, _this(node)), 'lease', self._asker.uuid())
            if lease is not None:
                return f'/v1/leases/{lease["id"]}', start, node
        return None

    def have_open(self) -> tuple[str, datetime.datetime, str] | None:
        """Lease a node soon, on dates that stay open for some seconds more.

        :returns: the path of the lease, its start and the node.
        """
        for node in self._choice.sample(list(self._nodes), _NODES_TRIED):
            first = datetime.datetime.now(
                datetime.UTC) + datetime.timedelta(seconds=_OPEN + _FIXED)
            lease = self._insist('lease', 'POST', '/v1/leases', {
                'name': f'storm-{self._asker.uuid()[:8]}',
                'between': [_date(first), _date(
                    first + datetime.timedelta(seconds=3 * _LASTS))],
                'duration': _LONG, 'fix_before': _FIXED,
                'reservations': [_this(node)]}, 'lease', self._asker.uuid())
            if lease is not None and _read(lease['start_date']) == first:
                return f'/v1/leases/{lease["id"]}', first, node
        return None

    def watch(self, path: str, seconds: float) -> None:
        """Look at a lease again and again."""
        until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(
            seconds=seconds)
        while datetime.datetime.now(datetime.UTC) < until:
            self._asker.ask('show-lease', 'GET', path)
            self._asker.wait(0.5, 1)

    def deploy_at_release(
            self, release: Callable[[str], threading.Event]) -> None:
        """Deploy a node of a lease while it is about to be released unused.

        :param release: returns what is set when that is so of a node.
        """
        had = self._have_a_node(
            datetime.datetime.now(datetime.UTC) + datetime.timedelta(
                seconds=_LENT), _of_class(next(iter(self._mix.no_show))))
        if had is None:
            return
        path, reservation, node = had
        if release(node).wait(_LENT):
            self._use(node, reservation, undeploy=False)
            self.watch(path, _WATCHED)
        self.end([path])

    def line_up(self, start: datetime.datetime, node: str,
                full: bool = False) -> list[str]:
        """Ask for a node that another lease has then, to wait for its end.

        :param full: whether this one has as much as it may have by then.
        :returns: the paths of all leases that were made.
        """
        kind = self._nodes[node]
        others = [_of_class(kind)] * self._mix.of_class.get(kind, 0)
        return [f'/v1/leases/{lease["id"]}' for lease in (
            self._insist('lease', 'POST', '/v1/leases', self._lasting(
                start, wanted, **queue), 'lease', self._asker.uuid())
            for wanted, queue in (
                # NOTE: first, since nothing waits that may not start as asked.
                (_this(node), {'on_refusal': 'queue'}),
                *((each, {}) for each in (others if full else ()))))
            if lease is not None]

    def follow(self, paths: Sequence[str]) -> None:
        """Look whether leases are planned again, and end them."""
        for _ in range(_RETRIES if paths else 0):
            if not self._asker.wait(0.5, 2):
                break
            self._asker.ask('audit', 'GET', '/v1/leases?limit=1000')
        self.end(paths)

    def end(self, paths: Sequence[str]) -> None:
        """End leases."""
        for path in paths:
            self._insist_gone('end-lease', path)

    def _had_by_another(self) -> tuple[datetime.datetime, str] | None:
        try:
            return self._ahead.pop()
        except IndexError:
            return None

    def _far_ahead(self) -> datetime.datetime:
        """Return when a lease may start that no other is in the way of."""
        return datetime.datetime.now(datetime.UTC) + datetime.timedelta(
            seconds=self._choice.uniform(*_FAR_AHEAD))

    def _lasting(self, start: datetime.datetime, wanted: dict[str, Any],
                 seconds: int = _LASTS, **queue: str) -> dict[str, Any]:
        return {'name': f'storm-{self._asker.uuid()[:8]}',
                'start_date': _date(start), 'end_date': _date(
                    start + datetime.timedelta(seconds=seconds)),
                'reservations': [wanted], **queue}

    def _act(self) -> None:
        """Have a node, change whatever a holder can, and leave it so."""
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(
            seconds=self._choice.choice(self._mix.held_for))
        had = self._have_a_node(end)
        if had is None:
            return
        path, reservation, node = had
        if self._choice.random() < 0.2:
            self._use(node, reservation)
        holder = acting.Holder(self._asker, node, reservation, self._owns)
        holder.act()
        if self._choice.random() < self._mix.ended:
            self._insist_gone('end-lease', path)
            holder.act_once_more()
        else:
            soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(
                seconds=_SOON)
            if soon < end:
                self._asker.ask('change-lease', 'PUT', path, {
                    'end_date': _date(soon)})
            holder.act_until(min(soon, end))
        self._look_over(node)

    def change_a_node(self) -> None:
        """Have a node for a minute, and change it."""
        had = self._have_a_node(datetime.datetime.now(datetime.UTC)
                                + datetime.timedelta(minutes=1))
        if had is not None:
            _, reservation, node = had
            acting.Holder(self._asker, node, reservation, self._owns).act()

    def wait_for_a_node(self, within: float) -> bool:
        """Ask for two leases of one node, the second after the first.

        The second lasts for longer than it may be late; a node that another
        lease has for longer is passed over.

        :param within: in how many seconds the second starts at the latest.
        :returns: whether it has both.
        """
        for node in self._choice.sample(list(self._nodes), _NODES_TRIED):
            now = datetime.datetime.now(datetime.UTC)
            start = now + datetime.timedelta(seconds=_SOON)
            had = [lease for lease in (self._insist(
                'lease', 'POST', '/v1/leases', self._lasting(
                    start, _this(node), seconds, on_refusal='queue'), 'lease',
                self._asker.uuid()) for seconds in (2 * _SOON, _LONG))
                if lease is not None]
            if len(had) == 2 and had[1]['promised_start'] <= _date(
                    now + datetime.timedelta(seconds=within)):
                return True
            self.end([f'/v1/leases/{lease["id"]}' for lease in had])
        return False

    def _have_a_node(self, end: datetime.datetime,
                     wanted: dict[str, Any] | None = None
                     ) -> tuple[str, str, str] | None:
        """Lease a node, and wait for it.

        :param wanted: what node; by default any.
        :returns: the path of the lease, what proves it, and the node.
        """
        lease = self._insist('lease', 'POST', '/v1/leases', {
            'name': f'storm-{self._asker.uuid()[:8]}', 'start_date': 'now',
            'end_date': _date(end), 'reservations': [wanted or _host('')]},
            'lease', key=self._asker.uuid())
        if lease is None:
            return None
        path = f'/v1/leases/{lease["id"]}'
        while not _booked(lease):
            if not self._asker.wait(0.2, 1) or lease['status'] not in (
                    'PENDING', 'STARTING', 'ACTIVE') or (
                        datetime.datetime.now(datetime.UTC) > end):
                return None
            shown = self._asker.ask('show-lease', 'GET', path)
            if shown.status == 404:
                return None
            if shown.status == 200:
                lease = shown.document['lease']
        reservation, node = _booked(lease)[0]
        self._taken.append(node)
        return path, reservation, node

    def _when(self) -> dict[str, Any]:
        """Return the dates of a lease, or what is left open of them."""
        now = datetime.datetime.now(datetime.UTC)
        length = self._choice.choice(self._mix.lengths)
        if self._choice.random() < self._mix.open_dates:
            first = now + datetime.timedelta(
                seconds=self._choice.choice((1, 5, 10)))
            last = first + datetime.timedelta(
                seconds=length + self._choice.choice((10, 30, 60)))
            return {'between': [_date(first), _date(last)],
                    'duration': length,
                    'fix_before': self._choice.choice(self._mix.fix_before)}
        start = now + datetime.timedelta(
            seconds=self._choice.choice(self._mix.starts))
        queue = ({'on_refusal': 'queue'}
                 if self._choice.random() < self._mix.queued else {})
        return {'start_date': 'now' if start <= now else _date(start),
                'end_date': _date(start + datetime.timedelta(
                    seconds=length)), **queue}

    def _wanted(self) -> dict[str, Any]:
        if self._choice.random() < self._mix.instances:
            return {'resource_type': 'virtual:instance',
                    'vcpus': self._choice.choice(self._mix.sizes),
                    'memory_mb': self._choice.choice((1024, 8192)),
                    'disk_gb': 10, 'amount': self._choice.choice((1, 2)),
                    'affinity': 'None', 'resource_properties': ''}
        least = self._choice.choice((1, 1, 1, 2))
        return {'resource_type': 'physical:host', 'min': least,
                'max': least + self._choice.choice((0, 0, 1)),
                'hypervisor_properties': '',
                'resource_properties': self._choice.choice(
                    ('', '["==", "$resource_class", "gold"]',
                     '["==", "$resource_class", "silver"]',
                     *self._ours() * 2))}

    def _ours(self) -> tuple[str, ...]:
        """Return what to ask for to have nodes that are the tenant's own."""
        return ((json.dumps(['==', '$owner', self._asker.person.project]),)
                if self._owns else ())

    def _change(self, path: str, lease: dict[str, Any]) -> None:
        end = _read(lease['end_date'])
        ways = ['extend', 'extend', 'shorten', 'back']
        if lease['status'] == 'PENDING':
            ways += ['move', 'move']
            if self._choice.random() < self._mix.reopened:
                ways = ['open']
        match self._choice.choice(ways):
            case 'move':
                start = datetime.datetime.now(
                    datetime.UTC) + datetime.timedelta(
                        seconds=self._choice.choice((1, 3, 8)))
                body: dict[str, Any] = {
                    'start_date': _date(start), 'end_date': _date(
                        max(end, start + datetime.timedelta(seconds=10)))}
            case 'open':
                body = self._reopened(lease)
            case 'extend':
                body = {'end_date': _date(
                    end + datetime.timedelta(seconds=15))}
            case 'shorten':
                body = {'end_date': _date(end - datetime.timedelta(
                    seconds=self._choice.choice((3, 6))))}
            case _:
                booked = _booked(lease)
                if len(booked) < 2:
                    return
                reservation, node = self._choice.choice(booked)
                body = {'reservations': [{'id': reservation,
                                          'give_back': [node]}]}
        if self._choice.random() < 0.3:
            self._asker.ask('try-change', 'PUT', path + '?dry_run=true', body)
        self._asker.ask('change-lease', 'PUT', path, body)

    def _reopened(self, lease: dict[str, Any]) -> dict[str, Any]:
        """Return what is to be open of the dates of a lease.

        What is not sent stays, which only open dates can.
        """
        length = self._choice.choice(self._mix.lengths)
        first = datetime.datetime.now(datetime.UTC) + datetime.timedelta(
            seconds=self._choice.choice((0, 2, 6)))
        last = first + datetime.timedelta(
            seconds=length + self._choice.choice((5, 20, 60)))
        body = {'between': [_date(first), _date(last)], 'duration': length,
                'fix_before': self._choice.choice(self._mix.fix_before)}
        needed = [] if lease.get('between') else ['between']
        chosen = self._choice.sample(sorted(body), self._choice.randint(1, 3))
        return {name: body[name] for name in sorted({*needed, *chosen})}

    def _use_lease(self, lease: dict[str, Any]) -> None:
        for reservation, node in _booked(lease)[:1]:
            self._taken.append(node)
            self._look_over(node)
            after = self._mix.no_show.get(self._nodes.get(node, ''))
            if after is not None and self._choice.random() < 0.5 and (
                    not self._wait_until(_read(lease['start_date'])
                                         + datetime.timedelta(
                        seconds=after - self._choice.uniform(-1.0, 1.5)))):
                return
            self._use(node, reservation, undeploy=self._choice.random() < 0.5)

    # What is done to nodes

    def _look_over(self, node: str) -> None:
        """Look what a node is like, whoever had it before."""
        self._asker.ask('look-over', 'GET', f'/v1/nodes/{node}')

    def _use(self, node: str, proof: str, undeploy: bool = True) -> None:
        deployed = self._asker.ask(
            'deploy', 'PUT', f'/v1/nodes/{node}/states/provision',
            {'target': 'active'}, proof=proof)
        if deployed.status == 202 and undeploy:
            self._undeploy(node)

    def _squat(self) -> None:
        """Take a node without any reservation, free or in maintenance."""
        node = self._choice.choice(self._choice.choice((
            list(self._nodes), *(list(each) for each in (
                self._taken, self._booked) if each))))
        deployed = self._asker.ask(
            'deploy', 'PUT', f'/v1/nodes/{node}/states/provision',
            {'target': 'active'})
        if not (deployed.status is not None and 400 <= deployed.status < 500):
            self._undeploy(node, deployed.status == 202)

    def _undeploy(self, node: str, sure: bool = True) -> None:
        if not sure:
            # NOTE: it might be anybody's; the end of the storm clears it.
            return
        for _ in range(self._choice.randint(2, 6)):
            if not self._asker.wait(0.5, 2):
                return
            seen = self._asker.ask(
                'look', 'GET', f'/v1/nodes/{node}?fields=provision_state')
            if seen.status == 200 and seen.document['provision_state'] in (
                    'active', 'deploy failed'):
                self._asker.ask(
                    'undeploy', 'PUT', f'/v1/nodes/{node}/states/provision',
                    {'target': 'deleted'})
                return

    def _intrude(self) -> None:
        """Do what is another's to do, or to be let."""
        node = self._choice.choice(list(self._taken) or list(self._nodes))
        path = f'/v1/nodes/{node}/states/provision'
        match self._choice.choice(('wrong', 'wrong', 'none', 'bind',
                                   'meddle', 'switch')):
            case 'wrong':
                self._asker.ask('deploy', 'PUT', path, {'target': 'active'},
                                proof=self._asker.uuid())
            case 'none':
                self._asker.ask('rebuild', 'PUT', path, {'target': 'rebuild'})
            case 'switch':
                self._asker.ask('switch', 'PUT',
                                f'/v1/nodes/{node}/states/power',
                                {'target': 'power off'})
            case 'meddle':
                path = f'/v1/nodes/{node}/maintenance'
                if self._asker.ask('meddle', 'PUT', path).status == 202:
                    self._asker.wait(0.5, 2)
                    self._insist_gone('meddle', path)
            case 'bind':
                instance = self._asker.uuid()
                bound = self._asker.ask(
                    'bind', 'PATCH', f'/v1/nodes/{node}',
                    [{'op': 'replace', 'path': '/instance_uuid',
                      'value': instance}])
                if bound.status == 200:
                    self._asker.wait(0.5, 2)
                    self._asker.ask(
                        'unbind', 'PATCH', f'/v1/nodes/{node}',
                        [{'op': 'remove', 'path': '/instance_uuid'}])

    def _allocate(self) -> None:
        ident = self._asker.uuid()
        made = self._asker.ask('allocate', 'POST', '/v1/allocations', {
            'uuid': ident, 'resource_class': self._choice.choice(
                sorted(set(self._nodes.values())))})
        self._asker.wait(0.5, 3)
        if made.status != 403:
            self._asker.ask('show-allocation', 'GET',
                            f'/v1/allocations/{ident}')
            self._insist_gone('deallocate', f'/v1/allocations/{ident}')

    def _look_round(self) -> None:
        self._asker.ask('list-leases', 'GET', '/v1/leases?limit=100')
        self._asker.ask('nodes', 'GET',
                        '/v1/nodes?provision_state=available&limit=5')

    # How often, and when

    def _wait_until(self, when: datetime.datetime) -> bool:
        """Wait until a moment; return whether the storm goes on."""
        left = max((when - datetime.datetime.now(datetime.UTC)
                    ).total_seconds(), 0.0)
        return self._asker.wait(left, left)

    def _insist(self, op: str, method: str, path: str, body: Any, name: str,
                key: str | None = None) -> dict[str, Any] | None:
        """Ask again while nobody knows, with the same uuid or key."""
        for _ in range(_RETRIES):
            reply = self._asker.ask(op, method, path, body, key=key)
            if reply.status == 201:
                return dict(reply.document[name])
            if not reply.unknown or not self._asker.wait(0.2, 2):
                break
            if reply.status == 503 and op == 'reserve' and 'uuid' in body:
                # NOTE: was it true that nothing was promised?
                self._asker.ask('probe', 'GET', f'{path}/{body["uuid"]}')
        return None

    def _insist_gone(self, op: str, path: str) -> None:
        for _ in range(_RETRIES):
            reply = self._asker.ask(op, 'DELETE', path)
            if not reply.unknown or not self._asker.wait(0.2, 2):
                return


def _booked(lease: dict[str, Any]) -> Sequence[tuple[str, str]]:
    return [(reservation['id'], node['uuid'])
            for reservation in lease['reservations']
            for node in reservation['nodes'] if node['state'] == 'bound']


def _host(properties: str) -> dict[str, Any]:
    return {'resource_type': 'physical:host', 'min': 1, 'max': 1,
            'hypervisor_properties': '', 'resource_properties': properties}


def _of_class(name: str) -> dict[str, Any]:
    return _host(json.dumps(['==', '$resource_class', name]))


def _this(node: str) -> dict[str, Any]:
    return _host(json.dumps(['==', '$node_uuid', node]))


def _date(when: datetime.datetime) -> str:
    return when.strftime('%Y-%m-%dT%H:%M:%S.%f')


def _read(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(
        tzinfo=datetime.UTC)
