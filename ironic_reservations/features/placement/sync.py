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

"""Brings Placement and our rows into agreement, periodically.

Any number of processes may do this at the same time: work of one process is
found done by the others.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from oslo_log import log

from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.features.placement import audit as placement_audit
from ironic_reservations.features.placement import deployed_holds
from ironic_reservations.features.placement import drift as placement_drift
from ironic_reservations.features.placement import hold_recovery
from ironic_reservations.features.placement import repair as placement_repair
from ironic_reservations.features.placement.decisions import hold_audit

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Audited:
    """The result of an audit with repairs.

    :ivar repairs: ``None``: no repairs were requested.
    """

    report: placement_audit.Report
    repairs: tuple[placement_repair.Repair, ...] | None = None

    @property
    def remaining(self) -> tuple[hold_audit.Difference, ...]:
        """The differences that remain."""
        if self.repairs is None:
            return self.report.differences
        return tuple(each.difference for each in self.repairs
                     if not each.done)


def recover(engine: Engine) -> None:
    """Release holds without a promise, and complete interrupted ones."""
    hold_recovery.release_forsaken(engine)
    hold_recovery.recover(engine)


def audit(engine: Engine, repair: bool, everything: bool = False) -> Audited:
    """Compare, repair differences, and store the result.

    :param repair: whether to repair anything.
    :param everything: check each node, also if it was in order.
    """
    if repair:
        deployed_holds.hand_over_all(engine)
    report = placement_audit.audit(engine, everything)
    repairs = (tuple(placement_repair.repair(engine, report)) if repair
               else None)
    audited = Audited(report, repairs)
    _log(audited)
    _write(engine, audited)
    return audited


def _log(audited: Audited) -> None:
    for difference in audited.report.differences:
        LOG.log(log.WARNING if difference in audited.remaining else log.INFO,
                'Placement %(how)s for node %(node)s: %(what)s', {
                    'how': ('differs' if difference in audited.remaining
                            else 'differed'),
                    'node': difference.node_uuid,
                    'what': difference.detail})


def _write(engine: Engine, audited: Audited) -> None:
    now = engine.clock()

    def attempt() -> None:
        with engine.database.write() as connection:
            placement_drift.write(connection, {
                kind: placement_drift.Drift(
                    _count(kind, audited.report.differences),
                    _count(kind, audited.remaining), now)
                for kind in hold_audit.Kind})
    retry.until_committed(attempt)


def _count(kind: hold_audit.Kind,
           differences: Sequence[hold_audit.Difference]) -> int:
    return sum(each.kind is kind for each in differences)
