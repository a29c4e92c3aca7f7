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

"""Notifications of what became of a reservation or a lease.

Over oslo.messaging, as the operator configures it; by default nobody is told
and no broker is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oslo_config import cfg
from oslo_log import log
import oslo_messaging

from ironic_reservations.features.audit import audit
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation
from ironic_reservations.objects import lease as carried_lease
from ironic_reservations.objects import reservation as carried

LOG = log.getLogger(__name__)

CREATE = 'reservation.create'
UPDATE = 'reservation.update'
DELETE = 'reservation.delete'
LEASE_CREATE = 'lease.create'
LEASE_UPDATE = 'lease.update'
LEASE_DELETE = 'lease.delete'
#: Nodes of a lease are released if nobody deploys them.
NO_SHOW_WARNING = 'lease.no_show_warning'
#: What happens to a lease by the clock.
LEASE_EVENTS = {kind: f'lease.event.{kind.value}'
                for kind in leases.EventType}

#: Why a reservation ended that nobody took back.
EXPIRED = 'expired'
#: Why a lease changed that nobody changed: it has fewer nodes than promised,
#: or others.
DEGRADED = 'degraded'
REPLACED = 'replaced'
#: Or its dates, which its owner left open, have changed, or do not any more.
SLID = 'slid'
FIXED = 'fixed'
MOVED_EARLIER = 'moved_earlier'
#: Nodes were released that nobody has deployed.
NO_SHOW = 'no_show'
#: Nodes that a lease has are booked for maintenance.
MAINTENANCE = 'maintenance'
#: The owner of nodes that a lease has wants them back after it.
ASKED_BACK = 'asked_back'
#: A request that came late was carried out on a node of another's.
OVERTAKEN = 'overtaken'


class Announcer:
    """Sends notifications about what has been committed.

    :param conf: the options of [oslo_messaging_notifications].
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        # NOTE: this also registers the options.
        transport = oslo_messaging.get_notification_transport(conf)
        self._notifier: Any = None
        if conf.oslo_messaging_notifications.driver:
            # NOTE: a request must not wait for a bus that is down.
            self._notifier = oslo_messaging.Notifier(
                transport, 'ironic-reservations', retry=0)
        #: Who did what, for those who have to account for it.
        self.audit = audit.Audit(conf, self._notifier)

    def notify(self, event: str, reservation: node_reservation.Reservation,
               reason: str | None = None) -> None:
        """Send a notification.

        A failure is logged: what was promised stays promised.

        :param event: one of the events above.
        :param reason: why, where it was not by request.
        """
        if reason is not None:
            # NOTE: what was asked for is recorded where it was asked.
            self.audit.record(
                audit.Way.SERVICE, event.rpartition('.')[2], 'reservation',
                audit.digest(reservation.uuid), code=reason, name=event)
        if self._notifier is not None:
            self._send(event, lambda: carried.payload(reservation, reason),
                       f'reservation for instance {reservation.instance_uuid}')

    def notify_lease(self, event: str, lease: leases.Lease,
                     reason: str | None = None) -> None:
        """Send a notification about a lease.

        A failure is logged: what was promised stays promised.

        :param event: one of the events above.
        :param reason: why, where it was not by request.
        """
        if reason is not None or event in (NO_SHOW_WARNING,
                                           *LEASE_EVENTS.values()):
            self.audit.record(
                audit.Way.SERVICE, 'update', 'lease', lease.id, code=reason,
                name=event)
        if self._notifier is not None:
            self._send(event, lambda: carried_lease.payload(lease, reason),
                       f'lease {lease.id}')

    def _send(self, event: str, payload: Callable[[], dict[str, Any]],
              about: str) -> None:
        try:
            self._notifier.info({}, event, payload())
        except Exception:
            LOG.exception('The notification %s of the %s could not be sent',
                          event, about)
