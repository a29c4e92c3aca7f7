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

"""The commands ``baremetal reservation lease ...`` except ``plan``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
import datetime
import shlex
import sys
from typing import Any

from ironicclient import exc
from osc_lib.command import command

from ironic_reservations_client import lease
from ironic_reservations_client import lease_payload
from ironic_reservations_client import nodes
from ironic_reservations_client import resources
from ironic_reservations_client import times
from ironic_reservations_client.osc import accepted_offers
from ironic_reservations_client.osc import base
from ironic_reservations_client.osc import cells
from ironic_reservations_client.osc import hints
from ironic_reservations_client.osc import lease_plan
from ironic_reservations_client.osc import options
from ironic_reservations_client.osc import typed
from ironic_reservations_client.osc import zone

_OFFERS = ('later', 'earlier', 'shorter', 'fewer', 'other_class',
           'no_affinity')
_CHANGE_OFFERS = ('shorter', 'fewer', 'later', 'earlier')
_FLAVORS = ('flavor_id', 'flavor')


class CreateLease(lease_plan.Planned):
    """Lease bare metal hosts for a time"""

    possible = 'This lease can be made. Nothing was booked:'
    arguments = (
        options.Option('name', 'Name of the lease.'),
        options.OneOf(
            options.Option(
                '--hosts', 'Number of hosts, like 4, or a range, like 2-4. '
                'Default is 1.', metavar='<number>', type=typed.count,
                default=(1, 1)),
            options.Option(
                '--instances', 'Number of instances, instead of hosts, of '
                'the size set by --vcpus, --ram and --disk, or by a flavor.',
                metavar='<number>', type=int)),
        *options.of(resources.PART, 'create', *lease_payload.SIZES),
        options.OneOf(*options.of(resources.PART, 'create', *_FLAVORS)),
        *options.of(resources.PART, 'create', 'affinity'),
        *options.SELECTION,
        *options.of(resources.LEASE, 'create', 'start', 'between'),
        options.Option(
            '--queue', 'If the lease does not fit, plan it at a later time, '
            'unless too few hosts match at any time. Its start is promised, '
            'and moves earlier when hosts become free.', **options.FLAG),
        *options.of(resources.LEASE, 'create', 'priority', 'fix_before'),
        options.OneOf(
            *options.of(resources.LEASE, 'create', 'end', 'duration'),
            required=True),
        *options.of(resources.LEASE, 'create', 'before_end'),
        options.OneOf(
            options.Option(
                '--dry-run', 'Only show whether and how the lease could be '
                'made.', **options.FLAG),
            accepted_offers.option('the lease', _OFFERS),
            options.Option(
                '--key', 'Idempotency key: repeated commands with the same '
                'key make only one lease.')),
        options.wait('the lease to start'))

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        chosen = options.selected(parsed_args)
        size = resources.PART.read(vars(parsed_args), 'create')
        if parsed_args.instances is None:
            _check_no_size(size)
            wanted = lease_payload.hosts(*parsed_args.hosts, **chosen)
        else:
            size['flavor'] = typed.flavor(size['flavor'])
            _check_size(size)
            wanted = lease_payload.instances(parsed_args.instances, **size,
                                             **chosen)
        body = _body(parsed_args, wanted)
        manager = lease.LeaseManager(self.client)
        with hints.if_unknown(None if parsed_args.dry_run
                              else _unknown(parsed_args)):
            made = accepted_offers.or_offered(
                lambda: manager.post(body, parsed_args.dry_run,
                                     parsed_args.key),
                manager.post, parsed_args.accept)
        timeout = parsed_args.wait_timeout
        if timeout is not None and not parsed_args.dry_run:
            made = _awaited(manager, made, timeout)
            if lease.over(made):
                raise exc.CommandError(
                    f'The lease {made.name} ({made.id}) has ended before its '
                    f'start: {made.status}.')
        return self.planned(made, parsed_args.dry_run)


class SetLease(lease_plan.Planned):
    """Extend, shorten, move, grow, shrink, heal or rename a lease"""

    possible = 'This change can be made. Nothing was changed:'
    arguments = (
        lease_plan.LEASE,
        *options.of(resources.LEASE, 'change', 'name', 'start'),
        options.OneOf(
            *options.of(resources.LEASE, 'change', 'end'),
            options.Option(
                '--extend', 'End the lease later by this time: 30m, 4h, '
                '1h30m, 7d, 2w.', **options.DURATION),
            options.Option(
                '--shorten', 'End the lease earlier by this time.',
                **options.DURATION),
            *options.of(resources.LEASE, 'change', 'duration')),
        *options.of(resources.LEASE, 'change', 'between', 'fix_before'),
        options.Option(
            '--hosts', 'New number of hosts, like 4, or a range, like 2-4.',
            metavar='<number>', type=typed.count),
        options.Option('--instances', 'New number of instances.',
                       metavar='<number>', type=int),
        options.Option(
            '--give-back', 'Name or UUID of a node to give back. Can be '
            'specified multiple times.', metavar='<node>', **options.MANY),
        options.Option(
            '--reservation', 'ID of the reservation that --hosts or '
            '--instances applies to, if the lease has several.'),
        *options.of(resources.LEASE, 'change', 'heal'),
        options.OneOf(
            options.Option(
                '--dry-run', 'Only show whether and how the change could be '
                'made.', **options.FLAG),
            accepted_offers.option('the change', _CHANGE_OFFERS)),
        options.wait('the change of nodes to be carried out, if the lease '
                     'has started'))

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        manager = lease.LeaseManager(self.client)
        found = manager.find(parsed_args.lease)
        _check_open_dates(parsed_args)
        changes = {
            **resources.LEASE.read(vars(parsed_args), 'change'),
            'end': _new_end(found, parsed_args),
            'reservations': _reservations(self.client, found, parsed_args)}
        if all(value in (None, False, []) for value in changes.values()):
            raise exc.CommandError(
                'No change was given. Use --extend, --end-date, --hosts, '
                '--instances, --give-back or another option.')
        with hints.if_unknown(
                None if parsed_args.dry_run else
                'It is not known whether the lease was changed: '
                f'"reservation lease show {found.id}" shows it.'):
            changed = accepted_offers.or_offered(
                lambda: manager.change(found.id, dry_run=parsed_args.dry_run,
                                       **changes),
                lambda body: manager.put(found.id, body), parsed_args.accept)
        timeout = parsed_args.wait_timeout
        if timeout is not None and not parsed_args.dry_run:
            changed = manager.wait_carried_out(found.id, timeout)
        return self.planned(changed, parsed_args.dry_run)


class ListLeases(zone.Listing):
    """List leases"""

    describes = resources.LEASE
    arguments = (
        options.Option(
            '--project', 'Only list leases of this project (ID).'),
        *options.of(resources.LEASE_FILTER, 'create'),
        *options.page('lease'), options.SORT,
        options.Option(
            '--long', 'Also show the number of nodes, the reason for which '
            'a lease is waiting, and the project.', **options.FLAG))

    def found(self, parsed_args: argparse.Namespace) -> list[lease.Lease]:
        """Return the leases that the filters match, the oldest first."""
        chosen = resources.LEASE_FILTER.read(vars(parsed_args), 'create')
        if chosen['node']:
            chosen['node'] = nodes.uuid_of(self.client, chosen['node'])
        return lease.LeaseManager(self.client).list(
            project=parsed_args.project, marker=parsed_args.marker,
            limit=parsed_args.limit, **chosen)

    def cell(self, one: Any, name: str) -> Any:
        """Return the value of a field; the number of nodes."""
        return (len(one.node_uuids) if name == 'nodes'
                else super().cell(one, name))


class ShowLease(zone.Zoned, command.ShowOne):
    """Show a lease"""

    arguments = (lease_plan.LEASE,)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Columns:
        found = lease.LeaseManager(self.client).find(parsed_args.lease)
        names = {} if parsed_args.formatter != 'table' else {
            uuid: node.name for uuid, node in nodes.read(
                self.client, found.node_uuids).items()}
        return self.dict2columns({
            name: _reservations_cell(value, names) if name == 'reservations'
            else cells.blocks(value) if isinstance(value, list) and all(
                isinstance(each, dict) for each in value)
            else cells.window(value) if name == 'between' and value else value
            for name, value in found.to_dict().items()})


def _reservations_cell(value: list[dict[str, Any]],
                       names: Mapping[str, str | None]) -> cells.Cell:
    """Return the reservations of a lease, with a line for each node.

    :param names: the known names of nodes, by UUID.
    """
    def line(node: dict[str, Any]) -> str:
        name = names.get(node['uuid'])
        return '\n  ' + cells.text({**node, 'uuid': (
            node['uuid'] if name is None else f'{name} ({node["uuid"]})')})

    def words(found: list[dict[str, Any]]) -> str:
        return cells.blocks([
            {**each, 'nodes': ''.join(map(line, each.get('nodes') or ()))}
            for each in found]).human_readable()

    return cells.Cell(value, words)


class DeleteLease(base.Deletion):
    """End leases, or cancel them before they start"""

    manager = lease.LeaseManager
    thing = 'lease'
    arguments = (
        base.named(thing, 'Names or IDs of the leases to delete.'),
        options.wait('the leases to give back their nodes'))

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self._deleted: list[str] = []
        super().take_action(parsed_args)
        timeout = parsed_args.wait_timeout
        if timeout is not None:
            manager = self.manager(self.client)
            for ident in self._deleted:
                manager.wait_ended(ident, timeout)

    def delete(self, ident: str) -> None:
        """End one lease, by its name or ID."""
        found = self.manager(self.client).find(ident)
        super().delete(found.id)
        self._deleted.append(found.id)


def _unknown(parsed_args: argparse.Namespace) -> str:
    """Return the hint for a creation whose outcome is not known."""
    return ('It is not known whether the lease was made: "reservation lease '
            f'list --name {shlex.quote(parsed_args.name)}" lists it. With '
            f'{"the same --key" if parsed_args.key else "--key"}, the command '
            'can be repeated safely.')


def _awaited(manager: lease.LeaseManager, made: lease.Lease,
             timeout: float) -> lease.Lease:
    """Wait until a lease has started; name it if the wait is interrupted."""
    try:
        return manager.wait(made.id, timeout)
    except KeyboardInterrupt:
        print(f'The lease {made.name} ({made.id}) was made; "reservation '
              f'lease delete {shlex.quote(made.name)}" ends it.',
              file=sys.stderr)
        raise


def _check_size(size: Mapping[str, Any]) -> None:
    """Check that the size of instances is given exactly once."""
    named = any(size[name] is not None for name in _FLAVORS)
    if named is any(size[name] is not None for name in lease_payload.SIZES):
        raise exc.CommandError(
            'Set the size of the instances either with --vcpus, --ram and '
            '--disk, or with --flavor or --flavor-file.')


def _check_no_size(size: Mapping[str, Any]) -> None:
    """Check that no size of instances is given for a lease of hosts."""
    for name, value in size.items():
        if value is not None:
            raise exc.CommandError(
                f'{resources.PART.field(name).option} applies to instances. '
                'Set their number with --instances.')


def _body(parsed_args: argparse.Namespace,
          wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a request for a lease."""
    if parsed_args.between is None:
        if parsed_args.fix_before is not None:
            raise exc.CommandError('--fix-before requires --between.')
        body = lease_payload.creation(
            parsed_args.name, parsed_args.end, [wanted],
            parsed_args.start or times.NOW, parsed_args.before_end,
            parsed_args.duration)
        if parsed_args.queue:
            return lease_payload.queued(body, parsed_args.priority)
        if parsed_args.priority is not None:
            raise exc.CommandError('--priority requires --queue.')
        return body
    if parsed_args.queue or parsed_args.priority is not None:
        raise exc.CommandError('--between and --queue exclude each other.')
    _check_dates('--between', parsed_args, 'start', 'end', 'before_end')
    earliest, latest = parsed_args.between
    return lease_payload.flexible(
        parsed_args.name, earliest, latest, parsed_args.duration, [wanted],
        parsed_args.fix_before)


