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

"""The interface between the core and the features.

An engine has a list of features of its own, and calls them in this order.  A
feature must not store any state of a request in itself.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import MutableMapping
from collections.abc import Sequence
import datetime
from typing import Any
from typing import Protocol
from typing import TYPE_CHECKING
from typing import TypeVar

from oslo_config import cfg
import sqlalchemy as sa

from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation
from ironic_reservations.model import node_window
from ironic_reservations.model import reasons
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states
from ironic_reservations.planner import loans
from ironic_reservations.planner import pick

if TYPE_CHECKING:
    from ironic_reservations.engine import audit_trail as audit_trail_module
    from ironic_reservations.engine import ceiling as ceiling_module
    from ironic_reservations.engine import change as change_module
    from ironic_reservations.engine import earlier as earlier_module
    from ironic_reservations.engine import Engine
    from ironic_reservations.engine import lost_promises
    from ironic_reservations.engine.lease_cycle import context as lease_context
    from ironic_reservations.engine.leases import ladder

_Answer = TypeVar('_Answer')

#: Values that features keep from one attempt of a request to the next.
Memory = MutableMapping[Hashable, object]

#: A task of a loop, and its interval in seconds. The argument of the task is a
#: function that returns whether the task may continue.
DatesTask = tuple[Callable[[Callable[[], bool]], object], float]


class Part:
    """The share of one feature in one attempt of a change."""

    def write(self, connection: sa.Connection) -> None:
        """Write rows and check again, after the rows of the change.

        A value that must survive the death of the process after the COMMIT is
        written here.

        :raises Conflict: the change has to be planned again.
        """

    def confirm(self) -> None:
        """Act after the commit and before the notifications are sent.

        :raises Obstacle: a node cannot be used; the commit for the request has
            been undone.
        :raises ReservationError: the commit has been undone, and no other node
            is tried.
        """

    def committed(self) -> None:
        """Send messages after the commit, once for each request."""


class Obstacle(Exception):
    """A feature cannot use a node; the use case plans again without it."""

    def __init__(self, reason: reasons.Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


class HostLimits(Protocol):
    """The hosts that each project may have, kept with all hosts."""

    def put(self, number: int, here: host_states.HostState | None) -> bool:
        """Store the state of a host.

        :param here: the state; ``None``: the host has been removed.
        :returns: whether bookings may now move to other hosts than before.
        """

    def loans(self, instant: int) -> loans.Loans:
        """Return the hosts that projects have only until an instant."""

    def narrow(self, here: host_states.HostState,
               drawn: list[bookings.Booking], now: datetime.datetime,
               margin: int) -> tuple[list[bookings.Booking], list[int]]:
        """Return bookings that can move only to hosts that they may have.

        :returns: the bookings, and the instants from which some of them may
            move to more hosts.
        """


class Feature:
    """A feature: its share of the changes, its loops and its routes.

    :cvar concerns: the kinds of changes for which ``before`` and ``join`` are
        called (``Change.kinds``); ``None``: all changes.
    """

    concerns: Collection[object] | None = None

    def is_on(self, engine: Engine) -> bool:
        """Return whether the feature does anything in this process."""
        return True

    def before(self, engine: Engine, change: change_module.Change,
               memory: Memory) -> None:
        """Ask other services before the transaction, also on a dry run.

        :param memory: the memory of the request, empty at its first attempt.
        :raises ReservationError: the change is refused.
        """

    def join(self, engine: Engine,
             change: change_module.Change) -> Part | None:
        """Return the share of the feature in a change, or ``None``.

        The feature may read, and may add locks, and instants from which the
        change becomes wrong.

        :raises Obstacle: the feature cannot use the node of a new reservation.
        """
        return None

    def count_key(self, engine: Engine, project_id: str) -> None:
        """Count a request with a key of its client.

        :raises TooManyKeys: the project has sent too many of them.
        """

    def earlier(self, connection: sa.Connection, key: earlier_module.Key,
                now: datetime.datetime) -> earlier_module.Earlier | None:
        """Return the known results of earlier copies of a request.

        :raises ReservationError: another request had the same key.
        """
        return None

    def narrow(self, conf: cfg.ConfigOpts) -> HostLimits | None:
        """Return an object for the hosts that projects may have.

        It has no hosts yet; the process keeps it, and adds its hosts.
        """
        return None

    def allowed(self, engine: Engine, group: str,
                projects: bool) -> limits.Limits | None:
        """Return the limits of a caller.

        It is asked when a process starts.

        :param group: one of ``limits.GROUPS``.
        :param projects: whether there are projects.
        """
        return None

    def ceiling(self, connection: sa.Connection | None, allowed: limits.Limits,
                project_id: str | None, now: datetime.datetime,
                without: Collection[str]) -> ceiling_module.Ceiling | None:
        """Return the remaining limits of a project.

        :param connection: ``None``: as if the project had no bookings.
        :param without: ids of leases to leave out.
        """
        return None

    def full_classes(self, connection: sa.Connection, allowed: limits.Limits,
                     project_id: str | None, now: datetime.datetime
                     ) -> ceiling_module.FullClasses | None:
        """Return the resource classes that a project may not reserve."""
        return None

    def rungs(self, engine: Engine,
              asked: ladder.Asked) -> Iterable[ladder.Terms]:
        """Return further ways to plan a request that is refused otherwise."""
        return ()

    def undo(self, connection: sa.Connection,
             reservation: node_reservation.Reservation,
             now: datetime.datetime) -> None:
        """Write that a reservation was deleted before it was answered."""

    def confirm_again(self, engine: Engine,
                      reservation: node_reservation.Reservation) -> None:
        """Confirm a reservation that an earlier request has made.

        :raises Conflict: the reservation has changed.
        :raises Obstacle: its node cannot be used, and it has been ended.
        """

    def obstacles(self, engine: Engine,
                  request: pick.NodeRequest) -> Mapping[str, reasons.Reason]:
        """Return nodes that cannot be reserved, with the reasons.

        It is called when a request has tried several nodes without success.
        """
        return {}

    def unconfirmed(self) -> sa.ColumnElement[bool] | None:
        """Return the condition that a reservation is not confirmed yet."""
        return None

    def find_host(self, engine: Engine,
                  name: str) -> mirrored_node.Node | None:
        """Return a host that is not a node of Ironic.

        :param name: its name, or its uuid.
        """
        return None

    def refresh_hosts(self, engine: Engine,
                      nodes: Sequence[mirrored_node.Node],
                      whole: bool = False) -> bool:
        """Read hosts again that are not nodes of Ironic.

        :param nodes: as they are mirrored; nodes of Ironic are left out.
        :param whole: whether to read all of them, and not only those that
            have just been closed.
        :returns: whether any was read.
        """
        return False

    def proves(self, engine: Engine, node_uuid: str, reservation_id: str,
               instance_uuid: str) -> bool:
        """Return whether an instance has a node through a lease.

        :param reservation_id: the lease reservation that has the node now.
        :raises ProofUnknown: the result is not known.
        """
        return False

    def secure(self, context: lease_context.Context,
               bookings: Sequence[leases.NodeBooking],
               seen: Mapping[str, mirrored_node.Node | None]
               ) -> Mapping[int, lease_context.Unready]:
        """Prepare nodes for bookings that have started, before all else.

        :param seen: the nodes as Ironic shows them; other hosts as mirrored.
        :returns: the nodes that cannot be used, by the id of the booking.
        :raises Conflict: a booking no longer exists.
        :raises Lost: another worker has the lease.
        """
        return {}

    def offer(self, context: lease_context.Context, lease: leases.Lease,
              bookings: Sequence[leases.NodeBooking]) -> Mapping[str, str]:
        """Open the nodes of a lease to its owner, before they are bound.

        :param bookings: the bookings that will be bound next.
        :returns: the obstacles in words, by the lease reservation that waits.
        :raises Lost: another worker has the lease.
        """
        return {}

    def withdraw(self, context: lease_context.Context,
                 lease: leases.Lease) -> Mapping[str, str]:
        """Close the nodes whose bookings end, before they are freed.

        It is called again for a lease without bookings, before it is over.

        :returns: see :meth:`offer`.
        :raises Lost: another worker has the lease.
        """
        return {}

    def purposes(self, engine: Engine, window_ids: Collection[str]
                 ) -> Mapping[str, node_window.Purpose]:
        """Return the purposes of windows by the ids of the windows."""
        return {}

    def loops(self, engine: Engine) -> Iterable[Any]:
        """Return the loops of the reconciler (``reconciler.loop.Loop``)."""
        return ()

    def dates(self, engine: Engine) -> Iterable[DatesTask]:
        """Return the tasks for leases whose dates may change.

        The tasks of all features share a loop and its claim.
        """
        return ()

    def audit_trail(self, conf: cfg.ConfigOpts, notifier: Any
                    ) -> audit_trail_module.AuditTrail | None:
        """Return the audit trail of this process.

        :param notifier: a notifier of oslo.messaging; ``None`` if nothing is
            sent.
        """
        return None

    def lent(self, engine: Engine, found: Collection[leases.Lease]
             ) -> Mapping[str, Mapping[str, datetime.datetime]]:
        """Return the ends of the loans of nodes that leases have.

        :returns: the ends by lease id and node; leases without such nodes are
            left out.
        """
        return {}

    def watch(self, context: lease_context.Context,
              lease: leases.Lease) -> lease_context.Outcome | None:
        """Take a step on a lease that is due, after all other steps.

        :returns: ``None``: there was nothing to do.
        :raises Conflict: another process has changed the lease meanwhile.
        :raises Lost: another worker has the lease.
        """
        return None

    def lost(self, engine: Engine) -> Iterable[lost_promises.Trace]:
        """Return the traces of promises that the database has lost.

        :raises ReservationError: another service does not answer.
        """
        return ()

    def follow_nodes(self, engine: Engine) -> None:
        """React to the states of nodes after they were mirrored."""

    def clean_up(self, engine: Engine) -> None:
        """Delete rows that are no longer needed."""

    def gauges(self, engine: Engine) -> Iterable[Any]:
        """Return metrics (``api.gauges.Gauges``).

        The metrics are imported in this method, since only a process with an
        API needs them.
        """
        return ()

    def routes(self, api: Any) -> Iterable[Any]:
        """Return the paths that the feature serves below ``/v1``.

        The controllers are imported in this method, since only a process with
        an API needs them.

        :param api: an ``api.controllers.rest.Api``.
        :returns: an ``api.controllers.rest.Route`` for each path.
        """
        return ()

    def pages(self, sign_in: Any, api: Any, inside: bool) -> Iterable[Any]:
        """Return the pages for browsers that the feature serves.

        The pages are imported in this method, as in :meth:`routes`.

        :param sign_in: an ``api.pages.SignIn``.
        :param api: the API as a WSGI application, which checks the
            credentials of a request; its paths begin with "/v1".
        :param inside: whether this API is part of Ironic's.
        :returns: an ``api.pages.Page`` for each.
        """
        return ()


def first(answers: Iterable[_Answer | None]) -> _Answer | None:
    """Return the answer of the first feature that has one."""
    return next((each for each in answers if each is not None), None)


def by_hook(features: Sequence[Feature]) -> dict[str, tuple[Feature, ...]]:
    """Return the features that define each hook, in their order."""
    return {name: tuple(each for each in features
                        if getattr(type(each), name) is not hook)
            for name, hook in vars(Feature).items() if callable(hook)}
