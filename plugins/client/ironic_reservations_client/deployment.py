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

"""Deploys the nodes of a reservation or of a lease."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import itertools
from typing import Any

from ironicclient import exc
from oslo_utils import uuidutils

from ironic_reservations_client import counted
from ironic_reservations_client import errors
from ironic_reservations_client import lease
from ironic_reservations_client import nodes
from ironic_reservations_client import plain
from ironic_reservations_client import reservation
from ironic_reservations_client import times
from ironic_reservations_client import waiting

_POLL = 2.0
_FIELDS = ['uuid', 'name', 'provision_state', 'target_provision_state',
           'instance_uuid', 'last_error']
_ACTIVE = 'active'
#: The states of a node that is not deployed again.
_BEGUN = (_ACTIVE, 'deploying', 'wait call-back', 'deploy hold')
_BOUND = 'bound'


@dataclasses.dataclass(frozen=True)
class Promised:
    """The nodes that are promised by one reservation or lease.

    :ivar proofs: the nodes, by UUID, each with the reservation that is the
        proof.
    :ivar lease: the lease that has the nodes; ``None`` for a reservation.
    """

    ident: str
    proofs: Mapping[str, str]
    lease: lease.Lease | None = None

    @property
    def title(self) -> str:
        """The reservation or lease, for a sentence."""
        return (f'reservation {self.ident}' if self.lease is None
                else f'lease {self.lease.name}')


def promised(client: Any, ident: str) -> Promised:
    """Return the nodes of a reservation, of a lease, or of a part of one.

    :param client: an Ironic client.
    :param ident: the UUID of a reservation; the name or ID of a lease; or the
        ID of a reservation of a lease.
    :raises NotFound: none of them is visible to the caller.
    :raises ironicclient.exc.CommandError: the lease has no nodes to deploy
        now, or several leases have the name.
    """
    manager = lease.LeaseManager(client)
    if not uuidutils.is_uuid_like(ident):
        try:
            return _of_lease(manager.find(ident))
        except exc.NotFound as error:
            if isinstance(error, errors.Refused):
                raise
            raise _none(ident, ': reservations have UUIDs, leases also names'
                        ) from error
    try:
        held = reservation.ReservationManager(client).get(ident)
        return Promised(held.uuid, {held.node_uuid: held.uuid})
    except exc.NotFound as error:
        if not isinstance(error, errors.Refused):
            raise
    try:
        return _of_lease(manager.get(ident))
    except exc.NotFound:
        for each in manager.list():
            if any(part['id'] == ident for part in each.reservations):
                return _of_lease(each, ident)
    raise _none(ident)


def _none(ident: str, remark: str = '') -> exc.NotFound:
    return exc.NotFound(
        f'There is no reservation and no lease {ident} that you may see'
        f'{remark}. "reservation list" and "reservation lease list" list '
        'them.')


def _of_lease(found: lease.Lease, part: str | None = None) -> Promised:
    if found.status != 'ACTIVE':
        raise exc.CommandError(_why_not(found))
    return Promised(found.id, {
        node['uuid']: each['id'] for each in found.reservations
        if part in (None, each['id'])
        for node in each['nodes'] if node['state'] == _BOUND}, found)


def _why_not(found: lease.Lease) -> str:
    if lease.over(found):
        return (f'The lease {found.name} ({found.id}) is over '
                f'({found.status}): its nodes are not yours any more.')
    return (f'The lease {found.name} ({found.id}) has not started: it is '
            f'{found.status}, and starts at '
            f'{times.shown(times.parsed(found.start_date))}. '
            + (f'It is waiting for: {found.waiting} ' if found.waiting else '')
            + f'"reservation lease plan {found.name} --wait" waits for it.')


class Deployment:
    """Deploys nodes at the same time.

    :param client: an Ironic client.
    :param of: the nodes; active nodes are not deployed again.
    :ivar nodes: the nodes as Ironic shows them, by UUID.
    :ivar failures: the error for which a node is not deployed, by UUID.
    """

    def __init__(self, client: Any, of: Promised) -> None:
        self._client = client
        self._of = of
        self.failures: dict[str, exc.ClientException] = {}
        self.nodes: dict[str, Any] = {}
        self._read(of.proofs)

    def begin(self, **settings: Any) -> None:
        """Ask Ironic to deploy each node.

        A refusal is stored in ``failures``, and the other nodes are deployed.

        :param settings: ``instance_info``, ``configdrive`` and
            ``deploysteps``, as for ``reservation.deploy_node``.
        """
        asked = []
        for ident, proof in self._of.proofs.items():
            node = self.nodes.get(ident)
            if node is not None and node.provision_state in _BEGUN:
                continue
            try:
                reservation.deploy_node(
                    reservation.with_proof(self._client, proof), ident,
                    **settings)
                asked.append(ident)
            except exc.ClientException as error:
                self.failures[ident] = error
        self._read(asked)

    def wait(self, timeout: float,
             report: Callable[[Deployment], None]) -> None:
        """Wait until each node is active, or its deployment has failed.

        :param timeout: in seconds; 0 waits for ever.
        :param report: a function that is called with this object after each
            read of the nodes.
        :raises ironicclient.exc.StateTransitionTimeout: the time is up.
        """
        left: list[str] = []
        for _ in waiting.polls(timeout, itertools.repeat(_POLL)):
            self._read(left)
            for ident in left:
                self._judge(ident)
            report(self)
            left = self.left
            if not left:
                return
        raise exc.StateTransitionTimeout(
            f'After {timeout:g} seconds, '
            f'{counted.counted(len(left), "node")} of the {self._of.title} '
            f'{"is" if len(left) == 1 else "are"} not active: '
            + ', '.join(map(self._state, left)) + '.')

    @property
    def left(self) -> list[str]:
        """The nodes that are neither active nor have failed."""
        return [ident for ident in self._of.proofs
                if ident not in self.failures
                and (ident not in self.nodes
                     or self.nodes[ident].provision_state != _ACTIVE)]

    def check(self, reported: bool = False) -> None:
        """Check that no node has failed.

        :param reported: whether the reasons have been reported already.
        :raises ClientException: some nodes have failed; the text has their
            names, and the reason for each node unless it has been reported.
            The error of the only node, unless reported, is raised as it is.
        """
        if self.failures:
            if len(self._of.proofs) == 1 and not reported:
                raise self.failures.popitem()[1]
            raise exc.ClientException(
                f'{counted.counted(len(self.failures), "node")} of '
                f'{len(self._of.proofs)} of the {self._of.title} '
                f'{"is" if len(self.failures) == 1 else "are"} not deployed:'
                + (f' {", ".join(map(self.name, self.failures))}.'
                   if reported else
                   ''.join(f'\n{self.name(ident)}: {failure}'
                           for ident, failure in self.failures.items())))

    def name(self, ident: str) -> str:
        """Return the name of a node, or its UUID if it has no name."""
        node = self.nodes.get(ident)
        return ident if node is None or not node.name else str(node.name)

    def _state(self, ident: str) -> str:
        node = self.nodes.get(ident)
        return (f'{self.name(ident)} is '
                f'{node.provision_state if node else "unknown"}')

    def _judge(self, ident: str) -> None:
        node = self.nodes.get(ident)
        if node is None:
            self.failures[ident] = exc.ClientException(
                'Ironic does not show you the node.')
            return
        state = node.provision_state
        if state == _ACTIVE or (
                node.target_provision_state and state != 'error'
                and not state.endswith(' failed')):
            return
        error = plain.plain(node.last_error or '')
        self.failures[ident] = exc.StateTransitionFailed(
            f'The node is in the state {state}'
            + (f': {error}' if error else '.'))

    def _read(self, idents: Iterable[str]) -> None:
        self.nodes.update(nodes.read(self._client, list(idents), _FIELDS))
