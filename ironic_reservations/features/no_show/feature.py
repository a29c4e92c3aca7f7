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

"""Wakes leases that use none of their nodes."""

from __future__ import annotations

from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.features.no_show import no_show
from ironic_reservations.model import leases


class NoShow(feature.Feature):
    """Leases that use none of their nodes."""

    def is_on(self, engine: Engine) -> bool:
        """Return whether unused nodes are released."""
        return bool(engine.conf.leases.no_show_after)

    def watch(self, context: lease_context.Context,
              lease: leases.Lease) -> lease_context.Outcome:
        """Warn of nodes that are not deployed, or release them."""
        return no_show.watch(context, lease)

    def follow_nodes(self, engine: Engine) -> None:
        """Wake the leases that may have to release nodes."""
        no_show.wake(engine)
