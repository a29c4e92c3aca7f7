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


"""Operators: maintenance, classes, nodes that go and come, hosts."""

from __future__ import annotations

import collections
from collections.abc import Iterable
import datetime
import threading
import time
from typing import Any

from tests.processes import enrolled
from tests.processes import exchange
from tests.processes import mix as mixes
from tests.processes.checker import handed
from tests.processes.checker import quiet

_RETRIES = 20
#: How often a node is tried whose window begins.
_AT_START = 3
#: For how long a node is deployed before an operator looks after it.
_LONG = datetime.timedelta(seconds=20)
#: The way back of a node whose cleaning has failed. A conductor that dies in
#: the middle of it leaves such a node, and Ironic has operators look after it.
_WAY_BACK = {'clean failed': 'manage', 'manageable': 'provide'}


class Operator:
    """Does one thing after another, and takes each back in the end.

    :param nodes: of Ironic, with their classes.
    :param owners: the projects that some of them belong to.
    :param mix: how often what is done.
    :param taken: nodes that some tenant has had lately.
    :param booked: nodes that are booked for maintenance: where it is worth
        trying what must not be done.
    """

    def __init__(self, asker: exchange.Asker, nodes: dict[str, str],
                 owners: dict[str, str],
                 mix: mixes.Mix,
                 taken: collections.deque[str],
                 booked: collections.deque[str]) -> None:
        self._asker = asker
        self._taken = taken
        self._booked = booked
        self._nodes = nodes
        self._owners = owners
        self._mix = mix
        self._pause = threading.Event()

    def run(self) -> None:
        """Work until the storm is over."""
        acts = {'maintain': self._maintain, 'recreate': self._recreate,
                'reclass': self._reclass, 'close': self._close,
                'tidy': self._tidy, 'reown': self._reown, 'book': self._book,
                'look_after': self._look_after}
        often = [self._mix.acts.get(name, 0) for name in acts]
        while self._asker.wait(*self._mix.rounds):
            if any(often):
                act, = self._asker.choice.choices(list(acts.values()), often)
                act(self._asker.choice.choice(list(self._nodes)))
            # NOTE: for the checker, who looks whether all of it fits.
            self._asker.ask('audit', 'GET', '/v1/leases?limit=1000')
            self._asker.ask('windows', 'GET', '/v1/maintenances')
            take_stock(self._asker)

    def _taken_one(self, node: str) -> str:
        """Return a node that somebody has had lately, half of the time."""
        choice = self._asker.choice
        return choice.choice([node, choice.choice([*self._taken, node])])

    def _maintain(self, node: str) -> None:
        node = self._taken_one(node)
        path = f'/v1/nodes/{node}/maintenance'
        self._asker.ask('operate-maintenance', 'PUT', path,
                        {'reason': 'storm'})
        # NOTE: half of them for so long that windows begin meanwhile.
        self._asker.wait(*self._asker.choice.choice(((0.5, 4), (8, 14))))
        self._insist('operate-maintenance', 'DELETE', path)

    def _book(self, node: str) -> None:
        """Book nodes for maintenance; most windows end by themselves."""
        choice = self._asker.choice
        start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(
            seconds=choice.choice((0, 0, 2, 6)))
        end = start + datetime.timedelta(seconds=choice.choice((8, 15, 25)))
        nodes = {node, choice.choice(list(self._nodes))}
        body = {'name': f'storm-{self._asker.uuid()[:8]}',
                'starts_at': start.isoformat(), 'ends_at': end.isoformat(),
                'nodes': sorted(nodes),
                **choice.choice(({}, {'drain': True}, {'force': True}))}
        if choice.random() < 0.2:
            self._asker.ask('try', 'POST', '/v1/maintenances?dry_run=true',
                            body)
        key = (self._asker.uuid() if choice.random() < self._mix.keyed
               else None)
        booked = self._asker.ask('book', 'POST', '/v1/maintenances', body,
                                 key=key)
        if booked.unknown and key is not None:
            booked = self._asker.ask('book', 'POST', '/v1/maintenances', body,
                                     key=key)
        if booked.status == 201:
            self._booked.extend(nodes)
            self._try_at_start(node, start)
        self._asker.wait(1, 3)
        if booked.status == 201 and choice.random() < 0.3:
            self._asker.wait(1, 8)
            self._insist('end-window', 'DELETE', '/v1/maintenances/'
                         + booked.document['maintenance']['uuid'])

    def _try_at_start(self, node: str, start: datetime.datetime) -> None:
        """Deploy a node whose window begins, before Ironic knows of it.

        Half of the time that is because somebody has cleared it again.
        """
        left = (start - datetime.datetime.now(datetime.UTC)).total_seconds()
        # NOTE: the checker allows for clocks that are a second apart.
        self._asker.wait(left + 1.2, left + 1.5)
        path = f'/v1/nodes/{node}/states/provision'
        clears = self._asker.choice.random() < 0.5
        for _ in range(_AT_START):
            if clears:
                self._asker.ask('operate-maintenance', 'DELETE',
                                f'/v1/nodes/{node}/maintenance')
            if self._asker.ask('deploy', 'PUT', path,
                               {'target': 'active'}).status == 202:
                self._insist('undeploy', 'PUT', path, {'target': 'deleted'})
                break

    def _look_after(self, node: str) -> None:
        """Set maintenance, and book the node for a window meanwhile."""
        path = f'/v1/nodes/{node}/maintenance'
        self._asker.ask('operate-maintenance', 'PUT', path,
                        {'reason': 'storm'})
        # NOTE: the checker excuses what is done right after it was set.
        self._asker.wait(6, 6)
        now = datetime.datetime.now(datetime.UTC)
        self._asker.ask('book', 'POST', '/v1/maintenances', {
            'name': f'storm-{self._asker.uuid()[:8]}', 'nodes': [node],
            'starts_at': now.isoformat(), 'ends_at': (
                now + datetime.timedelta(seconds=6)).isoformat(),
            'force': True})
        self._asker.wait(3, 9)
        self._insist('operate-maintenance', 'DELETE', path)

    def _reclass(self, node: str) -> None:
        other = self._asker.choice.choice(sorted(set(self._nodes.values())))
        path = f'/v1/nodes/{node}'
        self._asker.ask('reclass', 'PATCH', path, _class(other))
        self._asker.wait(2, 6)
        self._insist('reclass', 'PATCH', path, _class(self._nodes[node]))

    def _reown(self, node: str) -> None:
        """Give a node to another project, or to nobody, for a while."""
        other = self._asker.choice.choice(
            [None, *sorted(set(self._owners.values()))])
        path = f'/v1/nodes/{node}'
        self._asker.ask('reown', 'PATCH', path, _owner(other))
        self._asker.wait(2, 6)
        self._insist('reown', 'PATCH', path, _owner(self._owners.get(node)))

    def _close(self, node: str) -> None:
        path = f'/v1/os-hosts/{node}'
        self._asker.ask('close', 'PUT', path, {'reservable': False})
        self._asker.wait(1, 4)
        self._insist('open', 'PUT', path, {'reservable': True})

    def _recreate(self, node: str) -> None:
        """Delete a node that nobody uses, and enrol it again as it was."""
        seen = self._asker.ask('look', 'GET', f'/v1/nodes/{node}')
        if seen.status != 200 or (
                seen.document['provision_state'] != 'available'
                or seen.document['instance_uuid']):
            return
        name = seen.document['name']
        gone = self._asker.ask('operate-delete', 'DELETE',
                               f'/v1/nodes/{node}')
        if gone.status is not None and 400 <= gone.status < 500:
            return
        self._asker.wait(0.5, 5)
        for step in enrolled.steps(node, name, self._nodes[node],
                                   self._owners.get(node)):
            self._insist('operate-enroll', step.method, step.path, step.body,
                         version=step.version)

    def _tidy(self, _: str) -> None:
        """Bring back what nobody may know of.

        Such as what has been deployed for long, or what a request has done
        that came when its sender no longer had the node.
        """
        seen = self._asker.ask(
            'look', 'GET',
            '/v1/nodes?fields=uuid,provision_state,provision_updated_at,'
            'maintenance,maintenance_reason')
        if seen.status != 200:
            return
        long_ago = (datetime.datetime.now(datetime.UTC) - _LONG).isoformat()
        for node in seen.document['nodes']:
            path = f'/v1/nodes/{node["uuid"]}'
            if (node['maintenance_reason'] or '').startswith(handed.MARK):
                self._asker.ask('operate-maintenance', 'DELETE',
                                f'{path}/maintenance')
            if (node['provision_updated_at'] or '') >= long_ago:
                continue
            if node['provision_state'] in ('active', 'deploy failed'):
                self._asker.ask('undeploy', 'PUT', f'{path}/states/provision',
                                {'target': 'deleted'})
            elif node['provision_state'] == 'manageable':
                self._asker.ask('bring-back', 'PUT',
                                f'{path}/states/provision',
                                {'target': 'provide'})

    def _insist(self, op: str, method: str, path: str, body: Any = None,
                version: str | None = None) -> None:
        """Ask until it is done, also when the storm is over by then."""
        for _ in range(_RETRIES):
            reply = self._asker.ask(op, method, path, body, version=version)
            if not reply.unknown and reply.status != 409:
                return
            if reply.status == 409 and method == 'POST':
                return
            self._pause.wait(1)


