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

"""Notifications about reservations and leases.

They are sent with oslo.messaging, as the operator configures it; by default
none are sent, and no broker is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oslo_config import cfg
from oslo_log import log
import oslo_messaging

from ironic_reservations.engine import audit_trail
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
#: The events of a lease that come with the time.
LEASE_EVENTS = {kind: f'lease.event.{kind.value}'
                for kind in leases.EventType}

#: A reservation has reached its end without a request to delete it.
EXPIRED = 'expired'
#: Without a request, a lease has fewer nodes than promised, or other ones.
DEGRADED = 'degraded'
REPLACED = 'replaced'
#: Ironic has carried out a late request on a node of somebody else.
OVERTAKEN = 'overtaken'


def notifier_of(conf: cfg.ConfigOpts) -> Any:
    """Return a notifier of oslo.messaging; ``None``: nothing is sent.

    :param conf: the options of [oslo_messaging_notifications].
    :raises oslo_config.cfg.Error: [DEFAULT] transport_url is not usable.
    """
    try:
        # This also registers the options.
        transport = oslo_messaging.get_notification_transport(conf)
    except oslo_messaging.DriverLoadFailure as exc:
        raise cfg.ConfigFileValueError(
            f'[DEFAULT] transport_url is not usable: {exc}') from exc
    except (oslo_messaging.InvalidTransportURL, ValueError) as exc:
        # The error may contain the URL, which has a password.
        raise cfg.ConfigFileValueError(
            '[DEFAULT] transport_url is no URL of a message bus, such as '
            'rabbit://USER:PASSWORD@HOST:5672/') from exc
    if not conf.oslo_messaging_notifications.driver:
        return None
    # A request must not wait for a bus that is down.
    return oslo_messaging.Notifier(transport, 'ironic-reservations', retry=0)


class Announcer:
    """Sends notifications about committed changes.

    :param notifier: a notifier of oslo.messaging; ``None``: nothing is sent.
    :param audit: the record of changes that no request has made.
    :ivar sends: whether there is a message bus.
    """

    def __init__(self, notifier: Any, audit: audit_trail.AuditTrail) -> None:
        self._notifier = notifier
        self._audit = audit
        self.sends = notifier is not None

    def notify(self, event: str, reservation: node_reservation.Reservation,
               reason: str | None = None) -> None:
        """Send a notification about a reservation.

        A failure is only logged, since the change has been committed.

        :param event: one of the events above.
        :param reason: the cause of a change that no request has made.
        """
        if reason is not None:
            # The API records the changes that a caller has requested.
            self._audit.record(
                audit_trail.Way.SERVICE, event.rpartition('.')[2],
                'reservation', audit_trail.digest(reservation.uuid),
                code=reason, name=event)
        if self._notifier is not None:
            self._send(event, lambda: carried.payload(reservation, reason),
                       f'reservation for instance {reservation.instance_uuid}')

    def notify_lease(self, event: str, lease: leases.Lease,
                     reason: str | None = None) -> None:
        """Send a notification about a lease.

        A failure is only logged, since the change has been committed.

        :param event: one of the events above, or an event of a feature.
        :param reason: the cause of a change that no request has made.
        """
        if reason is not None or event not in (LEASE_CREATE, LEASE_UPDATE,
                                               LEASE_DELETE):
            self._audit.record(
                audit_trail.Way.SERVICE, 'update', 'lease', lease.id,
                code=reason, name=event)
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
