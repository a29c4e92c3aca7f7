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

"""A notification driver for Ironic, which updates the mirror at once.

In ``ironic.conf``::

    [DEFAULT]
    notification_level = info
    transport_url = fake://
    [oslo_messaging_notifications]
    driver = ironic_reservations

Ironic then passes each of its notifications to this driver, in its own
process and without a broker.  Polling continues; this only makes it faster.
"""

from __future__ import annotations

from typing import Any

from oslo_messaging.notify import notifier

from ironic_reservations.reconciler import loops

_PREFIX = 'baremetal.node.'


class MirrorDriver(notifier.Driver):  # type: ignore[misc]
    """Mirrors a node again when Ironic notifies of a change."""

    def notify(self, context: Any, message: dict[str, Any], priority: str,
               retry: int) -> None:
        """Handle a notification of Ironic."""
        running = loops.current()
        if running is None or not message.get('event_type', '').startswith(
                _PREFIX):
            return
        payload = message.get('payload', {}).get('ironic_object.data', {})
        uuid = payload.get('uuid')
        if uuid:
            running.request_refresh(uuid)
