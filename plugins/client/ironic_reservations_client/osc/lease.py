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

"""The commands ``baremetal reservation lease ...`` but ``plan``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
import datetime
import re
from typing import Any

from cliff import columns
from ironicclient import exc
from osc_lib.command import command

from ironic_reservations_client import lease
from ironic_reservations_client import lease_payload
from ironic_reservations_client import times
from ironic_reservations_client.osc import accepted_offers
from ironic_reservations_client.osc import chart_command
from ironic_reservations_client.osc import deletion
from ironic_reservations_client.osc import instances
from ironic_reservations_client.osc import lease_filters
from ironic_reservations_client.osc import lease_plan
from ironic_reservations_client.osc import named_nodes
from ironic_reservations_client.osc import options
from ironic_reservations_client.osc import selection
from ironic_reservations_client.osc import zone

_FIELDS = ('id', 'name', 'start_date', 'end_date', 'status', 'degraded')
_OFFERS = ('later', 'earlier', 'shorter', 'fewer', 'other_class',
           'no_affinity')
_CHANGE_OFFERS = ('shorter', 'fewer', 'later', 'earlier')
_REPEATED = ('lease_id', 'created_at', 'updated_at')
_TIMES = ('"2030-01-31 12:00" (UTC), ISO 8601 with a zone, or +4h, which is '
          'four hours from now')
_COUNT = re.compile('([1-9][0-9]{0,6})(-([1-9][0-9]{0,6}))?')


@chart_command.typed
def count(text: str) -> tuple[int, int]:
    """Read a number of hosts, or a range of numbers."""
    match = _COUNT.fullmatch(text)
    if match is None:
        raise ValueError(f'{text!r} is not a number of hosts. Write it like '
                         '4, or 2-4')
    return int(match[1]), int(match[3] or match[1])


class CreateLease(lease_plan.Planned):
    """Lease bare metal hosts for a time"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('name', metavar='<name>',
                            help='Name of the lease.')
        of_what = parser.add_mutually_exclusive_group()
        of_what.add_argument(
            '--hosts',
            metavar='<number>',
            type=count,
            default=(1, 1),
            help='Number of hosts, like 4, or a range, like 2-4. Default is '
                 '1.')
        of_what.add_argument(
            '--instances',
            metavar='<number>',
            type=int,
            help='Number of instances, instead of hosts, of the size set by '
                 '--vcpus, --ram and --disk, or by a flavor.')
        instances.add(parser)
        selection.add(parser)
        chart_command.add_time(
            parser, '--start-date', 'start',
            f'Start of the lease: {_TIMES}. Default is now.')
        parser.add_argument(
            '--between',
            nargs=2,
            metavar=('<time>', '<time>'),
            type=chart_command.instant,
            help='Start and end within this window, instead of at a date; '
                 'requires --duration. The lease is planned at the earliest, '
                 'and may be moved within the window until it is fixed.')
        parser.add_argument(
            '--queue',
            action='store_true',
            help='If the lease does not fit, plan it later, with a promised '
                 'start that is moved earlier when hosts become free.')
        parser.add_argument(
            '--priority',
            metavar='<priority>',
            type=int,
            help='Priority among queued leases, from 0 (default) to 100; the '
                 'highest comes first. Administrators only.')
        chart_command.add_duration(
            parser, '--fix-before',
            'Fix the dates of a lease with --between this time before '
            'its planned start. Default is set by the service.')
        end = parser.add_mutually_exclusive_group(required=True)
        chart_command.add_time(
            # NOTE: not --end, in which the shell sees its own --endpoint.
            end, '--end-date', 'end',
            'End of the lease.')
        chart_command.add_duration(
            end, '--duration',
            'Duration of the lease: 30m, 4h, 1h30m, 7d, 2w.')
        chart_command.add_time(
            parser, '--before-end-date', 'before_end',
            'Time of the notification that the end is near. Default is '
            'set by the service.')
        tries = parser.add_mutually_exclusive_group()
        tries.add_argument(
            '--dry-run',
            action='store_true',
            help='Only show whether and how the lease could be made.')
        accepted_offers.add(tries, 'the lease', _OFFERS)
        tries.add_argument(
            '--key',
            metavar='<key>',
            help='A name for the request: commands with the same name make '
                 'one lease together.')
        options.add_wait(parser, 'the lease to start')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        client = self.app.client_manager.baremetal
        options.check_wait(parsed_args)
        chosen = selection.read(parsed_args)
        if parsed_args.instances is None:
            instances.check_none(parsed_args)
            wanted = lease_payload.hosts(*parsed_args.hosts, **chosen)
        else:
            wanted = lease_payload.instances(
                parsed_args.instances, **instances.read(parsed_args),
                **chosen)
        body = _body(parsed_args, wanted)
        manager = lease.LeaseManager(client)
        made = accepted_offers.or_offered(
            lambda: manager.post(body, parsed_args.dry_run, parsed_args.key),
            manager.post, parsed_args.accept)
        timeout = parsed_args.wait_timeout
        if timeout is not None and not parsed_args.dry_run:
            made = manager.wait(made.id, timeout)
            if lease.over(made):
                raise exc.CommandError(
                    f'The lease {made.name} ({made.id}) has not started, and '
                    f'is over: {made.status}.')
        return self.planned(client, made, parsed_args.dry_run)


