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


"""The release before, as it is checked out, and what it does not know.

Nobody can ask for what one of the APIs does not know, nor judge by a rule that
it does not keep: a storm with a release before is one of what that knows.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import pathlib
import re
from typing import Any

from tests.processes import mix as mixes

PACKAGE = 'ironic_reservations'
#: What there is none of, where no module of the release has the word.
_SINCE: Mapping[str, Mapping[str, Any]] = {
    'closed_traits': {'all_hosts': 0.0},
    'fix_before': {'open_dates': 0.0},
    'on_refusal': {'queued': 0.0},
    'handovers': {'lives': {name: often for name, often
                            in mixes.LIVES.items() if name != 'act'},
                  'acted_on': 0.0},
    'planned_at': {'lives': {name: often for name, often
                             in mixes.LIVES.items()
                             if name not in ('act', 'repeat')}},
    'maintenances': {'booking': False},
    'no_show_after': {'no_show': {}},
    'max_hosts_per_class': {'of_class': {}},
    'max_per_class': {'reserved_of_class': {}},
    'owner_notice': {'owned': 0.0, 'owner_notice': 0},
    'ReservationEnded': {'keyed': 0.0}}


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

    @property
    def tells(self) -> bool:
        """Whether it writes notices of what becomes of leases."""
        return 'webhook_urls' in self.words

    @property
    def commits(self) -> bool:
        """Whether it tells an enforcement service of what is committed."""
        return 'CommitKind' in self.words

    def narrow(self, mix: mixes.Mix) -> mixes.Mix:
        """Return a mix without what the release does not know."""
        for word, without in _SINCE.items():
            if word not in self.words:
                mix = dataclasses.replace(mix, **without)
        return mix
