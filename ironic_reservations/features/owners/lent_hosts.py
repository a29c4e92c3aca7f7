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

"""The owners of hosts, and the periods for which they lend them."""

from __future__ import annotations

import dataclasses
import datetime

from oslo_config import cfg

from ironic_reservations.engine import feature
from ironic_reservations.model import instants
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states
from ironic_reservations.planner import loans as loans_module

#: The maximum number of cached sets of hosts.
_SETS = 1000


class LentHosts(feature.HostLimits):
    """The owners of all hosts.

    :param conf: [leases] owner_notice.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        #: The hosts of each owner, and the owner of each host.
        self._owned: dict[str, int] = {}
        self._owners: dict[int, str | None] = {}
        self._narrowed: dict[tuple[int, str | None], int] = {}

    def put(self, number: int, here: host_states.HostState | None) -> bool:
        """Set the owner of a host."""
        owner = None if here is None else here.host.node.owner or None
        before = self._owners.get(number)
        if owner == before:
            return False
        self._owners[number] = owner
        self._narrowed.clear()
        if before is not None:
            self._owned[before] &= ~(1 << number)
            if not self._owned[before]:
                del self._owned[before]
        if owner is not None:
            self._owned[owner] = self._owned.get(owner, 0) | 1 << number
        return bool(self._notice())

    def loans(self, instant: int) -> loans_module.Loans:
        """Return the loans of hosts as of an instant."""
        notice = self._notice()
        return loans_module.Loans(
            dict(self._owned), loans_module.until(instant, notice)
        ) if notice else loans_module.NONE

    def narrow(self, here: host_states.HostState,
               drawn: list[bookings.Booking], now: datetime.datetime,
               margin: int) -> tuple[list[bookings.Booking], list[int]]:
        """Return bookings that move only to hosts that are lent for long
        enough.

        A booking may stay on its present host, even if that has got another
        owner, and a plan may move it away and back.
        """
        notice = self._notice()
        if not (self._owned and notice):
            return drawn, []
        there = loans_module.Loans(self._owned, loans_module.until(
            instants.instant(now), notice))
        projects = {host_states.name(row): row.project_id
                    for row, _ in here.promised}
        narrowed, longer = [], []
        for each in drawn:
            # On another host it needs all of its margin.
            until = each.end + margin
            if each.movable and each.id in projects and until > there.until:
                eligible = self._narrow(each.eligible, projects[each.id],
                                        there)
                own = each.eligible & 1 << each.node
                if own & ~eligible:
                    eligible |= own
                if eligible != each.eligible:
                    each = dataclasses.replace(each, eligible=eligible)
                    longer.append(loans_module.since(until, notice))
            narrowed.append(each)
        return narrowed, longer

    def _narrow(self, eligible: int, project_id: str | None,
                there: loans_module.Loans) -> int:
        # Equal sets are one object, which makes the planner faster.
        key = (eligible, project_id)
        if key not in self._narrowed:
            if len(self._narrowed) > _SETS:
                self._narrowed.clear()
            self._narrowed[key] = eligible & ~there.to(project_id)
        return self._narrowed[key]

    def _notice(self) -> int:
        notice: int = self._conf.leases.owner_notice * instants.SECOND
        return notice
