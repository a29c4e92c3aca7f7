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

Each function that is ``planted`` breaks one thing in the process that calls
it; it has the name of the mutation.
"""

from collections.abc import Callable
import dataclasses
import importlib
import pkgutil

from tests.processes import mix

VARIABLE = 'STORM_MUTATION'


@dataclasses.dataclass(frozen=True)
class Mutation:
    """One thing that is broken.

    :ivar found_as: the rule of the checker that it breaks.
    :ivar best: the storm that shows it soonest.
    :ivar kept_by: the tests of the gate that notice it.
    :ivar apply: breaks this process.
    """

    found_as: str
    best: mix.Best
    kept_by: tuple[str, ...]
    apply: Callable[[], None]


_planted: dict[str, Mutation] = {}


def planted(found_as: str, best: mix.Best, *kept_by: str
            ) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Return what makes a mutation of a function, as :class:`Mutation`."""
    def plant(apply: Callable[[], None]) -> Callable[[], None]:
        _planted[apply.__name__] = Mutation(found_as, best, kept_by, apply)
        return apply
    return plant


def every() -> dict[str, Mutation]:
    """Return all mutations by their names."""
    # NOTE: not before, since they import all that they break.
    for each in pkgutil.iter_modules(__path__):
        importlib.import_module(f'{__name__}.{each.name}')
    return dict(sorted(_planted.items()))


def names() -> list[str]:
    """Return the names of all mutations."""
    return list(every())


def apply(name: str) -> None:
    """Break this process.

    :param name: one of :func:`names`.
    """
    every()[name].apply()