def _check_dates(opens: str, parsed_args: argparse.Namespace,
                 *names: str) -> None:
    """Check that no date is set together with open dates.

    :param opens: the option for open dates.
    :param names: the names of the options that set a date.
    """
    for name in names:
        if getattr(parsed_args, name) is not None:
            option = (f'--{name}' if name in ('extend', 'shorten')
                      else resources.LEASE.field(name).option)
            raise exc.CommandError(
                f'{opens} leaves the dates open, and {option} sets one: use '
                'one of them.')


def _check_open_dates(parsed_args: argparse.Namespace) -> None:
    """Check that a change does not both set dates and keep them open."""
    for name in ('between', 'duration', 'fix_before'):
        if getattr(parsed_args, name) is not None:
            _check_dates(resources.LEASE.field(name).option, parsed_args,
                         'start', 'end', 'extend', 'shorten')


def _new_end(found: lease.Lease, parsed_args: argparse.Namespace) -> Any:
    by = parsed_args.extend or -(parsed_args.shorten or 0)
    if not by:
        return parsed_args.end
    try:
        return (times.parsed(found.end_date)
                + datetime.timedelta(seconds=by))
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
        uuid = nodes.uuid_of(client, name)
        holder = next((each['id'] for each in found.reservations
                       for node in each['nodes'] if node['uuid'] == uuid),
                      None)
        if holder is None:
            raise exc.CommandError(f'The lease has no node {name}. '
                                   '"reservation lease plan" lists its nodes.')
        changes.setdefault(holder, {'id': holder}).setdefault(
            'give_back', []).append(uuid)
    return list(changes.values())
