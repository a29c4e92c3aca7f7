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


"""How many hosts of a class a project may have, nobody looks at."""

from __future__ import annotations

import dataclasses
from typing import Any

from ironic_reservations.features.limits import configured
from ironic_reservations.model import limits
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'lease': 2, 'reserve': 1}, instances=0.0, all_hosts=1.0,
    of_class={'gold': 1}, reserved_of_class={'gold': 1}), 'sqlite',
    seconds=60)
FOUND_AS = 'too much for a project'
KEPT_BY = (
    'tests.inprocess.engine.test_class_limits.TestHosts.'
    'test_no_more_at_once_of_a_class_and_of_others_as_before',)


def apply() -> None:
    """Break this process."""
    whole = configured.of

    def broken(*arguments: Any, **more: Any) -> limits.Limits:
        return dataclasses.replace(whole(*arguments, **more),
                                   max_hosts_per_class={}, max_per_class={})
    configured.of = broken
