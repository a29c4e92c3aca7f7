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


"""What may be left once a storm is over."""

from __future__ import annotations

from collections.abc import Iterator
import re
from typing import Any

_ON_THE_WAY = ('STARTING', 'TERMINATING', 'DELETING')

#: The states of a node that its user has to undeploy.
_DEPLOYED = ('active', 'deploy failed', 'error')

_WINDOW = re.compile(r'\[maintenance window ([0-9a-f-]{36})\]')

#: A snapshot: the rows of our tables by name, the nodes and allocations of
#: Ironic, what is in Placement of ours, and the time.
Snapshot = dict[str, Any]
Left = dict[str, str]


def unsettled(now: Snapshot) -> list[Left]:
    """Return what is still under way, while promises go on."""
    return [{'about': about, 'text': text}
            for about, text in (*_rows(now), *_uses(now), *_lessees(now),
                                *_windows(now))]


def _rows(now: Snapshot) -> Iterator[tuple[str, str]]:
    for row in now['tables'].get('in_flight_requests', ()):
        yield row['node_uuid'], f'a request in flight: {row}'
    for lease in now['tables'].get('leases', ()):
        if lease['status'] in _ON_THE_WAY:
            if not _waits_for_undeploy(now, lease):
                yield lease['id'], _status(lease)
        elif (lease['status'] in ('ACTIVE', 'PENDING')
              and lease['ends_at'] <= now['now']):
            yield lease['id'], 'the lease should be over'
        elif (lease['status'] == 'PENDING' and not lease['degraded']
              and lease['starts_at'] <= now['now']):
            yield lease['id'], 'the lease should have started'
    for row in now['tables'].get('reservations', ()):
        if row['state'] == 'starting':
            yield row['node_uuid'], 'a reservation is still starting'


def _waits_for_undeploy(now: Snapshot, lease: dict[str, Any]) -> bool:
    """Return whether the node of a reservation that is over is deployed.

    Nobody but its user undeploys it, and it is put back after that.
    """
    if not lease['name'].startswith('reservation-'):
        return False
    own = {row['id'] for row in now['tables']['lease_reservations']
           if row['lease_id'] == lease['id']}
    nodes = {row['node_uuid'] for row in now['tables']['reservations']
             if row['lease_reservation_id'] in own}
    return bool(nodes) and all(
        node['provision_state'] in _DEPLOYED for node in now['nodes']
        if node['uuid'] in nodes)


def _status(lease: dict[str, Any]) -> str:
    waiting = lease.get('waiting')
    return (f'the lease is {lease["status"]}'
            + (f', and says: {waiting}' if waiting else ''))


def _uses(now: Snapshot) -> Iterator[tuple[str, str]]:
    nodes = {node['uuid']: node for node in now['nodes']}
    for row in now['tables'].get('reservations', ()):
        node = nodes.get(row['node_uuid'])
        if node is None or row['state'] not in ('reserved', 'in_use'):
            continue
        free = (node['provision_state'] == 'available'
                and not node.get('instance_uuid'))
        if free is not (row['state'] == 'reserved'):
            yield row['node_uuid'], (f'it is {row["state"]}, and in Ironic '
                                     f'{node["provision_state"]}')


def _windows(now: Snapshot) -> Iterator[tuple[str, str]]:
    standing, times = set(), []
    for row in now['tables'].get('reservations', ()):
        if row.get('window_id') is None:
            continue
        standing.add((row['window_id'], row['node_uuid']))
        times.append((row['node_uuid'], row['starts_at'], row['expires_at']))
        if row['expires_at'] <= now['now']:
            yield row['node_uuid'], f'its window should be over: {row}'
        elif row['state'] == 'window_starting':
            yield row['node_uuid'], f'its window is still starting: {row}'
    flagged = {row['id'] for row in now['tables'].get('leases', ())
               if row['degraded']}
    lease_of = {row['id']: row['lease_id'] for row in
                now['tables'].get('lease_reservations', ())}
    for row in now['tables'].get('reservations', ()):
        lease = lease_of.get(row['lease_reservation_id'])
        if (row['state'] == 'planned' and lease not in flagged
                and any(node == row['node_uuid'] and begin < row['expires_at']
                        and row['starts_at'] < end
                        for node, begin, end in times)):
            yield row['node_uuid'], (f'it is planned for the lease {lease} '
                                     f'across a window: {row}')
    for node in now['nodes']:
        window = window_of(node)
        if window and (window, node['uuid']) not in standing:
            yield node['uuid'], (f'it is in maintenance for the window '
                                 f'{window}, which is over')


