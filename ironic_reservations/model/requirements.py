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

"""The requirements of a lease on its hosts, compiled from Blazar's properties.

Their grammar is in :mod:`.condition_text`, and their evaluation in
:mod:`.host_conditions`.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import functools
import json

from ironic_reservations.model import condition_text
from ironic_reservations.model import flavors
from ironic_reservations.model import host_conditions as conditions
from ironic_reservations.model import host_inventories
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import inventories
from ironic_reservations.model import leases
from ironic_reservations.model import node_condition

MAX_TERMS = 500

#: The built-in properties, which hide capabilities of the same name.
BUILTIN = frozenset({
    'id', 'hypervisor_hostname', 'hypervisor_type', 'vcpus', 'memory_mb',
    'local_gb', 'cpu_info', 'status', 'reservable', 'cpus', 'memory', 'disk',
    'arch', 'cpu_arch', 'resource_class', 'traits', 'node_uuid', 'name',
    'owner'})

#: The names here of Ironic's properties.
_OF_PROPERTIES = {
    'cpus': ('vcpus', 'cpus'),
    'memory_mb': ('memory_mb', 'memory'),
    'local_gb': ('local_gb', 'disk'),
    'cpu_arch': ('arch', 'cpu_arch'),
}

#: The properties for the inventories of a compute host.
_OF_INVENTORIES = {flavors.VCPU: 'cpus', flavors.MEMORY_MB: 'memory_mb',
                   flavors.DISK_GB: 'local_gb'}

_OWNER = 'owner'


@dataclasses.dataclass(frozen=True)
class Requirement:
    """A requirement on hosts, made by :func:`parse`.

    :ivar names: the properties that it uses, without ``$``.
    :ivar terms: the number of comparisons.
    :ivar need: the need of the instance for which an empty host must have
        room; ``None``: the host is booked as a whole.
    """

    condition: conditions.Condition
    names: frozenset[str] = dataclasses.field(compare=False)
    need: instance_reservations.Need | None = None
    terms: int = dataclasses.field(default=0, compare=False)

    def __hash__(self) -> int:
        return self._hash

    # Cached, since sets of hosts are looked up by it for each booking.
    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.condition, self.need))

    def names_beside_own(self, project_id: str | None) -> frozenset[str]:
        """Return the names, without ``owner`` if it is the caller's project.

        A project knows its own hosts, so the comparison of the owner with its
        own id reveals nothing. Ids that are numbers are excluded, since they
        are compared as numbers, and could match another project's; and so is
        "!=", which would reveal hosts that have another owner.

        :param project_id: the project of the caller.
        """
        own = all(isinstance(term, conditions.Among) and term.within
                  and not term.numbers and term.literals == {project_id}
                  for term in self.condition.terms() if term.name == _OWNER)
        return self.names - {_OWNER} if own else self.names

    def matches(self, known: conditions.Known) -> bool:
        """Return whether a host matches the conditions.

        :param known: the properties of the host, from :func:`of_host`.
        """
        return self.condition.matches(known)

    def met_by(self, host: Described) -> bool:
        """Return whether a host is suitable if it is empty.

        A compute host cannot be booked as a whole.
        """
        if self.need is None:
            return not host.compute and self.matches(host.known)
        return self.matches(host.known) and self.need.met_by(
            host.inventories, host.traits)


@dataclasses.dataclass(frozen=True)
class Described:
    """The description of a host for requirements.

    :ivar known: the properties of the host.
    :ivar inventories: the inventories of the host.
    :ivar compute: whether instances share the host.
    """

    known: conditions.Known
    inventories: inventories.Inventories
    traits: frozenset[str]
    compute: bool


# The cache is small, since each entry may be as large as a request; leases
# with the same texts share one.
@functools.lru_cache(maxsize=128)
def parse(hypervisor_properties: str, resource_properties: str,
          need: instance_reservations.Need | None = None) -> Requirement:
    """Parse the requirements of a lease on its hosts; both texts must match.

    Texts that differ only in white space give equal values.

    :param need: the need of the instance for which an empty host must have
        room.
    :raises ValueError: a text does not match the grammar, or is too large.
    """
    parts = [condition for source, text in (
        ('hypervisor_properties', hypervisor_properties),
        ('resource_properties', resource_properties))
        if (condition := condition_text.read(source, text)) is not None]
    condition = conditions.joined(conditions.And, parts)
    terms = list(condition.terms())
    if len(terms) > MAX_TERMS:
        raise ValueError(
            f'The hypervisor_properties and resource_properties make '
            f'{len(terms)} comparisons. Write at most {MAX_TERMS}; '
            '["in", "$rack", ["r1", "r2"]] counts as one.')
    return Requirement(condition, frozenset(term.name for term in terms),
                       need, len(terms))


def of(each: leases.LeaseReservation
       | leases.LeaseReservationRequest) -> Requirement:
    """Return the requirement that the hosts of a reservation have to meet.

    :raises ValueError: as :func:`parse`.
    """
    return parse(each.hypervisor_properties, each.resource_properties,
                 None if each.instances is None else each.instances.need)


def admitted_classes(hypervisor_properties: str, resource_properties: str,
                     classes: Iterable[str]) -> frozenset[str]:
    """Return the resource classes of hosts that could match both texts.

    All other properties are treated as unknown: only comparisons with
    ``resource_class`` exclude a class.

    :param classes: the candidates.
    :raises ValueError: a text does not match the grammar, or is too large.
    """
    # The cache is not used, since this is called for all leases of a project,
    # which would evict those in use.
    condition = parse.__wrapped__(hypervisor_properties,
                                  resource_properties).condition
    return frozenset(name for name in classes if condition.outcomes(
        {'resource_class': name})[0])


def describe(host: leases.Host) -> Described:
    """Return the description of a host for requirements."""
    return Described(of_host(host), host_inventories.of(host.node),
                     host.node.traits, host.node.compute)


def suits(wanted: Requirement, host: leases.Host) -> bool:
    """Return whether a host is suitable, or will be when it is available.

    A requirement may contain the state of a host, which changes while the host
    is in use.
    """
    described = describe(host)
    return wanted.met_by(described) or not described.compute and (
        wanted.met_by(dataclasses.replace(described, known={
            **described.known, 'status': node_condition.AVAILABLE})))


def of_host(host: leases.Host) -> dict[str, conditions.Value]:
    """Return the properties of a host by name.

    Properties that Ironic does not have are omitted; ``traits`` are always
    present.
    """
    node = host.node
    known: dict[str, conditions.Value] = {
        name: value for name, value in host.capabilities.items()
        if name not in BUILTIN}
    known.update(
        id=str(host.id),
        # Nova has one of them, and its users know both.
        hypervisor_hostname=frozenset(filter(None, (node.uuid, node.name))),
        hypervisor_type='compute' if node.compute else 'ironic',
        reservable=str(host.reservable), node_uuid=node.uuid,
        traits=node.traits)
    for name, value in (('name', node.name), ('owner', node.owner),
                        ('resource_class', node.resource_class),
                        ('status', node.provision_state)):
        if value:
            known[name] = value
    for key, there in node.inventories or ():
        for name in _OF_PROPERTIES.get(_OF_INVENTORIES.get(key, ''), ()):
            known[name] = str(there.total)
    for key, value in node.properties:
        if value:
            for name in _OF_PROPERTIES.get(key, ()):
                known[name] = value
            if key == 'cpu_arch':
                known['cpu_info'] = json.dumps({'arch': value})
    return known
