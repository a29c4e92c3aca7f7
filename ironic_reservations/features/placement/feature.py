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

"""Holds the nodes of reservations in Placement, with the changes."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
from typing import Any

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.engine import lost_promises
from ironic_reservations.features.placement import compute_hosts
from ironic_reservations.features.placement import compute_mirror
from ironic_reservations.features.placement import proof
from ironic_reservations.features.placement import sync
from ironic_reservations.features.placement.audit import auditing
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.audit import providers_seen
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import handover
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import of_leases
from ironic_reservations.features.placement.holds import of_reservations
from ironic_reservations.features.placement.holds import releasing
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import values
from ironic_reservations.features.placement.lease_providers import offers
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation
from ironic_reservations.reconciler import claim
from ironic_reservations.reconciler import loop

LOG = log.getLogger(__name__)

_LOST = frozenset((differences.Kind.ORPHAN,
                   differences.Kind.RESERVATION_LEFTOVER))


@dataclasses.dataclass
class _Making(feature.Part):
    """The hold of a new reservation.

    :ivar over: the uuids of void reservations of other nodes that are deleted.
    """

    engine: Engine
    made: node_reservation.Reservation
    promise: values.Promise
    over: Collection[str]
    intended: values.Hold | None = None

    def write(self, connection: sa.Connection) -> None:
        """Write the row of the hold."""
        # Nobody works on the other holds, so the next pass may release them.
        now = self.made.created_at
        db_holds.release(connection, self.over, now, now)
        self.intended = holding.intend(self.engine, connection,
                                       self.promise, promising=True)

    def confirm(self) -> None:
        """Hold the node.

        :raises Obstacle: the node cannot be held; the reservation has been
            ended.
        :raises PlacementUnavailable: Placement does not answer; the
            reservation has been ended.
        """
        assert self.intended is not None
        of_reservations.hold(self.engine, self.intended, self.promise)


@dataclasses.dataclass
class _Ending(feature.Part):
    """The holds of reservations that are to be released."""

    engine: Engine
    change: change_module.Change
    uuids: Collection[str]

    def write(self, connection: sa.Connection) -> None:
        """Mark the holds to be released."""
        db_holds.release(connection, self.uuids, self.change.planned_at,
                         hold_calls.deadline(self.engine))

    def committed(self) -> None:
        """Release the holds, as soon as Placement answers."""
        try:
            releasing.take_back(self.engine, self.uuids)
        except (errors.DatabaseUnavailable, errors.Contention) as exc:
            # The reservation is over nevertheless, so this is no error.
            LOG.warning('The hold of a deleted reservation could not be '
                        'released yet, and will be later: %s', exc)


@dataclasses.dataclass
class _Handing(feature.Part):
    """The hold of a reservation whose node is deployed."""

    engine: Engine
    used: node_reservation.Reservation

    def committed(self) -> None:
        """Move the hold to the instance, as soon as Placement answers."""
        handover.hand_over(self.engine, self.used)


@dataclasses.dataclass
class _Forgetting(feature.Part):
    """The providers of nodes that are gone from Ironic."""

    gone: Collection[change_module.NodeGone]

    def write(self, connection: sa.Connection) -> None:
        """Mark the providers to be checked.

        Nova does not delete a provider that was held at its attempt.
        """
        for each in self.gone:
            providers_seen.look_at(connection, each.node_uuid, each.seen_at)


class Placement(feature.Feature):
    """Holds of reserved nodes in Placement."""

    def is_on(self, engine: Engine) -> bool:
        """Return whether nodes are held in Placement."""
        return engine.placement is not None

    def gauges(self, engine: Engine) -> Iterable[Any]:
        """Return the metrics of the feature."""
        from ironic_reservations.features.placement import metrics
        return [metrics.Holds(engine)]

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Return the holds that begin or end with a change."""
        over = [write for write in change.of_reservations
                if write.after is None and write.before is not None]
        made = next((write.after for write in change.of_reservations
                     if write.before is None), None)
        if made is not None:
            return _making(engine, change, made, [
                write.before.uuid for write in over
                if write.before is not None
                and write.before.node_uuid != made.node_uuid])
        gone = [event for event in change.events
                if isinstance(event, change_module.NodeGone)]
        if gone:
            return _Forgetting(gone)
        used = next((write.after for write in change.of_reservations
                     if write.cause is change_module.Cause.USED), None)
        if used is not None and used.state is node_reservation.State.IN_USE:
            return _Handing(engine, used)
        ended = [write.before.uuid for write in over
                 if write.cause is change_module.Cause.ENDED
                 and write.before is not None]
        # A node that is put back first stays held until then.
        if any(write.cause is change_module.Cause.PUT_BACK
               for write in change.all_of_leases):
            ended = []
        ended += [row.uuid for _, rows in change_module.gone(change)
                  for row in rows]
        return _Ending(engine, change, ended) if ended else None

    def unconfirmed(self) -> sa.ColumnElement[bool]:
        """Return the condition that the hold is still being written."""
        return db_holds.being_made()

    # The functions have the parameters and the results of the hooks.
    confirm_again = staticmethod(of_reservations.ensure)
    obstacles = staticmethod(of_reservations.without_room)
    find_host = staticmethod(compute_hosts.find)
    refresh_hosts = staticmethod(compute_mirror.refresh_hosts)
    proves = staticmethod(proof.shown)
    secure = staticmethod(of_leases.take)
    offer = staticmethod(offers.start)
    withdraw = staticmethod(offers.end)

    def lost(self, engine: Engine) -> Iterable[lost_promises.Trace]:
        """Return the holds and flavors that no promise explains."""
        return [lost_promises.Trace(
            lost_promises.Kind.PLACEMENT, each.node_uuid, each.detail,
            'If instances have to keep running, make the lease again; then '
            'run "ironic-reservations-manage placement audit --repair".')
            for each in auditing.audit(engine, everything=True).differences
            if each.kind in _LOST]

    def loops(self, engine: Engine) -> Iterable[Any]:
        """Return the loop that keeps Placement in agreement with our rows."""
        options = engine.conf.placement
        hosts = compute_mirror.ComputeMirror(engine)
        # Failed tasks wait for their interval, to put no load on a failing
        # Placement.
        tasks = [loop.Task(lambda _: sync.recover(engine),
                           options.recover_interval),
                 loop.Task(lambda _: hosts.refresh(), options.hosts_interval,
                           again=False)]
        if options.audit_interval:
            tasks.append(loop.Task(
                lambda _: sync.audit(engine, options.repair),
                options.audit_interval, again=False))
        return [loop.Loop('placement', tasks, claim.Claim(
            engine, 'holds', options.claim_ttl))]


def _making(engine: Engine, change: change_module.Change,
            made: node_reservation.Reservation,
            over: Collection[str]) -> feature.Part:
    node = change.given_of(mirrored_node.Node)
    assert node is not None
    return _Making(engine, made, of_reservations.promise_of(made, node),
                   over)