def window_of(node: dict[str, Any]) -> str | None:
    """Return the window whose maintenance Ironic shows of a node."""
    found = _WINDOW.search(node.get('maintenance_reason') or '')
    return found[1] if found and node.get('maintenance') else None


def _lessees(now: Snapshot) -> Iterator[tuple[str, str]]:
    projects = {lease['id']: lease['project_id']
                for lease in now['tables'].get('leases', ())
                if lease['status'] == 'ACTIVE'}
    lease_of = {row['id']: row['lease_id'] for row in
                now['tables'].get('lease_reservations', ())}
    wanted = {row['node_uuid']: projects.get(
        lease_of.get(row['lease_reservation_id'], ''))
        for row in now['tables'].get('reservations', ())
        if row['lease_reservation_id'] and row['state'] == 'bound'}
    for node in now['nodes']:
        should = wanted.get(node['uuid'])
        if node['lessee'] != should:
            yield node['uuid'], (f'its lessee is {node["lessee"]} and should '
                                 f'be {should}')


def promises(now: Snapshot) -> set[tuple[str, str]]:
    """Return who has which node: reservations and leases by their ids."""
    lease_of = {row['id']: row['lease_id'] for row in
                now['tables'].get('lease_reservations', ())}
    return {(lease_of.get(row['lease_reservation_id'], row['uuid']),
             row['node_uuid'])
            for row in now['tables'].get('reservations', ())
            if row.get('window_id') is None}


def left_over(now: Snapshot) -> list[Left]:
    """Return what is left once all promises have been ended."""
    found = [{'about': row['node_uuid'], 'text': f'a row: {row}'}
             for row in (*now['tables'].get('reservations', ()),
                         *now['tables'].get('in_flight_requests', ()))]
    found += [{'about': row['node_uuid'], 'text': f'a hold: {row}'}
              for row in now['tables'].get('holds', ())]
    found += [{'about': row['id'], 'text': _status(row)}
              for row in now['tables'].get('leases', ())
              if row['status'] not in ('TERMINATED', 'ERROR')]
    found += [{'about': row['lease_id'],
               'text': f'a notice that has not been sent: {row}'}
              for row in now['tables'].get('outbox', ())
              if row['outcome'] != 'delivered']
    found += [{'about': node['uuid'], 'text': 'it is in maintenance for the '
               f'window {window_of(node)}'}
              for node in now['nodes'] if window_of(node)]
    for node in now['nodes']:
        odd = {name: value for name, value in node.items() if value and (
            name in ('instance_uuid', 'lessee', 'reservation')
            or (name == 'provision_state' and value != 'available'))}
        if odd:
            found.append({'about': node['uuid'], 'text': f'the node: {odd}'})
    found += [{'about': each['uuid'], 'text': f'an allocation: {each}'}
              for each in now['allocations']]
    placement = now.get('placement') or {}
    found += [{'about': uuid, 'text': f'a provider, {uuid}'}
              for uuid in placement.get('providers', ())]
    found += [{'about': name, 'text': f'a resource class, {name}'}
              for name in placement.get('classes', ())]
    found += [{'about': uuid, 'text': f'held in Placement: {who}'}
              for uuid, who in placement.get('allocations', {}).items()]
    return found
