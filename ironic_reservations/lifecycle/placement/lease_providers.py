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

"""What a lease that Nova is to use is to have in Placement and in Nova.

A class of its own, offered by a child of each host as often as the lease has
instances there, or once where it has the host, and a private flavor that asks
for it.  Pure: the engine looks, this says which steps are left, the engine
takes them and looks again.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import enum
import re

from ironic_reservations.model import flavors

PREFIX = 'CUSTOM_RESERVATION_'
#: What our flavors are called; those of Blazar are called otherwise.
FLAVOR_PREFIX = 'lease-reservation:'

SIZES = frozenset({flavors.VCPU, flavors.MEMORY_MB, flavors.DISK_GB})

_OF_A_CLASS = re.compile('_'.join(
    f'([0-9A-F]{{{length}}})' for length in (8, 4, 4, 4, 12)))
_RESOURCES = re.compile(r'resources[a-zA-Z0-9_-]{0,64}:(.*)', re.DOTALL)
_ASKED = re.compile(r'resources[a-zA-Z0-9_-]{0,64}:.')


def class_of(reservation_id: str) -> str:
    """Return the class of a lease reservation, by its id."""
    return PREFIX + reservation_id.upper().replace('-', '_')


def reservation_of(class_name: str) -> str | None:
    """Return the id in the name of a class; ``None`` for other classes."""
    match = _OF_A_CLASS.fullmatch(class_name.removeprefix(PREFIX))
    if match is None or not class_name.startswith(PREFIX):
        return None
    return '-'.join(match.groups()).lower()


class Servers(enum.Enum):
    """What becomes of servers when their lease is over."""

    #: They are deleted.
    DELETE = 'delete'
    #: They stay, without what the lease gave them.
    LEAVE = 'leave'
    #: They stay, and nothing is taken back before they are gone.
    WAIT = 'wait'


@dataclasses.dataclass(frozen=True)
class FlavorWanted:
    """The flavor of a lease reservation.

    :ivar memory_mb: in MiB.
    :ivar disk_gb: in GiB.
    :ivar covered: classes that the hold on the hosts has already, so that
        servers are not to ask for them once more.
    :ivar extra_specs: of the flavor that was reserved for, such as traits.
    :ivar keeps_sizes: whether a flavor that is there stays as large as it
        is.
    :ivar ephemeral_gb: in GiB.
    :ivar swap_mb: in MiB.
    :ivar shared: whether a compute host is among its hosts.
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
    """Classes of which a host gives each server one.

    :ivar of_nodes: given by nodes of Ironic, and by nothing else; a flavor
        that asks for it alone never gets a server onto a compute host, where
        nothing that it uses would be counted.
    :ivar of_leases: given by nodes of Ironic and by compute hosts, and asked
        for by the private flavors of leases that have compute hosts.
    """

    of_nodes: str
    of_leases: str


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What a lease reservation is to have.

    :ivar counts: how many instances, by the provider of the host; at the end
        the hosts that it had.
    :ivar active: whether the lease has started and is not over.
    :ivar flavor: ``None``: whether there is one is not looked at, while the
        lease is active.
    :ivar servers: what becomes of them at the end.
    """

    reservation_id: str
    project_id: str | None
    counts: Mapping[str, int]
    active: bool
    flavor: FlavorWanted | None = None
    servers: Servers = Servers.DELETE

    @property
    def class_name(self) -> str:
        """Return the class in Placement."""
        return class_of(self.reservation_id)


@dataclasses.dataclass(frozen=True)
class Child:
    """What the reservation provider of a host has of one class.

    :ivar there: whether there is such a provider.
    :ivar offer: of the class; ``None``: none.
    :ivar consumers: who has how much of it, where that was looked at.
    """

    there: bool
    offer: Mapping[str, float] | None = None
    consumers: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class FlavorSeen:
    """The flavor, as it is.

    :ivar projects: who may use it.
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

    :ivar going: it is being deleted.
    :ivar kept: it is deleted, and kept to be restored.
    """

    uuid: str
    going: bool = False
    kept: bool = False


@dataclasses.dataclass(frozen=True)
class Seen:
    """What there is.

    :ivar class_there: whether Placement has the class.
    :ivar children: by host.
    :ivar nova: whether Nova was looked at, at all.
    :ivar servers: looked at at the end only.
    :ivar strangers: consumers that are no servers.
    """

    class_there: bool
    children: Mapping[str, Child]
    nova: bool = False
    flavor: FlavorSeen | None = None
    servers: tuple[ServerSeen, ...] = ()
    strangers: frozenset[str] = frozenset()


class Act(enum.Enum):
    """What a step does; each does nothing where that is done already."""

    ENSURE_CLASS = 'ensure class'
    MAKE_PROVIDER = 'make provider'
    OFFER = 'offer'
    #: Offer no more than is used, so that nobody comes to have more.
    CLOSE = 'close'
    #: Offer the class no more; refused while somebody has it.
    WITHDRAW = 'withdraw'
    DELETE_CLASS = 'delete class'
    MAKE_FLAVOR = 'make flavor'
    WRITE_SPECS = 'write extra specs'
    ADD_ACCESS = 'add access'
    REMOVE_ACCESS = 'remove access'
    DELETE_FLAVOR = 'delete flavor'
    DELETE_SERVER = 'delete server'
    FORCE_DELETE_SERVER = 'force-delete server'
    #: Take the class from a consumer, and leave it all else.
    TAKE_FROM = 'take from consumer'


@dataclasses.dataclass(frozen=True)
class Step:
    """One thing to do.

    :ivar about: the host, the project, the server or the consumer.
    :ivar total: how much of the class to offer.
    :ivar specs: to write to the flavor.
    """

    act: Act
    about: str = ''
    total: int = 0
    specs: Mapping[str, str] = dataclasses.field(default_factory=dict)


def offer_of(total: int, closed: bool = False) -> dict[str, float]:
    """Return an inventory; each server takes one of it."""
    return {'total': total, 'reserved': total if closed else 0,
            'min_unit': 1, 'max_unit': 1, 'step_size': 1,
            'allocation_ratio': 1.0}


def extra_specs(reservation_id: str, flavor: FlavorWanted,
                slots: Slots) -> dict[str, str]:
    """Return the extra specs of the flavor of a lease reservation.

    NOTE: the scheduler of Nova looks for the host among the providers that a
    server gets something of, and finds none where all of that is a child's.

    """
    kept = {key: value for key, value in flavor.extra_specs.items()
            if (match := _RESOURCES.fullmatch(key)) is None
            or match.group(1) not in flavor.covered | {
                class_of(reservation_id)}}
    sizes = {flavors.VCPU: flavor.vcpus, flavors.MEMORY_MB: flavor.memory_mb,
             flavors.DISK_GB: flavor.disk_gb}
    specs = {**kept, f'resources:{class_of(reservation_id)}': '1',
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


def steps(wanted: Wanted, seen: Seen, slots: Slots) -> list[Step]:
    """Return the steps that can be taken now, in their order.

    :returns: nothing where all is as it should be, or where there is
        something to wait for: see :func:`waits`.
    """
    return list(_active(wanted, seen, slots) if wanted.active
                else _ended(wanted, seen))


def waits(wanted: Wanted, seen: Seen) -> list[str]:
    """Return what to wait for, in words, where no step is left."""
    if wanted.active:
        return []
    users = {consumer for child in seen.children.values()
             for consumer in child.consumers}
    if wanted.servers is not Servers.LEAVE:
        users |= {server.uuid for server in seen.servers}
    count = len(users)
    if not count:
        return []
    return [f'{count} server{"s" * (count > 1)} of the reservation '
            f'{wanted.reservation_id} {"is" if count == 1 else "are"} still '
            'there']


def _active(wanted: Wanted, seen: Seen, slots: Slots) -> Iterator[Step]:
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
            yield from _take_back(host, child)
    if seen.nova and wanted.flavor is not None:
        yield from _flavor(wanted, wanted.flavor, seen.flavor, slots)


def _flavor(wanted: Wanted, flavor: FlavorWanted, seen: FlavorSeen | None,
            slots: Slots) -> Iterator[Step]:
    """NOTE: who may use it is last, since it asks for nothing before."""
    if seen is not None and not flavor.keeps_sizes and sizes_of(flavor) != (
            seen.vcpus, seen.memory_mb, seen.disk_gb, seen.ephemeral_gb,
            seen.swap_mb):
        # NOTE: nobody can change them; servers keep what they have.
        yield Step(Act.DELETE_FLAVOR)
        seen = None
    specs = extra_specs(wanted.reservation_id, flavor, slots)
    if seen is None:
        yield Step(Act.MAKE_FLAVOR)
        seen = FlavorSeen(0, 0, 0, {}, frozenset())
    # NOTE: the hosts of a lease may have become others; to Nova 0 means that
    # the flavor does not ask for it.
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


def sizes_of(flavor: FlavorWanted) -> tuple[int, int, int, int, int]:
    """Return the sizes as Nova takes them, which has nothing without RAM."""
    return (max(1, flavor.vcpus), max(1, flavor.memory_mb), flavor.disk_gb,
            flavor.ephemeral_gb, flavor.swap_mb)


def _take_back(host: str, child: Child) -> Iterator[Step]:
    if child.offer is None:
        return
    if not child.consumers:
        yield Step(Act.WITHDRAW, host)
    elif child.offer['reserved'] < child.offer['total']:
        yield Step(Act.CLOSE, host)


def _ended(wanted: Wanted, seen: Seen) -> Iterator[Step]:
    """NOTE: in this order nobody gets in any more when servers are deleted.
    """
    if seen.flavor is not None:
        for project in sorted(seen.flavor.projects):
            yield Step(Act.REMOVE_ACCESS, project)
    for host, child in sorted(seen.children.items()):
        yield from _take_back(host, child)
    if wanted.servers is Servers.DELETE:
        for server in seen.servers:
            if server.kept:
                yield Step(Act.FORCE_DELETE_SERVER, server.uuid)
            elif not server.going:
                yield Step(Act.DELETE_SERVER, server.uuid)
    consumers = {consumer for child in seen.children.values()
                 for consumer in child.consumers}
    if wanted.servers is Servers.LEAVE:
        yield from (Step(Act.TAKE_FROM, each) for each in sorted(consumers))
    elif wanted.servers is Servers.DELETE and not seen.servers:
        # NOTE: while there are servers, one may be that of a migration.
        yield from (Step(Act.TAKE_FROM, each)
                    for each in sorted(consumers & seen.strangers))
    if consumers or (seen.servers and wanted.servers is not Servers.LEAVE):
        return
    if seen.flavor is not None:
        # NOTE: not before, since Nova finds servers by it.
        yield Step(Act.DELETE_FLAVOR)
    if seen.class_there:
        yield Step(Act.DELETE_CLASS)
