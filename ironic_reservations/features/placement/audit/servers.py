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
"""Compares the servers on compute hosts with their usage in Placement."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import nova as nova_client
from ironic_reservations.engine import Engine
from ironic_reservations.features.placement.audit import compare_servers
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.audit import lease_providers
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.lease_providers import names

LOG = log.getLogger(__name__)


def find(engine: Engine, hosts: Mapping[str, str]
         ) -> list[differences.Difference]:
    """Return the servers and migrations that Placement counts wrongly.

    :param hosts: the names of compute hosts by the uuids of their providers.
    """
    if engine.nova is None:
        return []
    found: list[differences.Difference] = []
    try:
        # Only hosts with servers or such migrations are read in Placement.
        failed = _failed(engine.nova) if hosts else []
        for host, name in sorted(hosts.items()):
            there = _compare(engine, engine.nova, host, name, failed)
            if there:
                # The reads are not of one moment, so a difference has to be
                # found twice.
                again = _compare(engine, engine.nova, host, name, failed)
                found += [each for each in there if each in again]
    except errors.NovaUnavailable as exc:
        # The audit continues without servers.
        LOG.warning('The audit could not compare servers: %s', exc)
    return found


def _failed(nova: nova_client.Nova) -> list[nova_client.Migration]:
    """Return the newest migrations that have failed."""
    newest = [*nova.failed_migrations()]
    if len(newest) == nova_client.MOST_FAILED:
        LOG.warning(
            'The audit compares the newest %d migrations that have failed in '
            'Nova, and none before them: "nova-manage db '
            'archive_deleted_rows" removes those of deleted servers.',
            len(newest))
    return newest


def _compare(engine: Engine, nova: nova_client.Nova, host: str,
             name: str, failed: Iterable[nova_client.Migration]
             ) -> list[differences.Difference]:
    servers = [compare_servers.Server(each.uuid, each.vcpus, each.extra_specs)
               for each in _on(nova, name)]
    migrations = {each.uuid: each.server for each in failed
                  if name in each.hosts}
    if not servers and not migrations:
        return []
    client = hold_calls.client(engine)
    allocated = client.consumers_on(host)
    if allocated is None:
        return []
    offered = client.consumers_on(names.child_of(host)) or {}
    rows = lease_providers.read(engine)
    return list(compare_servers.compare(host, servers, allocated, offered, {
        names.class_of(ident)
        for ident in rows.counts.keys() | rows.in_work}, migrations))


def _on(nova: nova_client.Nova, name: str) -> Iterable[nova_client.Server]:
    """Return the servers that run on a host, and stay there for now.

    NOTE: Nova takes the name for a regular expression.
    """
    return (each for each in nova.servers(node=name)
            if each.node == name and each.task_state is None
            and not each.going)
