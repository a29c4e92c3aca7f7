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

"""Decides on the state of a lease in Placement and in Nova.

The state is a resource class and a private flavor that requests it. A child
provider of each host offers the class once for each instance there, or once if
the lease has the whole host. The module is pure: the engine reads, this
returns the remaining steps, and the engine takes them and reads again.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import enum
import re

from ironic_reservations.features.placement.lease_providers import names
from ironic_reservations.model import flavors

SIZES = frozenset({flavors.VCPU, flavors.MEMORY_MB, flavors.DISK_GB})

#: A sentence names at most so many servers.
_MOST_NAMED = 5
_RESOURCES = re.compile(r'resources[a-zA-Z0-9_-]{0,64}:(.*)', re.DOTALL)
_ASKED = re.compile(r'resources[a-zA-Z0-9_-]{0,64}:.')


class Servers(enum.Enum):
    """The fate of servers when their lease is over."""

    #: Delete them.
    DELETE = 'delete'
    #: Keep them, without the class of the lease.
    LEAVE = 'leave'
    #: Keep them, and wait until they are gone.
    WAIT = 'wait'


@dataclasses.dataclass(frozen=True)
class DesiredFlavor:
    """The flavor that a lease reservation should have.

    :ivar memory_mb: in MiB.
    :ivar disk_gb: in GiB.
    :ivar covered: classes that the hold on the hosts has already, so that
        servers must not request them again.
    :ivar extra_specs: the extra specs of the requested flavor, such as traits.
    :ivar keeps_sizes: whether an existing flavor keeps its sizes.
    :ivar ephemeral_gb: in GiB.
    :ivar swap_mb: in MiB.
    :ivar shared: whether any of the hosts is a compute host.
    """

    vcpus: int
    memory_mb: int
    disk_gb: int
    covered: frozenset[str] = SIZES
    extra_specs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    keeps_sizes: bool = False
    ephemeral_gb: int = 0
    swap_mb: int = 0
    shared: bool = False


@dataclasses.dataclass(frozen=True)
class Slots:
    """Classes of which each server takes one.

    :ivar of_nodes: offered by nodes of Ironic only. A flavor that requests
        only this never gets a server onto a compute host, where its resources
        would not be counted.
    :ivar of_leases: offered by nodes of Ironic and by compute hosts; requested
        by the private flavors of leases with compute hosts.
    """

    of_nodes: str
    of_leases: str


@dataclasses.dataclass(frozen=True)
class Desired:
    """The desired state of a lease reservation.

    :ivar counts: the number of instances by the provider of the host; at the
        end, of the hosts that it had.
    :ivar active: whether the lease has started and is not over.
    :ivar flavor: ``None``: the flavor is not checked while the lease is
        active.
    :ivar servers: their fate at the end.
    """

    reservation_id: str
    project_id: str | None
    counts: Mapping[str, int]
    active: bool
    flavor: DesiredFlavor | None = None
    servers: Servers = Servers.DELETE

    @property
    def class_name(self) -> str:
        """The class in Placement."""
        return names.class_of(self.reservation_id)


@dataclasses.dataclass(frozen=True)
class Child:
    """The lease provider of a host, with regard to one class.

    :ivar there: whether the provider exists.
    :ivar offer: the inventory of the class; ``None``: none.
    :ivar consumers: amounts by consumer, if they were read.
    """

    there: bool
    offer: Mapping[str, float] | None = None
    consumers: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class FlavorSeen:
    """The flavor in Nova.

    :ivar projects: the projects with access to it.
    """

    vcpus: int
    memory_mb: int
    disk_gb: int
    extra_specs: Mapping[str, str]
    projects: frozenset[str]
    ephemeral_gb: int = 0
    swap_mb: int = 0


@dataclasses.dataclass(frozen=True)
class ServerSeen:
    """A server of the lease.

    :ivar going: whether it is being deleted.
    :ivar kept: whether it is soft-deleted, and can be restored.
    """

    uuid: str
    going: bool = False
    kept: bool = False


@dataclasses.dataclass(frozen=True)
class ResizeSeen:
    """A resize or migration that keeps the allocation of a server.

    A server that is reverted has it again, even if Placement has no room.

    :ivar server: the uuid of the server.
    :ivar resized: whether it can be confirmed.
    :ivar ended: whether it has ended or failed, so that it can be neither
        confirmed nor reverted.
    :ivar busy: whether Nova may still change its allocation.
    """

    server: str
    resized: bool
    ended: bool = False
    busy: bool = False


@dataclasses.dataclass(frozen=True)
class Seen:
    """The observed state in Placement and Nova.

    :ivar class_there: whether Placement has the class.
    :ivar children: the lease providers by host.
    :ivar nova: whether Nova was read.
    :ivar servers: read only at the end.
    :ivar strangers: consumers that are neither servers nor resizes.
    :ivar resizes: the resizes by consumer.
    """

    class_there: bool
    children: Mapping[str, Child]
    nova: bool = False
    flavor: FlavorSeen | None = None
    servers: tuple[ServerSeen, ...] = ()
    strangers: frozenset[str] = frozenset()
    resizes: Mapping[str, ResizeSeen] = dataclasses.field(
        default_factory=dict)


class Act(enum.Enum):
    """The kind of a step; each can be repeated."""

    ENSURE_CLASS = 'ensure class'
    MAKE_PROVIDER = 'make provider'
    OFFER = 'offer'
    #: Reserve the whole inventory, so that nothing more can be allocated.
    CLOSE = 'close'
    #: Remove the inventory; refused while there are allocations.
    WITHDRAW = 'withdraw'
    DELETE_CLASS = 'delete class'
    MAKE_FLAVOR = 'make flavor'
    WRITE_SPECS = 'write extra specs'
    ADD_ACCESS = 'add access'
    REMOVE_ACCESS = 'remove access'
    DELETE_FLAVOR = 'delete flavor'
    DELETE_SERVER = 'delete server'
    FORCE_DELETE_SERVER = 'force-delete server'
    CONFIRM_RESIZE = 'confirm resize'
    #: Remove only the class from the allocations of a consumer.
    TAKE_FROM = 'take from consumer'


@dataclasses.dataclass(frozen=True)
class Step:
    """A step.

    :ivar about: the host, project, server or consumer.
    :ivar total: the total of the inventory.
    :ivar specs: extra specs to write.
    """

    act: Act
    about: str = ''
    total: int = 0
    specs: Mapping[str, str] = dataclasses.field(default_factory=dict)


def offer_of(total: int, closed: bool = False) -> dict[str, float]:
    """Return an inventory, of which each server takes one."""
    return {'total': total, 'reserved': total if closed else 0,
            'min_unit': 1, 'max_unit': 1, 'step_size': 1,
            'allocation_ratio': 1.0}


def extra_specs(reservation_id: str, flavor: DesiredFlavor,
                slots: Slots) -> dict[str, str]:
    """Return the extra specs of the flavor of a lease reservation.

    NOTE: Nova's scheduler searches the host among the providers that a server
    gets resources of, and finds none if all of them are children. In that case
    the flavor requests a slot of the host.
    """
    kept = {key: value for key, value in flavor.extra_specs.items()
            if (match := _RESOURCES.fullmatch(key)) is None
            or match.group(1) not in flavor.covered | {
                names.class_of(reservation_id)}}
    sizes = {flavors.VCPU: flavor.vcpus, flavors.MEMORY_MB: flavor.memory_mb,
             flavors.DISK_GB: flavor.disk_gb}
    specs = {**kept, f'resources:{names.class_of(reservation_id)}': '1',
             **{f'resources:{name}': '0' for name in sizes
                if name in flavor.covered}}
    of_the_host = any(amount and name not in flavor.covered
                      for name, amount in sizes.items()) or any(
        _ASKED.match(key) and value.strip() != '0'
        for key, value in kept.items())
    if not of_the_host:
        slot = slots.of_leases if flavor.shared else slots.of_nodes
        specs[f'resources:{slot}'] = '1'
    return specs


def steps(wanted: Desired, seen: Seen, slots: Slots) -> list[Step]:
    """Return the steps that can be taken now, in order.

    :returns: empty in the desired state, and while a step has to wait: see
        :func:`waits`.
    """
    return list(_active(wanted, seen, slots) if wanted.active
                else _ended(wanted, seen))


def waits(wanted: Desired, seen: Seen) -> list[str]:
    """Return the reasons for waiting when no step remains, in words."""
    if wanted.active:
        return []
    users = {consumer for child in seen.children.values()
             for consumer in child.consumers}
    if wanted.servers is not Servers.LEAVE:
        users |= {server.uuid for server in seen.servers}
    resized = sorted(users & seen.resizes.keys(),
                     key=lambda each: seen.resizes[each].server)
    resizes = [_wait(each, seen.resizes[each]) for each in resized]
    left = sorted(users - seen.resizes.keys() - seen.strangers)
    if not left:
        return resizes
    those = ', '.join(left[:_MOST_NAMED])
    if len(left) > _MOST_NAMED:
        those += f' and {len(left) - _MOST_NAMED} more'
    if not seen.nova:
        return [f'the consumers {those} have allocations of '
                f'{wanted.class_name} in Placement, and without [nova] it is '
                'not known whether they are servers; delete the servers, or '
                'remove the class from their allocations']
    count = len(left)
    return [*resizes, f'{count} server{"s" * (count > 1)} of the reservation '
            f'{wanted.reservation_id} {"is" if count == 1 else "are"} still '
            f'there: {those}']


def _wait(migration: str, resize: ResizeSeen) -> str:
    if not resize.ended:
        return (f'the resize of the server {resize.server} has yet to be '
                'confirmed or reverted')
    return (f'the migration {migration} of the server {resize.server} has '
            'ended or failed, and still has its allocations'
            + (', which Nova may still change' if resize.busy else ''))


def _active(wanted: Desired, seen: Seen, slots: Slots) -> Iterator[Step]:
    if not seen.class_there:
        yield Step(Act.ENSURE_CLASS)
    for host, total in sorted(wanted.counts.items()):
        child = seen.children[host]
        if total:
            if not child.there:
                yield Step(Act.MAKE_PROVIDER, host)
            if child.offer != offer_of(total):
                yield Step(Act.OFFER, host, total)
        else:
            yield from _withdraw(host, child)
    if seen.nova and wanted.flavor is not None:
        yield from _flavor(wanted, wanted.flavor, seen.flavor, slots)


def _flavor(wanted: Desired, flavor: DesiredFlavor, seen: FlavorSeen | None,
            slots: Slots) -> Iterator[Step]:
    """Return the steps for the flavor; access is granted last."""
    if seen is not None and not flavor.keeps_sizes and sizes_of(flavor) != (
            seen.vcpus, seen.memory_mb, seen.disk_gb, seen.ephemeral_gb,
            seen.swap_mb):
        # NOTE: Nova cannot change sizes; existing servers keep theirs.
        yield Step(Act.DELETE_FLAVOR)
        seen = None
    specs = extra_specs(wanted.reservation_id, flavor, slots)
    if seen is None:
        yield Step(Act.MAKE_FLAVOR)
        seen = FlavorSeen(0, 0, 0, {}, frozenset())
    # The hosts may have changed; for Nova, 0 means that a class is not
    # requested.
    specs.update({key: '0' for slot in (slots.of_nodes, slots.of_leases)
                  if (key := f'resources:{slot}') not in specs
                  and seen.extra_specs.get(key, '0') != '0'})
    missing = {key: value for key, value in specs.items()
               if seen.extra_specs.get(key) != value}
    if missing:
        yield Step(Act.WRITE_SPECS, specs=missing)
    if wanted.project_id is not None and (
            wanted.project_id not in seen.projects):
        yield Step(Act.ADD_ACCESS, wanted.project_id)


def sizes_of(flavor: DesiredFlavor) -> tuple[int, int, int, int, int]:
    """Return the sizes for Nova, which requires a VCPU and some RAM."""
    return (max(1, flavor.vcpus), max(1, flavor.memory_mb), flavor.disk_gb,
            flavor.ephemeral_gb, flavor.swap_mb)


def _withdraw(host: str, child: Child) -> Iterator[Step]:
    if child.offer is None:
        return
    if not child.consumers:
        yield Step(Act.WITHDRAW, host)
    elif child.offer['reserved'] < child.offer['total']:
        yield Step(Act.CLOSE, host)


def _ended(wanted: Desired, seen: Seen) -> Iterator[Step]:
    """Return the steps at the end of a lease.

    Access and inventory are removed before servers are deleted, so that no new
    servers are started.
    """
    if seen.flavor is not None:
        for project in sorted(seen.flavor.projects):
            yield Step(Act.REMOVE_ACCESS, project)
    for host, child in sorted(seen.children.items()):
        yield from _withdraw(host, child)
    if wanted.servers is Servers.DELETE:
        for server in seen.servers:
            if server.kept:
                yield Step(Act.FORCE_DELETE_SERVER, server.uuid)
            elif not server.going:
                yield Step(Act.DELETE_SERVER, server.uuid)
    consumers = {consumer for child in seen.children.values()
                 for consumer in child.consumers}
    if wanted.servers is Servers.DELETE:
        # A later revert would give the server resources of another lease.
        yield from (Step(Act.CONFIRM_RESIZE, each.server)
                    for consumer, each in sorted(seen.resizes.items())
                    if each.resized and consumer in consumers)
        # Nova never reverts such a migration, but it may still be at work:
        # it deletes the allocation after the end, and its server is in ERROR
        # if that fails.
        left = {server.uuid for server in seen.servers}
        yield from (Step(Act.TAKE_FROM, consumer)
                    for consumer, each in sorted(seen.resizes.items())
                    if each.ended and not each.busy and consumer in consumers
                    and each.server not in left)
    if wanted.servers is Servers.LEAVE:
        yield from (Step(Act.TAKE_FROM, each) for each in sorted(consumers))
    elif not seen.servers:
        # While there are servers, a consumer may be a migration.
        yield from (Step(Act.TAKE_FROM, each)
                    for each in sorted(consumers & seen.strangers))
    if consumers or (seen.servers and wanted.servers is not Servers.LEAVE):
        return
    if seen.flavor is not None:
        # Last, since servers are listed by their flavor.
        yield Step(Act.DELETE_FLAVOR)
    if seen.class_there:
        yield Step(Act.DELETE_CLASS)
