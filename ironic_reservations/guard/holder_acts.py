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

"""Acts of the holders of nodes, written before they reach Ironic."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import dataclasses
import math
from urllib import parse

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.engine import Engine
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.guard import act_bodies
from ironic_reservations.guard import body_limits
from ironic_reservations.guard import callers
from ironic_reservations.guard import carry
from ironic_reservations.guard import inward
from ironic_reservations.guard import node_acts
from ironic_reservations.lifecycle import admit
from ironic_reservations.lifecycle import protect as protection
from ironic_reservations.model import handovers
from ironic_reservations.model import host_view


@dataclasses.dataclass(frozen=True)
class Unwritten:
    """Acts on a node that have to be written before they reach Ironic.

    :ivar judged: the holder for whom the acts were allowed; ``None``: they are
        allowed in any case.
    :ivar in_flight: whether the node is kept for the request.
    """

    node_uuid: str
    acts: Collection[str]
    actor: protection.Actor
    judged: str | None
    in_flight: bool = False


class HolderActs:
    """Writes acts of holders, and marks the maintenance that holders set.

    :param limits: the limits of request bodies.
    """

    def __init__(self, engine: Engine, who: callers.Callers,
                 limits: body_limits.BodyLimits) -> None:
        self._engine = engine
        self._callers = who
        self._limits = limits

    def actor(self, node: callers.Node,
              proof: str | None) -> protection.Actor:
        """Return the caller of an act, with the proof that it shows."""
        return self._callers.actor(node, admit.Claim(
            proof, node.instance_uuid
            if self._engine.conf.guard.instance_uuid_from_service
            and self._callers.serves(node) else None,
            self._callers.bearer(node)))

    def record_use(self, admitted: admission.InFlightRequest,
                   node: callers.Node, acts: Collection[str],
                   beside: Iterable[Unwritten] = ()
                   ) -> list[handovers.Handover]:
        """Write that a holder uses its node, before the use reaches Ironic.

        :param admitted: the request that was admitted.
        :param node: the node as the caller sees it.
        :param beside: the acts on other nodes by the same request.
        :returns: the handovers.
        :raises NotCanonical: the use changes maintenance as well.
        """
        left = [name for name in acts if name not in handovers.DEPLOYING]
        with self.closed_if_lost(admitted) as recorded:
            if handovers.MAINTENANCE in acts and (
                    admitted.lease_reservation_id
                    or admitted.reservation_uuid):
                raise _maintenance_of_lent(node)
            self.write(beside, recorded)
            if admitted.lease_reservation_id is not None:
                _add(recorded, acted.write(self._engine, node.uuid, acts,
                                           judged=admitted.holder))
            elif admitted.reservation_uuid is not None:
                self.write([Unwritten(node.uuid, left, self.actor(
                    node, admitted.reservation_uuid), admitted.holder, True)],
                    recorded)
        return recorded

    def of_tenant(self, acts: Collection[str],
                  actor: protection.Actor) -> Collection[str]:
        """Return the acts that are not those of an operator."""
        if not actor.administers:
            return acts
        if self._callers.has_roles:
            return ()
        return acts if actor.claim.proof is not None else [
            name for name in acts
            if f'/{handovers.root(name)}' in node_acts.OF_LESSEES
            or name in node_acts.OF_LESSEES]

    def write(self, acts: Iterable[Unwritten],
              recorded: list[handovers.Handover]) -> None:
        """Write acts of holders, before they reach Ironic.

        :param recorded: the handovers, which are added to it.
        """
        for each in acts:
            names = self.of_tenant(each.acts, each.actor)
            if names:
                # NOTE: until then it is handed to Ironic, and its conductor
                # carries it out, or neither happens.
                within = 0 if each.in_flight else protect.FRESH + 1 + (
                    self._engine.conf.guard.rpc_timeout)
                _add(recorded, acted.write(
                    self._engine, each.node_uuid, names, within,
                    each.judged is not None, each.judged))

    @contextlib.contextmanager
    def closed_if_lost(self, admitted: admission.InFlightRequest
                       ) -> Iterator[list[handovers.Handover]]:
        """Close an in-flight request if the block fails before it is sent.

        The acts in the list that the block gets are forgotten as well.
        """
        recorded: list[handovers.Handover] = []
        try:
            with carry.unsent(self._engine, recorded):
                yield recorded
        except BaseException:
            carry.close(self._engine, admitted, False)
            raise

    def maintaining(self, node: callers.Node,
                    recorded: Collection[handovers.Handover],
                    acts: Collection[str],
                    request: wsgi.Environ) -> tuple[wsgi.Environ, float]:
        """Return a request for Ironic that may change the maintenance.

        :param recorded: the handovers as they were written for the request; if
            it has none, it is not one of a holder.
        :param acts: the acts of the request.
        :returns: the request, and the time by the engine's timer until which
            it may be sent.
        :raises MaintenanceOfOthers: the request changes a maintenance that an
            operator or Ironic has set.
        :raises NotCanonical: the request sets maintenance without a reason, by
            which the maintenance could be recognized.
        """
        handover = next((each for each in recorded
                         if each.node_uuid == node.uuid), None)
        if handover is None or handovers.MAINTENANCE not in acts:
            return request, math.inf
        if request['REQUEST_METHOD'] == 'PATCH':
            raise _maintenance_of_lent(node)
        deadline = self._engine.timer() + protect.FRESH
        assert self._engine.ironic is not None
        shown = self._engine.ironic.maintained(node.uuid)
        if (shown is not None and shown[0].maintenance
                and not handover.maintains(shown[1])):
            raise errors.MaintenanceOfOthers(
                f'Node {node.uuid} is in maintenance, which an operator or '
                'Ironic itself has set. Only administrators may change it. '
                'Ask the operator; your lease can have another node with '
                '"give_back" and a change of its number of nodes.')
        if request['REQUEST_METHOD'] != 'PUT':
            return request, deadline
        document = act_bodies.document(request, self._limits) or {}
        query = dict(parse.parse_qsl(request.get('QUERY_STRING', '')))
        reason = (document.get('reason') if isinstance(document, dict)
                  else None) or query.get('reason') or ''
        return inward.rebuilt(request, request['PATH_INFO'], body={
            'reason': handover.marked(reason) if isinstance(reason, str)
            else reason}), deadline


def _add(recorded: list[handovers.Handover],
         written: handovers.Handover | None) -> None:
    if written is not None:
        recorded.append(written)


def _maintenance_of_lent(node: callers.Node) -> errors.NotCanonical:
    return errors.NotCanonical(
        f'Node {node.uuid} is reserved or leased, and its maintenance '
        'can be set and cleared in one form only: send PUT or DELETE '
        '/v1/nodes/<uuid>/maintenance.')


def acts_of_holder(view: host_view.HostView, actor: protection.Actor,
                   recorded: Collection[str]) -> Collection[str]:
    """Return the acts that could be acts of the holder of a node.

    NOTE: an owner may write a description, or change the ports, while others
    have the node.
    """
    if protection.judge(actor, view).passes:
        return recorded
    return [name for name in recorded if not name.startswith('/')
            and name not in node_acts.PORTS]
