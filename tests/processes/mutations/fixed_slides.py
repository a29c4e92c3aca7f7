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


"""Leases slide for others although it is too late to tell their owners."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

from ironic_reservations.features.open_dates import rows as db_open_dates
from ironic_reservations.features.open_dates import slides
from ironic_reservations.model import leases
from tests.processes import mix

_NEVER = datetime.datetime(9999, 1, 1, tzinfo=datetime.UTC)
BEST = mix.Best(mix.Mix(
    faults={}, lives={'lease': 1}, instances=0.0, all_hosts=1.0,
    open_dates=0.7, fix_before=(5, 60), starts=(3, 10),
    classes={'gold': 3}), 'sqlite', seconds=120)
FOUND_AS = 'dates moved'
KEPT_BY = (
    'tests.inprocess.engine.test_flexible.TestSlides.'
    'test_not_once_it_is_fixed',)


def apply() -> None:
    """Break this process."""
    whole = db_open_dates.read_loose

    def of_all(now: Any) -> Any:
        there = db_open_dates._s
        return ((there.between_from.is_not(None))
                & (there.status == leases.LeaseStatus.PENDING.value)
                & (there.starts_at > now))

    def as_if_loose(*arguments: Any) -> Any:
        found, is_all = whole(*arguments)
        return [dataclasses.replace(each, between=dataclasses.replace(
            each.between, fix_at=_NEVER)) for each in found], is_all
    assert db_open_dates._loose and slides.fixed_from
    db_open_dates._loose = of_all
    db_open_dates.read_loose = as_if_loose
    slides.fixed_from = lambda *arguments: ()
