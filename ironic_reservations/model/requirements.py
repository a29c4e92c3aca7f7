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

"""What a lease asks of its hosts: Blazar's properties, compiled once.

The grammar of their text is in :mod:`.condition_text`, and what compares with
what in :mod:`.host_conditions`.
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

#: What every host may have. A capability of such a name is not seen.
BUILTIN = frozenset({
    'id', 'hypervisor_hostname', 'hypervisor_type', 'vcpus', 'memory_mb',
    'local_gb', 'cpu_info', 'status', 'reservable', 'cpus', 'memory', 'disk',
    'arch', 'cpu_arch', 'resource_class', 'traits', 'node_uuid', 'name',
    'owner'})

#: What the names of Ironic's properties are called here.
_OF_PROPERTIES = {
    'cpus': ('vcpus', 'cpus'),
    'memory_mb': ('memory_mb', 'memory'),
    'local_gb': ('local_gb', 'disk'),
    'cpu_arch': ('arch', 'cpu_arch'),
}

#: What the properties of a compute host are in Placement.
_OF_INVENTORIES = {flavors.VCPU: 'cpus', flavors.MEMORY_MB: 'memory_mb',
                   flavors.DISK_GB: 'local_gb'}

_OWNER = 'owner'


@dataclasses.dataclass(frozen=True)
class Requirement:
    """What a host must be like, read from text by :func:`parse`.

    :ivar names: the properties that it asks about, without their ``$``.
    :ivar terms: of how many comparisons it is.
    :ivar need: of the instance that a host has to have room for when it is
        empty; ``None``: it is had whole.
    """

    condition: conditions.Condition
    names: frozenset[str] = dataclasses.field(compare=False)
    need: instance_reservations.Need | None = None
    terms: int = dataclasses.field(default=0, compare=False)

    def __hash__(self) -> int:
        return self._hash

    # NOTE: sets of hosts are looked up by it, once for each booking.
    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.condition, self.need))

    def names_beside_own(self, project_id: str | None) -> frozenset[str]:
        """Return the names, without those that ask for own hosts only.

        NOTE: which hosts are its own, a project knows; words that are numbers
        are compared as such, and could be another project's.  "!=" is met by
        hosts that have an owner and by no others, so it tells which these
        are.

        :param project_id: which project asks.
        """
        own = all(isinstance(term, conditions.Among) and term.within
                  and not term.numbers and term.literals == {project_id}
                  for term in self.condition.terms() if term.name == _OWNER)
        return self.names - {_OWNER} if own else self.names

    def matches(self, known: conditions.Known) -> bool:
        """Return whether a host is as the texts say.

        :param known: its properties, as of :func:`of_host`.
        """
        return self.condition.matches(known)

    def met_by(self, host: Described) -> bool:
        """Return whether a host will do, when it is empty.

        NOTE: a compute host is had in shares only.
        """
        if self.need is None:
            return not host.compute and self.matches(host.known)
        return self.matches(host.known) and self.need.met_by(
            host.inventories, host.traits)


@dataclasses.dataclass(frozen=True)
class Described:
    """A host, as far as requirements ask about it.

    :ivar known: its properties.
    :ivar inventories: what it has.
    :ivar compute: whether instances share it.
    """

    known: conditions.Known
    inventories: inventories.Inventories
    traits: frozenset[str]
    compute: bool


# NOTE: few, since each may be as large as a request is allowed to be; all
# the leases that ask for the same share one.
@functools.lru_cache(maxsize=128)
def parse(hypervisor_properties: str, resource_properties: str,
          need: instance_reservations.Need | None = None) -> Requirement:
    """Read what a lease asks of its hosts; a host must do for both texts.

    Texts that differ only in the white space of their JSON give equal values.

    :param need: of the instance that a host has to have room for, when it
        is empty.
    :raises ValueError: a text is not of the grammar, or too large.
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


def admitted_classes(hypervisor_properties: str, resource_properties: str,
                     classes: Iterable[str]) -> frozenset[str]:
    """Return which resource classes hosts can be of that do for both texts.

    All other properties are taken for unknown: only comparisons with
    ``resource_class`` rule a class out.

    :param classes: those that matter.
    :raises ValueError: a text is not of the grammar, or too large.
    """
    # NOTE: of all that a project has; what is asked for now stays in there.
    condition = parse.__wrapped__(hypervisor_properties,
                                  resource_properties).condition
    return frozenset(name for name in classes if condition.outcomes(
        {'resource_class': name})[0])


def describe(host: leases.Host) -> Described:
    """Return a host as requirements see it."""
    return Described(of_host(host), host_inventories.of(host.node),
                     host.node.traits, host.node.compute)


def suits(wanted: Requirement, host: leases.Host) -> bool:
    """Check whether a host will do, or will once it is empty and available.

    NOTE: a lease may ask for hosts in a state, and whoever has a host until
    then puts it into others.
    """
    described = describe(host)
    return wanted.met_by(described) or not described.compute and (
        wanted.met_by(dataclasses.replace(described, known={
            **described.known, 'status': node_condition.AVAILABLE})))


def of_host(host: leases.Host) -> dict[str, conditions.Value]:
    """Return what a host can be asked for, by name.

    What Ironic does not say of the node is absent, not empty; ``traits`` are
    always there.
    """
    node = host.node
    known: dict[str, conditions.Value] = {
        name: value for name, value in host.capabilities.items()
        if name not in BUILTIN}
    known.update(
        id=str(host.id), hypervisor_hostname=node.name or node.uuid,
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
