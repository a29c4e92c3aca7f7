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


"""The previous release, as it is checked out, and what it does not know.

Nobody can ask for what one of the APIs does not know, nor judge by a rule that
it does not keep: a storm with a previous release is one of what that knows.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import pathlib
import re
from typing import Any

from tests.processes import mix as mixes

PACKAGE = 'ironic_reservations'
#: What there is none of, where no module of the previous release has the word.
#: A release that adds to the storm writes here what its predecessor lacks.
SINCE: Mapping[str, Mapping[str, Any]] = {}


@dataclasses.dataclass(frozen=True)
class Release:
    """A release, by the words in its modules."""

    words: frozenset[str]

    @classmethod
    def checked_out(cls, checkout: pathlib.Path) -> Release:
        """Read the modules of a checkout.

        :raises FileNotFoundError: there is no such package in it.
        """
        modules = sorted((checkout / PACKAGE).rglob('*.py'))
        if not modules:
            raise FileNotFoundError(
                f'{checkout} has no package {PACKAGE}. It has to be a '
                'checkout of a release of this project.')
        return cls(frozenset(
            word for module in modules
            for word in re.findall(r'\w+', module.read_text())))

    def narrow(self, mix: mixes.Mix,
               since: Mapping[str, Mapping[str, Any]]) -> mixes.Mix:
        """Return a mix without what the release does not know.

        :param since: as :data:`SINCE`.
        """
        for word, without in since.items():
            if word not in self.words:
                mix = dataclasses.replace(mix, **without)
        return mix
