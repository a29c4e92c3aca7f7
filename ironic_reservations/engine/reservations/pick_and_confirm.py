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

"""Choose a node for a request: pick, confirm with Ironic, make room."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import datetime
import functools

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import candidates as db_candidates
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import Engine
from ironic_reservations.engine.reservations import confirm
from ironic_reservations.engine.reservations import displacement
from ironic_reservations.engine.reservations import plan
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import reasons
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick

#: The number of reasons in a sentence; the structured form has all of them.
_NAMED = 20


@dataclasses.dataclass(frozen=True)
class Choice:
    """A node, with the generation to commit on (0 if it has no row yet).

    :ivar view: the view in which it was picked.
    :ivar room: the leases that have to move, if any.
    """

    node: mirrored_node.Node
    view: plan.View
    room: displacement.Displacement | None = None

    @property
    def free_until(self) -> datetime.datetime | None:
        """The start of the next lease on the node, if any."""
        if self.room is not None:
            return self.room.until
        return self.view.snapshot.view(self.node.uuid).next_claim


def choose(engine: Engine, request: pick.NodeRequest, view: plan.View,
           sees: visibility.Visibility, observer: ironic_client.Ironic | None,
           need: plan.Need) -> Choice:
    """Pick a node, and confirm it with Ironic if that is configured.

    :param observer: a client of Ironic with the caller's credentials;
        ``None``: the client of this service.
    :raises NoNodeAvailable: with the reasons.
    :raises IronicUnavailable: Ironic could not confirm the state of a node.
    :raises Conflict: a node has changed meanwhile.
    """
    asks_whom = observer or engine.ironic
    # An allocation is always confirmed, since the power state is not mirrored.
    if engine.conf.ironic.confirm == 'mirror' and not request.powered:
        asks_whom = None
    picking = _Picking(engine, request, sees, asks_whom, need)
    outcome = picking.among(view)
    if isinstance(outcome, pick.Refused) and request.node_uuids is None:
        outcome = picking.by_class(view, outcome)
    if isinstance(outcome, pick.Refused):
        if picking.failed is not None:
            raise picking.failed
        refused = _refusal(engine, request, outcome, sees, view.snapshot.now,
                           need)
        raise refused if picking.proved else _unproved(refused)
    return outcome


@dataclasses.dataclass
class _Picking:
    """A request for a node, and the client to confirm it with.

    :ivar proved: whether it is certain that leases cannot make room.
    :ivar failed: the error of a node that Ironic has failed to show.
    """

    _engine: Engine
    _request: pick.NodeRequest
    _sees: visibility.Visibility
    _observer: ironic_client.Ironic | None
    _need: plan.Need
    proved: bool = True
    failed: errors.IronicUnavailable | None = None

    def __post_init__(self) -> None:
        # A list is in the caller's order of preference; without one, a node
        # for which no lease has to move is preferred.
        self._ordered = (self._request.node_uuids is not None
                         and not self._need.bare)

    def among(self, view: plan.View, confirmed: confirm.Confirmed | None = None
              ) -> Choice | pick.Refused:
        """Choose from the nodes of a view."""
        # An answer of Ironic proves nothing about rows that are read later.
        confirmed = confirmed or confirm.Confirmed(self._observer)
        while True:
            outcome, snapshot = confirmed.outcome(
                self._request, view.snapshot, self._sees)
            self.failed = self.failed or confirmed.failed
            view = dataclasses.replace(view, snapshot=snapshot,
                                       confirmed=self._observer is not None)
            picked = isinstance(outcome, pick.Picked)
            made = None
            if outcome.promised and (self._ordered or not picked):
                made = self._make_room(outcome.promised, snapshot)
            if made is None:
                return (Choice(outcome.node, view)
                        if isinstance(outcome, pick.Picked) else outcome)
            snapshot = confirmed.at(snapshot, made.node_uuid)
            view = dataclasses.replace(view, snapshot=snapshot)
            # It may have other obstacles than the leases that move.
            if pick.why_not(self._request, made.node_uuid, snapshot,
                            self._sees) is None:
                return Choice(snapshot.nodes[made.node_uuid], view, made)

    def _make_room(self, promised: Sequence[mirrored_node.Node],
                   snapshot: pick.Snapshot
                   ) -> displacement.Displacement | None:
        made = displacement.one_of(self._engine, promised, snapshot.now,
                                   snapshot.until, self._ordered)
        if isinstance(made, displacement.Displacement):
            return made
        if self._need.bare and (
                self._engine.conf.leases.without_reservation == 'allow'):
            return displacement.on(self._engine, promised[0], snapshot.now,
                                   snapshot.until)
        self.proved = self.proved and made
        return None

    def by_class(self, view: plan.View, refused: pick.Refused
                 ) -> Choice | pick.Refused:
        """Choose from all nodes of the class after a first refusal.

        The candidates are more nodes that seem to be free, then nodes that are
        promised for later, then nodes that are free in Ironic only.
        """
        outcome: Choice | pick.Refused = refused
        if len(view.snapshot.nodes) >= plan.FIRST:
            # The mirror is outdated, so Ironic is asked for a list.
            outcome = self.among(
                self._read(view, functools.partial(plan.read_candidates,
                                                   most=plan.SAMPLE)),
                confirm.Confirmed(self._observer, one_by_one=0))
        if isinstance(outcome, pick.Refused):
            promised = self._read(view, plan.read_promised)
            if promised.snapshot.nodes:
                outcome = self.among(promised)
        if isinstance(outcome, pick.Refused) and self._observer is not None:
            outcome = self.among(self._free_in_ironic(view, self._observer))
        return outcome

    def _read(self, view: plan.View,
              read: Callable[..., plan.View]) -> plan.View:
        with self._engine.database.read() as connection:
            return read(self._engine, connection, self._request, self._sees,
                        view.snapshot.now, self._need)

    def _free_in_ironic(self, view: plan.View,
                        observer: ironic_client.Ironic) -> plan.View:
        """Return a view with a node that is free in Ironic, mirrored or not.

        The rows are read after Ironic's list, so the list proves nothing about
        them, and the node is confirmed again like any other.
        """
        now = view.snapshot.now
        filters = {'provision_state': node_condition.AVAILABLE,
                   'associated': 'false', 'maintenance': 'false'}
        if self._request.resource_class:
            filters['resource_class'] = self._request.resource_class
        free = {node.uuid: node for node in observer.nodes(**filters)}
        uuids = tuple(free)
        with self._engine.database.read() as connection:
            known = db_nodes.read_nodes(connection, uuids, with_traits=False)
            views = db_host_views.read(connection, uuids, now, first=True,
                                       windows=True, busy=True)
            barred = plan.closed(self._engine, connection, self._need, uuids)
        nodes = {uuid: dataclasses.replace(
            node, generation=known[uuid].generation if uuid in known else 0)
            for uuid, node in free.items()}
        wider = plan.view(nodes, [*view.related, *(
            each.row for each in views.values() if each.row is not None)],
            views, barred, now, self._need)
        first = pick.pick(self._request, wider.snapshot, self._sees)
        chosen = ({first.node.uuid: first.node}
                  if isinstance(first, pick.Picked) else {})
        return dataclasses.replace(wider, snapshot=dataclasses.replace(
            wider.snapshot, nodes=chosen))


def _refusal(engine: Engine, request: pick.NodeRequest, outcome: pick.Refused,
             sees: visibility.Visibility, now: datetime.datetime,
             need: plan.Need) -> errors.NoNodeAvailable:
    if request.node_uuids is None:
        with engine.database.read() as connection:
            counted = db_candidates.count_obstacles(
                connection, plan.wanted(connection, request), sees, now,
                not plan.hosts_closed(engine, need),
                {uuid: reason.code for uuid, reason in need.unheld.items()},
                dict.fromkeys(need.full, plan.CLASS_LIMIT))
        return _refusal_by_class(request, [reasons.Count(code, count) for
                                       code, count in sorted(counted.items())])
    text = '; '.join(f'node {reason.node_uuid} {reason.text}'
                     for reason in outcome.reasons[:_NAMED])
    more = len(outcome.reasons) - _NAMED
    if more > 0:
        text += f'; and {more} more'
    return errors.NoNodeAvailable(
        f'None of the listed nodes can be reserved: {text}.',
        reasons=[reason.as_dict() for reason in outcome.reasons])


def _unproved(refused: errors.NoNodeAvailable) -> errors.NoNodeAvailable:
    return errors.NoNodeAvailable(
        f'{refused} This is not proved: leases that are promised nodes may '
        'have to move, and the search for other nodes ended at its limit '
        '(search_limit). Name other nodes, or try again later.',
        **refused.details, proved=False)


def _refusal_by_class(
        request: pick.NodeRequest,
        counts: Sequence[reasons.Count]) -> errors.NoNodeAvailable:
    wanted = ' and '.join(part for part in (
        f'the resource class {request.resource_class}' if request.
        resource_class else '',
        f'the class {request.class_name} in Placement' if request.
        class_name else '',
        f'the traits {", ".join(sorted(request.traits))}' if request.
        traits else '',
        f'none of the traits {", ".join(sorted(request.forbidden))}'
        if request.forbidden else '') if part)
    listed = ', '.join(f'{count.nodes} {count.code}' for count in counts)
    return errors.NoNodeAvailable(
        f'No node with {wanted} can be reserved: '
        + (f'of the nodes that you may see, {listed}.' if listed
           else 'you may see no such node.'),
        reasons=[count.as_dict() for count in counts])
