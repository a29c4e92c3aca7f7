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
from collections.abc import Iterator
import contextlib
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
                   node: callers.Node, acts: Collection[str]
                   ) -> handovers.Handover | None:
        """Write that a holder uses its node, before the use reaches Ironic.

        :param admitted: the request that was admitted.
        :param node: the node as the caller sees it.
        :returns: the handover; ``None``: nothing was written.
        :raises NotCanonical: the use changes maintenance as well.
        """
        if handovers.MAINTENANCE in acts and (
                admitted.lease_reservation_id or admitted.reservation_uuid):
            with self.closed_if_lost(admitted):
                raise _maintenance_of_lent(node)
        if admitted.lease_reservation_id is not None:
            with self.closed_if_lost(admitted):
                return acted.write(self._engine, admitted.node_uuid, acts,
                                   judged=admitted.holder)
        left = [name for name in acts if name not in handovers.DEPLOYING]
        if admitted.reservation_uuid is None or not left:
            return None
        with self.closed_if_lost(admitted):
            return self.record(node.uuid, left, self.actor(
                node, admitted.reservation_uuid), admitted.holder,
                in_flight=True)

    def record(self, node_uuid: str, acts: Collection[str],
               actor: protection.Actor, judged: str | None,
               in_flight: bool = False) -> handovers.Handover | None:
        """Write an act of the holder of a node, before it reaches Ironic.

        :param judged: the holder for whom the act was allowed; ``None``: it
            is allowed in any case.
        :param in_flight: whether the node is kept for the request.
        :returns: the handover; ``None``: it is not an act of a holder.
        """
        if not acts:
            return None
        if actor.administers:
            if self._callers.has_roles:
                return None
            if actor.claim.proof is None:
                acts = [name for name in acts
                        if f'/{handovers.root(name)}' in node_acts.OF_LESSEES
                        or name in node_acts.OF_LESSEES]
                if not acts:
                    return None
        # NOTE: until then it is handed to Ironic, and its conductor carries it
        # out, or neither happens.
        within = 0 if in_flight else protect.FRESH + 1 + (
            self._engine.conf.guard.rpc_timeout)
        return acted.write(self._engine, node_uuid, acts, within,
                           judged is not None, judged)

    @contextlib.contextmanager
    def closed_if_lost(self, admitted: admission.InFlightRequest
                       ) -> Iterator[None]:
        """Close an in-flight request if the block fails before it is sent."""
        try:
            yield
        except BaseException:
            carry.close(self._engine, admitted, False)
            raise

    def of_holder(self, node: callers.Node,
                  handover: handovers.Handover | None,
                  recorded: Collection[str],
                  request: wsgi.Environ) -> wsgi.Environ:
        """Return the request of a holder for Ironic.

        :param handover: ``None``: it is not a request of a holder.
        :raises MaintenanceOfOthers: the request changes a maintenance that an
            operator or Ironic has set.
        :raises NotCanonical: the request sets maintenance without a reason, by
            which the maintenance could be recognized.
        """
        if handover is None or handovers.MAINTENANCE not in recorded:
            return request
        if request['REQUEST_METHOD'] == 'PATCH':
            raise _maintenance_of_lent(node)
        if node.maintenance and not self._maintains(handover):
            raise errors.MaintenanceOfOthers(
                f'Node {node.uuid} is in maintenance, which an operator or '
                'Ironic itself has set. Only administrators may change it. '
                'Ask the operator; your lease can have another node with '
                '"give_back" and a change of its number of nodes.')
        if request['REQUEST_METHOD'] != 'PUT':
            return request
        document = act_bodies.document(request, self._limits) or {}
        query = dict(parse.parse_qsl(request.get('QUERY_STRING', '')))
        reason = (document.get('reason') if isinstance(document, dict)
                  else None) or query.get('reason') or ''
        return inward.rebuilt(request, request['PATH_INFO'], body={
            'reason': handover.marked(reason) if isinstance(reason, str)
            else reason})

    def _maintains(self, handover: handovers.Handover) -> bool:
        """Return whether the holder of a node has set its maintenance."""
        assert self._engine.ironic is not None
        known = self._engine.ironic.maintained(handover.node_uuid)
        return known is not None and handover.maintains(known[1])


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
