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

"""What a database has lost that went back, and what is not judged for it.

A replica that lacked the last commits was promoted, or a dump was restored.
What clients were told meanwhile need not hold any more; all that is said
afterwards has to hold as ever, and nobody may have what another one has.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import json
import re

from tests.processes.checker import history

#: How long, in seconds, a commit may take until its replica has it.
_LAG = 2.0
_UUID = re.compile('[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')
#: Rules that remember a promise: what it was once is compared with what it
#: is now. The other rules are about one moment, or about what is sure.
_REMEMBERING = frozenset((
    'not as lent', 'dates moved', 'started late', 'deployed in maintenance',
    'promised across maintenance', 'maintenance of another', 'not told',
    'charged wrong', 'too much for a project', 'lent for too long',
    'made twice', 'untrue answer'))


@dataclasses.dataclass(frozen=True)
class Gone:
    """What was committed in some time is lost.

    :ivar since: from when on.
    :ivar until: when the database that had it was there last.
    """

    since: float
    until: float

    def has(self, told: history.Exchange) -> bool:
        """Return whether what an answer tells may be lost."""
        return told.sent <= self.until and told.got >= self.since - _LAG


def find(told: history.History) -> tuple[Gone, ...]:
    """Return all that was lost, in its order."""
    return tuple(Gone(fault['since'], fault['until'])
                 for fault in told.faults if 'since' in fault)


class Excuses:
    """What is not found, since it may have been lost meanwhile."""

    def __init__(self, told: history.History) -> None:
        self._gone = find(told)
        self._first: dict[str, float] = {}
        if self._gone:
            for each in sorted(told.exchanges, key=lambda each: each.sent):
                for ident in _named(each):
                    self._first.setdefault(ident, each.sent)

    def holds(self, rule: str, at: float, idents: Iterable[str]) -> bool:
        """Return whether something of what it is about may be lost.

        :param rule: that it breaks.
        :param at: when it was found.
        :param idents: of what it is about.
        """
        return rule in _REMEMBERING and any(
            at >= gone.since - _LAG
            and any(self._first.get(ident, 0.0) <= gone.until
                    for ident in idents)
            for gone in self._gone)


def _named(each: history.Exchange) -> Iterator[str]:
    yield from _UUID.findall(each.path)
    yield from _UUID.findall(json.dumps([each.body, each.answer]))
