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


"""The events round a finding, for the one who looks for its cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.processes.checker import findings
from tests.processes.checker import history

_BEFORE = 60.0
_AFTER = 5.0
_MOST = 80
_LISTS = ('list', 'list-leases', 'nodes', 'see', 'audit')


def tell(told: history.History, found: findings.Finding) -> str:
    """Return a finding with its story, one event a line."""
    events = sorted(_events(told, found), key=lambda each: each[0])
    events = [each for each in events
              if found.at - _BEFORE <= each[0] <= found.at + _AFTER]
    lines = [f'{found.rule}: {found.about}: {found.text}']
    lines += [f'    {at - found.at:+8.2f} s  {text}'
              for at, text in events[-_MOST:]]
    return '\n'.join(lines)


def _events(told: history.History, found: findings.Finding
            ) -> Iterator[tuple[float, str]]:
    names = (found.about, *found.others)
    for each in told.exchanges:
        # NOTE: not whoever merely lists it among others.
        said = each.path + str(each.body) + (
            str(each.answer) if found.about in each.path
            or each.op not in _LISTS else '')
        if any(name in said for name in names):
            came = 'no answer' if each.status is None else each.status
            yield each.sent, (
                f'{each.who} {each.op}: {each.method} {each.path} '
                f'{_short(each.body)} proof={each.proof} -> '
                f'{came} {each.codes or ""} {_seen(each)} after '
                f'{each.got - each.sent:.2f} s ({each.id})')
    for done in told.done:
        if done.uuid in names:
            yield done.began, f'Ironic writes {done.values} ({done.request})'
    for passed in told.passed:
        if passed.status is not None and any(
                name in passed.path for name in names):
            yield passed.began, (
                f'Ironic is handed {passed.method} {passed.path} '
                f'{_short(passed.body)} and answers {passed.status} '
                f'({passed.request})')
    for fault in told.faults:
        yield fault['at'], 'fault: ' + ', '.join(
            f'{name}={value}' for name, value in fault.items()
            if name not in ('kind', 'at'))


def _short(what: Any) -> str:
    return '' if what is None else str(what)[:160]


def _seen(each: history.Exchange) -> str:
    match each.answer:
        case {'reservation': {'node_uuid': node, 'expires_at': until,
                              'state': state}}:
            return f'[{state} {node} until {until}]'
        case {'lease': {'status': status, 'end_date': until}}:
            return f'[{status} until {until}]'
    return ''