def take_stock(asker: exchange.Asker) -> None:
    """Read all nodes whole, with their volumes, for the checker."""
    asker.ask('stock', 'GET', f'/v1/nodes?fields=uuid,{handed.FIELDS}')
    asker.ask('stock', 'GET', '/v1/volume/targets?detail=True')


def bring_back(asker: exchange.Asker, node: dict[str, Any],
               leased: bool = False) -> None:
    """Take the next step with a node that waits for an operator.

    Its cleaning has failed, or somebody has left it in maintenance.

    :param node: as Ironic shows it; one in another state is left alone.
    :param leased: whether a lease has it, whose end leads it back from where
        its holder has taken it, by the same steps.
    """
    # NOTE: what a window has set, it has to take back itself; and what the
    # holder of a lease has set, the end of the lease.
    if node.get('maintenance') and quiet.window_of(node) is None and (
            not handed.is_of_holder(node.get('maintenance_reason'))):
        asker.ask('operate-maintenance', 'DELETE',
                  f'/v1/nodes/{node["uuid"]}/maintenance')
    target = _WAY_BACK.get(node['provision_state'])
    if target is not None and not (leased and target == 'provide'):
        asker.ask('bring-back', 'PUT',
                  f'/v1/nodes/{node["uuid"]}/states/provision',
                  {'target': target})


