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

"""How many examples a property is tried with, and which.

The gate draws a third of them, the same ones each time; the long run draws
all, others each time, from a seed that it prints.
"""

from __future__ import annotations

import os

import hypothesis

_SEED = os.environ.get('IRONIC_RESERVATIONS_TEST_SEED')
#: How many times as many are drawn.
_TIMES = float(os.environ.get('IRONIC_RESERVATIONS_TEST_EXAMPLES')
               or (1 if _SEED else 1 / 3))


def begin() -> None:
    """Choose how the properties of this process draw their examples."""
    # NOTE: how long an example takes is the machine's affair.
    hypothesis.settings.register_profile(
        'tests', deadline=None, derandomize=not _SEED, database=None,
        print_blob=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow])
    hypothesis.settings.load_profile('tests')
    if _SEED:
        hypothesis.core.global_force_seed = int(_SEED)


def drawn(count: int) -> int:
    """Return how many of so many examples are drawn."""
    return max(1, round(count * _TIMES))


def settings(count: int) -> hypothesis.settings:
    """Return settings that draw so many examples in the long run."""
    return hypothesis.settings(max_examples=drawn(count))
