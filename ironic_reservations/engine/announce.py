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

"""Telling whoever listens what became of a reservation.

Over oslo.messaging, as the operator configures it; by default nobody is told
and no broker is needed.
"""

from __future__ import annotations

from typing import Any

from oslo_config import cfg
from oslo_log import log
import oslo_messaging

from ironic_reservations.objects import reservation as carried
from ironic_reservations.planner import facts

LOG = log.getLogger(__name__)

CREATE = 'reservation.create'
UPDATE = 'reservation.update'
DELETE = 'reservation.delete'

#: Why a reservation ended that nobody took back.
EXPIRED = 'expired'


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

    def tell(self, event: str, reservation: facts.Reservation,
             reason: str | None = None) -> None:
        """Send a notification.

        A failure is logged: what was promised stays promised.

        :param event: one of the events above.
        :param reason: why, where it was not by request.
        """
        if self._notifier is None:
            return
        try:
            self._notifier.info({}, event,
                                carried.payload(reservation, reason))
        except Exception:
            LOG.exception('The notification %s of the reservation for '
                          'instance %s could not be sent', event,
                          reservation.instance_uuid)