def deploy_in_a_window(asker: exchange.Asker, node: str) -> None:
    """Deploy a node in its window, once its maintenance has been cleared.

    :param node: a node that nobody has.
    """
    now = datetime.datetime.now(datetime.UTC)
    booked = asker.ask('book', 'POST', '/v1/maintenances', {
        'name': f'storm-{asker.uuid()[:8]}', 'nodes': [node],
        'starts_at': now.isoformat(),
        'ends_at': (now + datetime.timedelta(seconds=30)).isoformat()})
    if booked.status != 201:
        return
    # NOTE: the checker allows for clocks that are a second apart.
    time.sleep(1.5)
    path = f'/v1/nodes/{node}'
    for _ in range(_AT_START):
        asker.ask('operate-maintenance', 'DELETE', f'{path}/maintenance')
        asker.ask('deploy', 'PUT', f'{path}/states/provision',
                  {'target': 'active'})
    asker.ask('end-window', 'DELETE', '/v1/maintenances/'
              + booked.document['maintenance']['uuid'])


def _owner(project: str | None) -> list[dict[str, Any]]:
    return [{'op': 'add', 'path': '/owner', 'value': project}]


def _class(name: str) -> list[dict[str, Any]]:
    return [{'op': 'add', 'path': '/resource_class', 'value': name}]


def follow(asker: exchange.Asker, traces: Iterable[dict[str, str]]) -> bool:
    """Do what the audit says of promises that the database has lost.

    :param traces: as the audit lists them.
    :returns: whether there are some in Placement, which it repairs itself.
    """
    in_placement = False
    for trace in traces:
        path = f'/v1/nodes/{trace["node_uuid"]}'
        match trace['kind']:
            case 'lessee':
                asker.ask('follow', 'PATCH', path, [
                    {'op': 'remove', 'path': '/lessee'}])
            case 'instance':
                node = asker.ask('see', 'GET', path).document
                if node['provision_state'] == 'available':
                    asker.ask('unbind', 'PATCH', path, [
                        {'op': 'remove', 'path': '/instance_uuid'}])
                else:
                    asker.ask('undeploy', 'PUT', path + '/states/provision',
                              {'target': 'deleted'})
            case 'maintenance':
                asker.ask('follow', 'DELETE', path + '/maintenance')
            case _:
                in_placement = True
    return in_placement
