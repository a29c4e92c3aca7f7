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
"""Compares the servers on a compute host with its usage in Placement.

It is pure: the engine reads, and this compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Set
import dataclasses
import re

from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.lease_providers import names
from ironic_reservations.model import flavors

#: The classes of processors, shared ones and dedicated ones.
_PROCESSORS = (flavors.VCPU, 'PCPU')
_OF_PROCESSORS = re.compile('resources[a-zA-Z0-9_-]{0,64}:[VP]CPU')


@dataclasses.dataclass(frozen=True)
class Server:
    """A server that runs on a host.

    :ivar vcpus: the number in its own copy of its flavor, which later changes
        of the flavor do not affect.
    :ivar extra_specs: the extra specs in the same copy.
    """

    uuid: str
    vcpus: int
    extra_specs: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def of_lease(self) -> bool:
        """Whether its flavor is one of a lease, over or not."""
        return any(names.PREFIX in key for key in self.extra_specs)

    @property
    def processors(self) -> int:
        """The number of processors that Placement should count.

        A flavor of the operator may request fewer on purpose.
        """
        asked = [int(value) for key, value in self.extra_specs.items()
                 if _OF_PROCESSORS.fullmatch(key) and value.isdecimal()]
        return sum(asked) if asked and not self.of_lease else self.vcpus


def compare(host: str, servers: Iterable[Server],
            allocated: Mapping[str, Mapping[str, int]],
            offered: Mapping[str, Mapping[str, int]],
            live: Set[str], failed: Mapping[str, str]
            ) -> Iterator[differences.Difference]:
    """Return the servers that use more of a host than Placement counts.

    Return also the migrations that have failed and still have allocations.

    :param allocated: the allocations on the host, by consumer.
    :param offered: the allocations on its lease provider, by consumer.
    :param live: the classes of leases that hold the host: the hold counts the
        usage of their servers.
    :param failed: the servers of migrations that have failed, by migration.
    """
    having = sorted(failed.keys() & {*allocated, *offered})
    for migration in having:
        amounts = {**allocated.get(migration, {}),
                   **offered.get(migration, {})}
        said = ', '.join(f'{amount} {name}' for name, amount
                         in sorted(amounts.items()))
        yield differences.Difference(
            differences.Kind.FAILED_MIGRATION, host, migration,
            f'The migration {migration} of the server {failed[migration]} has '
            f'failed in Nova, and still has {said}. When the server is in '
            'order or deleted, "openstack resource provider allocation delete '
            f'{migration}" releases them.', shared=True)
    of_failed = {failed[migration] for migration in having}
    for server in sorted(servers, key=lambda each: each.uuid):
        if server.uuid in of_failed or not live.isdisjoint(
                offered.get(server.uuid, {})):
            continue
        there = allocated.get(server.uuid, {})
        counted = sum(there.get(name, 0) for name in _PROCESSORS)
        if counted < server.processors:
            yield differences.Difference(
                differences.Kind.UNCOUNTED, host, server.uuid,
                f'The server {server.uuid} has {server.vcpus} VCPUs, of which '
                f'Placement counts {counted}'
                + (': it has the flavor of a lease that is over. Delete it, '
                   'or resize it to another flavor.' if server.of_lease else
                   '. "nova-manage placement heal_allocations" corrects it.'),
                shared=True, resource_class=flavors.VCPU)