class SetLease(lease_plan.Planned):
    """Extend, shorten, move, grow, shrink, heal or rename a lease"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_lease(parser)
        parser.add_argument('--name', metavar='<name>', help='New name of the '
                                                             'lease.')
        chart_command.add_time(
            parser, '--start-date', 'start',
            f'New start, if the lease has not started: {_TIMES}.')
        end = parser.add_mutually_exclusive_group()
        chart_command.add_time(
            end, '--end-date', 'end',
            'New end.')
        chart_command.add_duration(
            end, '--extend',
            'End the lease later by this time: 30m, 4h, 1h30m, 7d, 2w.')
        chart_command.add_duration(
            end, '--shorten',
            'End the lease earlier by this time.')
        chart_command.add_duration(
            end, '--duration',
            'New duration of a lease whose dates are open.')
        parser.add_argument(
            '--between',
            nargs=2,
            metavar=('<time>', '<time>'),
            type=chart_command.instant,
            help='New window, within which the lease may be moved until it '
                 'is fixed. If its dates were set or are fixed, they are '
                 'open again.')
        chart_command.add_duration(
            parser, '--fix-before',
            'Fix the dates this time before the planned start, if they '
            'are open.')
        parser.add_argument(
            '--hosts',
            metavar='<number>',
            type=count,
            help='New number of hosts, like 4, or a range, like 2-4.')
        parser.add_argument(
            '--instances',
            metavar='<number>',
            type=int,
            help='New number of instances.')
        parser.add_argument(
            '--give-back',
            metavar='<node>',
            action='append',
            default=[],
            help='Name or UUID of a node to give back. Can be specified '
                 'multiple times.')
        parser.add_argument(
            '--reservation',
            metavar='<reservation>',
            help='ID of the reservation that --hosts or --instances applies '
                 'to, if the lease has several.')
        parser.add_argument(
            '--heal',
            action='store_true',
            help='Replace broken nodes.')
        tries = parser.add_mutually_exclusive_group()
        tries.add_argument(
            '--dry-run',
            action='store_true',
            help='Only show whether and how the change could be made.')
        accepted_offers.add(tries, 'the change', _CHANGE_OFFERS)
        options.add_wait(parser, 'the nodes of the lease to be as the lease '
                                 'says, if it has started')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        client = self.app.client_manager.baremetal
        options.check_wait(parsed_args)
        manager = lease.LeaseManager(client)
        found = manager.find(parsed_args.lease)
        changes = {
            'name': parsed_args.name, 'start': parsed_args.start,
            'end': _new_end(found, parsed_args),
            'reservations': _reservations(client, found, parsed_args),
            'heal': parsed_args.heal, **_open_dates(parsed_args)}
        if not any(changes.values()):
            raise exc.CommandError(
                'No change was given. Use --extend, --end-date, --hosts, '
                '--instances, --give-back or another option.')
        changed = accepted_offers.or_offered(
            lambda: manager.change(found.id, dry_run=parsed_args.dry_run,
                                   **changes),
            lambda body: manager.put(found.id, body), parsed_args.accept)
        timeout = parsed_args.wait_timeout
        if timeout is not None and not parsed_args.dry_run:
            changed = manager.wait_carried_out(found.id, timeout)
        return self.planned(client, changed, parsed_args.dry_run)


class ListLeases(zone.Zoned, command.Lister):
    """List leases"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--project',
            metavar='<project>',
            help='Only list leases of this project (ID).')
        lease_filters.add(parser)
        options.add_page(parser, 'lease')
        parser.add_argument(
            '--long',
            action='store_true',
            help='Also show the project, the reason for which a lease is '
                 'waiting, and its number of nodes.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        options.check_page(parsed_args)
        client = self.app.client_manager.baremetal
        matches = lease_filters.read(client, parsed_args)
        manager = lease.LeaseManager(client)
        if matches is None:
            found = manager.list(
                project=parsed_args.project, limit=parsed_args.limit,
                marker=parsed_args.marker)
        else:
            # NOTE: a page of the service has other leases, too.
            found = [each for each in manager.list(
                project=parsed_args.project, marker=parsed_args.marker)
                if matches(each)][:parsed_args.limit or None]
        rows = [[getattr(each, name) for name in _FIELDS] for each in found]
        if not parsed_args.long:
            return _FIELDS, rows
        return (*_FIELDS, 'nodes', 'waiting', 'project_id'), [
            [*row, len(each.node_uuids), each.waiting, each.project_id]
            for row, each in zip(rows, found, strict=True)]


class ShowLease(zone.Zoned, command.ShowOne):
    """Show a lease"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_lease(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        client = self.app.client_manager.baremetal
        found = lease.LeaseManager(client).find(parsed_args.lease)
        names = {} if parsed_args.formatter != 'table' else {
            uuid: node['name'] for uuid, node in lease_plan.known_nodes(
                client, found.node_uuids).items()}
        return self.dict2columns({
            name: Reservations(value, names) if name == 'reservations'
            else Blocks(value) if isinstance(value, list) and all(
                isinstance(each, dict) for each in value)
            else Window(value) if name == 'between' and value else value
            for name, value in found.to_dict().items()})


class Window(columns.FormattableColumn[list[str]]):
    """Two times, which are one line in a table."""

    def human_readable(self) -> str:
        """Return the line."""
        return ' until '.join(self._value)


class Blocks(columns.FormattableColumn[list[dict[str, Any]]]):
    """A list of objects, each of which is lines of its own in a table."""

    def human_readable(self) -> str:
        """Return the lines, without those that repeat what the lease says."""
        return '\n\n'.join('\n'.join(
            f'{name}: {_text(value)}' for name, value in each.items()
            if value not in (None, '') and name not in _REPEATED)
            for each in self._value)


class Reservations(Blocks):
    """The reservations of a lease, with a line for each node.

    :param names: of nodes, by UUID, where they are known.
    """

    def __init__(self, value: list[dict[str, Any]],
                 names: Mapping[str, str | None] | None = None) -> None:
        super().__init__(value)
        self._names = names or {}

    def with_value(self, value: list[dict[str, Any]]) -> Reservations:
        """Return a column with another value, and the same names."""
        return Reservations(value, self._names)

    def human_readable(self) -> str:
        """Return the lines."""
        return Blocks([{
            **each, 'nodes': ''.join(map(self._line, each.get('nodes') or ()))}
            for each in self._value]).human_readable()

    def _line(self, node: dict[str, Any]) -> str:
        name = self._names.get(node['uuid'])
        shown = {**node, 'uuid': node['uuid'] if name is None
                 else f'{name} ({node["uuid"]})'}
        return f'\n  {_text(shown)}'


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ', '.join(_text(each) for each in value)
    if isinstance(value, dict):
        return ' '.join(str(each) for each in value.values()
                        if each is not None)
    return str(value)


class DeleteLease(deletion.Deletion):
    """End leases, or take them back before they start"""

    thing = 'lease'
    named = 'Names or IDs of the leases to delete.'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_wait(parser, 'the leases to give back their nodes')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        options.check_wait(parsed_args)
        self._deleted: list[str] = []
        super().take_action(parsed_args)
        timeout = parsed_args.wait_timeout
        if timeout is not None:
            manager = lease.LeaseManager(self.app.client_manager.baremetal)
            for ident in self._deleted:
                manager.wait_ended(ident, timeout)

    def delete(self, client: Any, ident: str) -> None:
        """End one, which is named by either."""
        manager = lease.LeaseManager(client)
        found = manager.find(ident)
        manager.delete(found.id)
        self._deleted.append(found.id)


def _add_lease(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('lease', metavar='<lease>',
                        help='Name or ID of the lease.')


def _body(parsed_args: argparse.Namespace,
          wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the body that asks for a lease."""
    if parsed_args.between is None:
        if parsed_args.fix_before is not None:
            raise exc.CommandError('--fix-before requires --between.')
        start = parsed_args.start or times.NOW
        body = lease_payload.creation(
            parsed_args.name, _end(parsed_args, start), [wanted], start,
            parsed_args.before_end)
        if parsed_args.queue:
            return lease_payload.queued(body, parsed_args.priority)
        if parsed_args.priority is not None:
            raise exc.CommandError('--priority requires --queue.')
        return body
    if parsed_args.queue or parsed_args.priority is not None:
        raise exc.CommandError('--between and --queue exclude each other.')
    for option, value in (('--start-date', parsed_args.start),
                          ('--end-date', parsed_args.end),
                          ('--before-end-date', parsed_args.before_end)):
        if value is not None:
            raise exc.CommandError(
                f'--between leaves the dates open, and {option} sets one: '
                'use one of them.')
    return lease_payload.flexible(
        parsed_args.name, *parsed_args.between, parsed_args.duration,
        [wanted], parsed_args.fix_before)


def _end(parsed_args: argparse.Namespace,
         start: times.Instant | str) -> times.Instant:
    if parsed_args.duration is None:
        end: times.Instant = parsed_args.end
        return end
    if start == times.NOW:
        start = chart_command.now()
    return _plus(start, parsed_args.duration)


def _new_end(found: lease.Lease,
             parsed_args: argparse.Namespace) -> times.Instant | None:
    by = parsed_args.extend or -(parsed_args.shorten or 0)
    if by:
        return _plus(times.parsed(found.end_date), by)
    end: times.Instant | None = parsed_args.end
    return end


def _open_dates(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return what changes of the dates that are left open."""
    opened = {name: value for name, value in (
        ('between', parsed_args.between), ('duration', parsed_args.duration),
        ('fix_before', parsed_args.fix_before)) if value is not None}
    for option, value in (('--start-date', parsed_args.start),
                          ('--end-date', parsed_args.end),
                          ('--extend', parsed_args.extend),
                          ('--shorten', parsed_args.shorten)):
        if opened and value is not None:
            other = '--' + next(iter(opened)).replace('_', '-')
            raise exc.CommandError(
                f'{other} leaves the dates open, and {option} sets one: use '
                'one of them.')
    return opened


def _plus(moment: datetime.datetime, by: int) -> datetime.datetime:
    try:
        return moment + datetime.timedelta(seconds=by)
    except OverflowError as error:
        raise exc.CommandError(
            'That is after the year 9999. Use a shorter duration.') from error


def _reservations(client: Any, found: lease.Lease,
                  parsed_args: argparse.Namespace) -> list[dict[str, Any]]:
    changes: dict[str, dict[str, Any]] = {}
    for option, value in (('--hosts', parsed_args.hosts),
                          ('--instances', parsed_args.instances)):
        if value is None:
            continue
        ident = parsed_args.reservation
        if ident is None:
            if len(found.reservations) > 1:
                raise exc.CommandError(
                    f'The lease has {len(found.reservations)} reservations. '
                    f'Choose with --reservation the one that {option} applies '
                    'to.')
            ident = found.reservations[0]['id']
        changes[ident] = {'id': ident, **(
            {'amount': value} if option == '--instances'
            else dict(zip(('min', 'max'), value, strict=True)))}
    for name in parsed_args.give_back:
        uuid = named_nodes.node_uuid(client, name)
        holder = next((each['id'] for each in found.reservations
                       for node in each['nodes'] if node['uuid'] == uuid),
                      None)
        if holder is None:
            raise exc.CommandError(f'The lease has no node {name}. '
                                   '"reservation lease plan" lists its nodes.')
        changes.setdefault(holder, {'id': holder}).setdefault(
            'give_back', []).append(uuid)
    return list(changes.values())
