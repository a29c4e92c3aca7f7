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
from collections.abc import Sequence
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.open_dates import slides
from ironic_reservations.features.owners import asked_back
from ironic_reservations.features.owners import lent
from ironic_reservations.features.owners import notice_quota
from ironic_reservations.model import leases


@dataclasses.dataclass
class _Part(feature.Part):
    """The lessees to notify after one change.

    :ivar notified: the lessees that have got a notice.
    """

    engine: Engine
    change: change_module.Change
    quota: notice_quota.NoticeQuota
    lessees: Sequence[asked_back.Lessee]
    notified: Sequence[asked_back.Lessee] = ()

    def write(self, connection: sa.Connection) -> None:
        """Write the notices."""
        self.notified = asked_back.write(self.engine, connection,
                                         self.lessees, self.change.planned_at)

    def committed(self) -> None:
        """Send the notifications."""
        asked_back.notify(self.engine, self.quota, self.notified,
                          self.change.planned_at)


class Owners(feature.Feature):
    """Hosts that their owners lend, and want back."""

    def __init__(self) -> None:
        self._quota = notice_quota.NoticeQuota()

    def lent(self, engine: Engine, found: Collection[leases.Lease]
             ) -> Mapping[str, Mapping[str, datetime.datetime]]:
        """Read the loans; see :mod:`.lent`."""
        return lent.read(engine, found)

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Return the lessees of hosts that owners get back by a change."""
        if change.snapshot is None:
            return None
        sliding = [
            slides.Change(write.before, write.after)
            for write in change.of_leases
            if write.cause is change_module.Cause.SLID
            and write.before is not None and write.after is not None]
        written = [write for write in change.of_leases
                   if write.cause is not change_module.Cause.SLID]
        lessees = asked_back.find(
            engine, change.snapshot, change.difference.homes, sliding,
            *((written[0].after, written[0].before) if written else ()))
        return _Part(engine, change, self._quota, lessees) if lessees else None
