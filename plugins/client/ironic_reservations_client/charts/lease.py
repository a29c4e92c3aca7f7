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

"""A chart of the plan of a lease."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import datetime
from typing import Any

from rich import box
from rich import console
from rich import table
from rich import text

from ironic_reservations_client import counted
from ironic_reservations_client import times
from ironic_reservations_client.charts import timescale

_STYLES = {
    'PENDING': 'yellow', 'STARTING': 'yellow', 'ACTIVE': 'bold green',
    'TERMINATING': 'yellow', 'ERROR': 'bold red', 'pending': 'yellow',
    'active': 'bold green', 'error': 'bold red', 'planned': 'yellow',
    'bound': 'bold green', 'DONE': 'green', 'IN_PROGRESS': 'yellow',
}
_EVENTS = {'start_lease': 'start', 'before_end_lease': 'end is near',
           'end_lease': 'end'}


class LeasePlan:
    """The window of a lease, its nodes, and its future events.

    :param plan: the lease, as ``osc.lease_plan.plan`` returns it.
    :param now: the time.
    :param local: whether times are in the zone of this machine.
    """

    def __init__(self, plan: Mapping[str, Any],
                 now: datetime.datetime, local: bool = False) -> None:
        self._plan = plan
        self._now = now
        self._local = local

    def __rich_console__(self, _console: console.Console,
                         options: console.ConsoleOptions
                         ) -> Iterator[console.RenderableType]:
        plan = self._plan
        start, end = (times.parsed(plan['start_date']),
                      times.parsed(plan['end_date']))
        yield text.Text.assemble((plan['name'], 'bold'), '  ',
                                 _styled(plan['status']), f'  {plan["id"]}')
        yield text.Text(f'{times.shown(start, self._local)} until '
                        f'{times.shown(end, self._local)} '
                        f'({times.shown_duration(end - start)}); '
                        + self._now_is(start, end))
        if not plan['fixed']:
            first, last = (times.shown(times.parsed(each), self._local)
                           for each in plan['between'])
            before = datetime.timedelta(seconds=plan['fix_before'])
            yield text.Text(
                f'Not fixed: may be moved between {first} and {last}, until '
                f'{times.shown_duration(before)} before its start')
        elif plan['between'] and self._now < start:
            yield text.Text('Fixed: its dates no longer change automatically')
        if plan['queued']:
            yield text.Text('Queued: starts earlier than this when hosts '
                            'become free, and never later')
        for sentence in (
                plan['waiting'] and f'Waiting for: {plan["waiting"]}',
                plan['degraded'] and 'Degraded: '
                + (plan['degraded_reason']
                   or 'the lease has less than it was promised.')
                + ' "reservation lease set --heal" plans it again.'):
            if sentence:
                yield text.Text(sentence, 'bold red')
        if room := _room(plan.get('moves') or {}):
            yield text.Text(room)
        yield text.Text()
        yield from self._line(start, end, options)
        yield text.Text()
        yield self._events(options)
        for reservation in plan['reservations']:
            yield text.Text()
            yield from _reservation(reservation, options, self._local)

    def _now_is(self, start: datetime.datetime,
                end: datetime.datetime) -> str:
        if self._now < start:
            return f'starts in {times.shown_duration(start - self._now)}'
        if self._now < end:
            return f'ends in {times.shown_duration(end - self._now)}'
        return f'ended {times.shown_duration(self._now - end)} ago'

    def _line(self, start: datetime.datetime, end: datetime.datetime,
              options: console.ConsoleOptions) -> Iterator[text.Text]:
        """Return the line of the window; it begins now for a future window."""
        begin = min(start, self._now)
        scale = timescale.Timescale.within(
            options.max_width - 3, begin, max(end, self._now), self._local)
        free, held, past, here = '.=#|' if options.ascii_only else '·▒█┃'
        first, last = scale.column(start), scale.column(end)
        now = scale.column(self._now)
        line = text.Text('  ')
        for column in range(scale.columns):
            if column == now:
                line.append(here, 'bold')
            elif first <= column <= last:
                line.append(*((past, 'green') if column < now
                              else (held, 'yellow')))
            else:
                line.append(free, 'dim')
        yield line
        yield scale.labels(2)

    def _events(self, options: console.ConsoleOptions) -> table.Table:
        events = _table(options, 'Event', 'Time', 'Status')
        order = list(_EVENTS)
        for event in sorted(self._plan['events'], key=lambda each: (
                each['time'], order.index(each['event_type'])
                if each['event_type'] in order else len(order))):
            events.add_row(
                _EVENTS.get(event['event_type'], event['event_type']),
                times.shown(times.parsed(event['time']), self._local),
                _styled(event['status']))
        return events


def _room(moves: Mapping[str, Any]) -> str:
    """Return a sentence about the leases that make room; empty without any."""
    said = [_moved(each) for each in moves.get('leases', ())]
    others = moves.get('others')
    if others:
        said.append(f'{counted.counted(others, "lease")} of others would move')
    return f'To make room, {"; ".join(said)}.' if said else ''


def _moved(each: Mapping[str, Any]) -> str:
    hosts = len(each['nodes'])
    said = []
    if each['shift']:
        said.append(f'start {times.shown_shift(each["shift"])}')
    if hosts:
        said.append(f'move to {counted.counted(hosts, "other host")}')
    return f'{each["name"]} would {" and ".join(said)}'


def _reservation(reservation: Mapping[str, Any],
                 options: console.ConsoleOptions, local: bool
                 ) -> Iterator[console.RenderableType]:
    yield text.Text.assemble(
        'Reservation ', (reservation['id'], 'bold'), '  ',
        _styled(reservation['status']))
    yield text.Text(_wanted(reservation))
    for key, sentence in (
            ('missing_resources', 'The reservation has fewer hosts than it '
                                  'was promised.'),
            ('resources_changed', 'A broken node was replaced.')):
        if reservation[key]:
            yield text.Text(sentence, 'bold red')
    nodes = _table(options, 'Node', 'UUID', 'Promise', 'Provision state')
    for node in reservation['nodes']:
        nodes.add_row(node['name'] or '-', node['uuid'],
                      _styled(node['state']), node['provision_state'] or '-')
    yield nodes
    for until in sorted({node['lent_until'] for node in reservation['nodes']
                         if node.get('lent_until')}):
        those = ', '.join(node['name'] or node['uuid']
                          for node in reservation['nodes']
                          if node.get('lent_until') == until)
        yield text.Text(
            'Lent by another project, at present until '
            f'{times.shown(times.parsed(until), local)} at the latest: {those}'
        )


def _wanted(reservation: Mapping[str, Any]) -> str:
    if 'amount' in reservation:
        wanted = (f'{counted.counted(reservation["amount"], "instance")} of '
                  f'{reservation["vcpus"]} vcpus, '
                  f'{reservation["memory_mb"]} MB of memory, '
                  f'{reservation["disk_gb"]} GB of disk')
        asked = reservation['resource_properties']
        return f'{wanted}, on hosts with {asked}' if asked else wanted
    least, most = reservation['min'], reservation['max']
    wanted = counted.counted(
        least if least == most else f'{least} to {most}', 'host')
    asked = ' '.join(filter(None, (reservation['hypervisor_properties'],
                                   reservation['resource_properties'])))
    return f'{wanted} with {asked}' if asked else wanted


def _table(options: console.ConsoleOptions, *columns: str) -> table.Table:
    made = table.Table(
        box=box.ASCII if options.ascii_only else box.SIMPLE_HEAD,
        show_edge=False, pad_edge=False)
    for column in columns:
        # Text that is cut off cannot be copied.
        made.add_column(column, overflow='fold')
    return made


def _styled(word: str) -> text.Text:
    return text.Text(word, _STYLES.get(word, ''))
