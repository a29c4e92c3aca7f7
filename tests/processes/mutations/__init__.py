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


"""The product, broken on purpose: what tests and the checker have to find.

Each module has a function ``apply`` that breaks one thing in the process
that calls it; ``BEST``, the storm that shows it soonest; ``FOUND_AS``, the
rule of the checker that it breaks; and ``KEPT_BY``, the tests of the gate that
notice it.
"""

from __future__ import annotations

import importlib
import pkgutil

from tests.processes import mix

VARIABLE = 'STORM_MUTATION'


def names() -> list[str]:
    """Return the names of all mutations."""
    return sorted(each.name for each in pkgutil.iter_modules(__path__))


def best(name: str) -> mix.Best:
    """Return the storm that shows soonest what a mutation breaks."""
    found = importlib.import_module(f'{__name__}.{name}').BEST
    assert isinstance(found, mix.Best)
    return found


def found_as(name: str) -> str:
    """Return the rule of the checker that a mutation breaks."""
    return str(importlib.import_module(f'{__name__}.{name}').FOUND_AS)


def kept_by(name: str) -> tuple[str, ...]:
    """Return the tests of the gate that notice a mutation."""
    found = importlib.import_module(f'{__name__}.{name}').KEPT_BY
    assert isinstance(found, tuple)
    return found


def apply(name: str) -> None:
    """Break this process.

    :param name: one of :func:`names`.
    """
    importlib.import_module(f'{__name__}.{name}').apply()
