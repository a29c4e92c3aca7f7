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
from ironic_reservations.features.placement.decisions import differences

LOG = log.getLogger(__name__)


def recover(engine: Engine) -> None:
    """Release holds without a promise, and complete interrupted ones."""
    hold_recovery.release_forsaken(engine)
    hold_recovery.recover(engine)


def audit(engine: Engine, repair: bool,
          everything: bool = False) -> placement_audit.Report:
    """Compare, repair differences, and store the result.

    :param repair: whether to repair anything.
    :param everything: check each node, also if it was in order.
    """
    if repair:
        deployed_holds.hand_over_all(engine)
    report = placement_audit.audit(engine, everything)
    if repair:
        report = dataclasses.replace(report, repairs=placement_repair.repair(
            engine, report.differences))
    _log(report)
    _write(engine, report)
    return report


def _log(report: placement_audit.Report) -> None:
    remaining = {*report.remaining}
    for difference in report.differences:
        remains = difference in remaining
        LOG.log(log.WARNING if remains else log.INFO,
                'Placement %(how)s for node %(node)s: %(what)s', {
                    'how': 'differs' if remains else 'differed',
                    'node': difference.node_uuid,
                    'what': difference.detail})


def _write(engine: Engine, report: placement_audit.Report) -> None:
    now = engine.clock()

    def attempt() -> None:
        with engine.database.write() as connection:
            placement_drift.write(connection, {
                kind: placement_drift.Drift(
                    _count(kind, report.differences),
                    _count(kind, report.remaining), now)
                for kind in differences.Kind})
    retry.until_committed(attempt)


def _count(kind: differences.Kind,
           found: Sequence[differences.Difference]) -> int:
    return sum(each.kind is kind for each in found)
