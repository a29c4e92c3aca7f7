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
from ironic_reservations.features.placement.audit import auditing
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.audit import drift
from ironic_reservations.features.placement.audit import repairs
from ironic_reservations.features.placement.holds import handover
from ironic_reservations.features.placement.holds import recovery

LOG = log.getLogger(__name__)


def recover(engine: Engine) -> None:
    """Release holds without a promise, and complete interrupted ones."""
    recovery.release_forsaken(engine)
    recovery.recover(engine)


def audit(engine: Engine, repair: bool,
          everything: bool = False) -> auditing.Report:
    """Compare Placement with our rows, and store the result.

    :param repair: whether to repair the differences.
    :param everything: check each node, also if it was in order.
    """
    if repair:
        handover.hand_over_all(engine)
    report = auditing.audit(engine, everything)
    if repair:
        report = dataclasses.replace(report, repairs=repairs.repair(
            engine, report.differences))
    _log(report)
    _write(engine, report)
    return report


def _log(report: auditing.Report) -> None:
    remaining = {*report.remaining}
    for difference in report.differences:
        remains = difference in remaining
        LOG.log(log.WARNING if remains else log.INFO,
                'Placement %(how)s for node %(node)s: %(what)s', {
                    'how': 'differs' if remains else 'differed',
                    'node': difference.node_uuid,
                    'what': difference.detail})


def _write(engine: Engine, report: auditing.Report) -> None:
    now = engine.clock()
    retry.write(engine, lambda connection: drift.write(connection, {
        kind: drift.Drift(_count(kind, report.differences),
                          _count(kind, report.remaining), now)
        for kind in differences.Kind}))


def _count(kind: differences.Kind,
           found: Sequence[differences.Difference]) -> int:
    return sum(each.kind is kind for each in found)
