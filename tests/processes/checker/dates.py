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


"""Whether the dates of leases keep to what was shown of them before.

An answer that shows a lease says something of all that are asked for later:
until somebody sends what may change or end it, or while that may still be
under way, its dates do not change; those that it leaves open, within their
limits; and the start of one that waits, only to an earlier one.  The answer
to who leaves dates open, or changes what is left open, shows what was asked
for.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
import dataclasses
import math
from typing import Any

from tests.processes.checker import history
from tests.processes.checker import owners
from tests.processes.checker import unused

_LIVE = ('PENDING', 'STARTING', 'ACTIVE')
#: How far, in seconds, dates may be off: what is shown is rounded.
_GRAIN = 0.01
#: How far, in seconds, the clock of the database may be off the one of all.
_CLOCKS = 2.0


@dataclasses.dataclass(frozen=True)
class Dates:
    """The dates of a lease in an answer, in seconds of the one clock.

    :ivar status: of the lease.
    :ivar until: when somebody sent what may have changed them.
    :ivar between: as it was left open, ``None`` where it was not.
    :ivar fixed: whether they do not change by themselves any more.
    :ivar promised: when one that was queued starts at the latest.
    """

    exchange: history.Exchange
    status: str
    until: float
    start: float
    end: float
    fixed: bool
    between: tuple[float, float] | None = None
    fix_before: float = 0.0
    promised: float | None = None


def moved(told: history.History
          ) -> Iterator[tuple[str, history.Exchange, str]]:
    """Return the leases whose dates are not what was promised.

    :returns: the lease, the answer that shows it, and what is wrong.
    """
    kept = unused.Unused(told).soonest()
    for lease, answers in shown(told).items():
        for number, after in enumerate(answers):
            known = _before(answers[:number], after)
            told.judged['dates moved'] += bool(known)
            text = next(
                (text for before in known
                 if (text := _wrong(before, after, kept, told.quiet))),
                _odd(after) or _not_as_asked(told, after))
            if text:
                yield lease, after.exchange, text
                break


def shown(told: history.History) -> dict[str, list[Dates]]:
    """Return what answers show of each lease, in the order of asking."""
    writes: dict[str, list[history.Exchange]] = collections.defaultdict(list)
    for each in told.exchanges:
        if each.method in ('PUT', 'DELETE') and not each.dry and (
                not each.refused):
            writes[each.plain_path].append(each)
    found: dict[str, list[Dates]] = collections.defaultdict(list)
    for each in told.exchanges:
        if each.dry or not each.done:
            continue
        for lease in owners.leases_in(each.answer):
            if lease['status'] in _LIVE and 'fixed' in lease:
                found[lease['id']].append(_dates(told, each, lease, writes[
                    f'{owners.LEASES}/{lease["id"]}']))
    return found


def _dates(told: history.History, each: history.Exchange,
           lease: dict[str, Any], writes: list[history.Exchange]) -> Dates:
    between, promised = lease['between'], lease['promised_start']
    return Dates(
        each, lease['status'], min(
            (by.sent for by in writes
             if by is not each and by.over(told.late) > each.sent),
            default=math.inf),
        told.at(lease['start_date']), told.at(lease['end_date']),
        lease['fixed'],
        None if between is None else (told.at(between[0]),
                                      told.at(between[1])),
        lease['fix_before'] or 0.0,
        None if promised is None else told.at(promised))


def _before(answers: list[Dates], after: Dates) -> list[Dates]:
    """Return what was shown before, and holds for an answer."""
    return [before for before in answers
            if before.exchange.got <= after.exchange.sent
            and after.exchange.got <= before.until]


def _wrong(before: Dates, after: Dates, kept: float, quiet: float) -> str:
    """Return what is wrong about an answer after another one.

    :param kept: how long a lease surely keeps nodes that nobody deploys: one
        that has lost all of them is over.
    :param quiet: from when on nothing is decided long before it is written.
    """
    was, became = before.start, after.start
    released = (after.status == 'ACTIVE' and after.end < before.end
                and after.end >= after.start + kept - _GRAIN)
    lasted, lasts = before.end - before.start, after.end - after.start
    if not released and abs(lasts - lasted) > _GRAIN:
        return f'it lasts {lasts:.2f} s, and was to last {lasted:.2f} s'
    if before.promised is not None:
        promised = after.promised
        if promised is None or promised > before.promised + _GRAIN:
            return (f'its start was promised for {before.promised:.2f}, and '
                    f'is promised for {promised}')
        return (f'it starts at {became:.2f}, and was promised for '
                f'{before.promised:.2f}'
                if became > before.promised + _GRAIN else '')
    if before.between != after.between:
        return f'it was open in {before.between}, and is in {after.between}'
    if abs(became - was) <= _GRAIN:
        return ''
    if before.fixed:
        return f'it starts at {became:.2f}, and was fixed for {was:.2f}'
    asked = before.exchange.sent
    if quiet <= asked and was - before.fix_before + _CLOCKS < asked:
        return (f'it starts at {became:.2f}, and was to be fixed for '
                f'{was:.2f} by {was - before.fix_before:.2f}')
    nearest = asked + before.fix_before - _CLOCKS
    return (f'it was moved to {became:.2f}, nearer than {nearest:.2f}'
            if became < nearest else '')


def _odd(answer: Dates) -> str:
    """Return what is wrong about an answer by itself."""
    if answer.between is not None and not (
            answer.between[0] - _GRAIN <= answer.start
            and answer.end <= answer.between[1] + _GRAIN):
        return (f'it is from {answer.start:.2f} until {answer.end:.2f}, and '
                f'is to be in {answer.between}')
    return ''


def _not_as_asked(told: history.History, answer: Dates) -> str:
    """Return what is wrong about the answer to who asked for open dates."""
    by = answer.exchange
    asked = by.body
    if by.method not in ('POST', 'PUT') or not isinstance(asked, dict):
        return ''
    between = asked.get('between')
    if between is not None:
        window = tuple(told.at(each) for each in between)
        if answer.between is None or any(
                abs(one - other) > _GRAIN for one, other
                in zip(window, answer.between, strict=True)):
            return f'it was asked for in {window}, and is in {answer.between}'
    length, notice = asked.get('duration'), asked.get('fix_before')
    lasts = answer.end - answer.start
    if length is not None and abs(lasts - length) > _GRAIN:
        return f'it was to last {length} s, and lasts {lasts:.2f} s'
    if notice is not None and answer.fix_before != notice:
        return (f'it was to be fixed {notice} s before its start, and is '
                f'{answer.fix_before} s before')
    return ''
