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

"""Notifies the lessees of hosts that their owners have leased after them."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import datetime

from oslo_config import cfg

from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.owners import asked_back
from ironic_reservations.features.owners import lent
from ironic_reservations.features.owners import lent_hosts
from ironic_reservations.model import leases


class Owners(feature.Feature):
    """Hosts that their owners lend, and can get back."""

    def is_on(self, engine: Engine) -> bool:
        """Return whether owners can have their hosts back."""
        return bool(engine.conf.leases.owner_notice)

    def narrow(self, conf: cfg.ConfigOpts) -> lent_hosts.LentHosts | None:
        """Return the owners of the hosts of a process, if these matter."""
        return lent_hosts.LentHosts(conf) if conf.leases.owner_notice else None

    def lent(self, engine: Engine, found: Collection[leases.Lease]
             ) -> Mapping[str, Mapping[str, datetime.datetime]]:
        """Read the loans; see :mod:`.lent`."""
        return lent.read(engine, found)

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Notify the lessees of hosts that owners get back by a change."""
        change.events = (*change.events, *asked_back.concerns(
            engine, asked_back.find(engine, change), change.planned_at))
        return None
