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

"""Parses the requests of flavors to Placement, as Nova does, but strictly.

Nova ignores values that it cannot parse, with a warning in its log, so that a
flavor may request less than it seems to. Here such a flavor is refused, and
the refusal names the key.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import re

CUSTOM = 'CUSTOM_'
VCPU = 'VCPU'
PCPU = 'PCPU'
MEMORY_MB = 'MEMORY_MB'
DISK_GB = 'DISK_GB'
#: The standard classes.
STANDARD = frozenset({
    VCPU, MEMORY_MB, DISK_GB, 'PCI_DEVICE', 'SRIOV_NET_VF',
    'NUMA_SOCKET', 'NUMA_CORE', 'NUMA_THREAD', 'NUMA_MEMORY_MB',
    'IPV4_ADDRESS', 'VGPU', 'VGPU_DISPLAY_HEAD',
    'NET_BW_EGR_KILOBIT_PER_SEC', 'NET_BW_IGR_KILOBIT_PER_SEC', PCPU,
    'MEM_ENCRYPTION_CONTEXT', 'FPGA', 'PGPU',
    'NET_PACKET_RATE_KILOPACKET_PER_SEC',
    'NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC',
    'NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC'})

GROUP_POLICY = 'group_policy'
_GROUP_POLICIES = ('none', 'isolate')

MAX_NAME = 255
#: The largest integer in Placement.
MAX_AMOUNT = 2 ** 31 - 1

_KEY = re.compile(r'(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)', re.DOTALL)
_NEARLY_A_KEY = re.compile(r'(resources|trait)[^:]*:')
_CUSTOM_CLASS = re.compile(r'CUSTOM_[A-Z0-9_]+')
_TRAIT = re.compile(r'[A-Z0-9_]+')
_NOT_IN_A_CLASS = re.compile('[^0-9A-Za-z]+')

#: The traits that Nova derives from other keys.
_TRAIT_OF = {
    ('os:secure_boot', 'required'): 'COMPUTE_SECURITY_UEFI_SECURE_BOOT',
    ('hw:maxphysaddr_mode', 'passthrough'):
        'COMPUTE_ADDRESS_SPACE_PASSTHROUGH',
    ('hw:maxphysaddr_mode', 'emulate'): 'COMPUTE_ADDRESS_SPACE_EMULATED',
    ('hw:pci_numa_affinity_policy', 'socket'):
        'COMPUTE_SOCKET_PCI_NUMA_AFFINITY',
}
#: With these keys, Nova requests more than a flavor shows.
_UNREAD = ('accel:device_profile', 'hw:pmem', 'hw:tpm_model',
           'hw:tpm_version')
_TRUE = frozenset({'1', 't', 'true', 'on', 'y', 'yes'})

_HYPERTHREADING = 'HW_CPU_HYPERTHREADING'
_MB_IN_GB = 1024


class FlavorRefused(ValueError):
    """A flavor cannot be used for a reservation.

    :ivar key: the part to change: an extra spec, or a field of the flavor;
        empty for the flavor as a whole.
    """

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclasses.dataclass(frozen=True)
class Flavor:
    """A flavor as Nova's API shows it.

    :ivar boots_from_volume: whether the root disk is not on the host.
    """

    vcpus: int
    ram_mb: int
    disk_gb: int
    ephemeral_gb: int = 0
    swap_mb: int = 0
    extra_specs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    boots_from_volume: bool = False


@dataclasses.dataclass(frozen=True)
class Group:
    """A group of a request, which one provider must serve.

    :ivar suffix: the name of the group; empty for the group whose resources
        may come from several providers of a tree.
    :ivar resources: pairs of a class and an amount, ordered by class.
    """

    suffix: str
    resources: tuple[tuple[str, int], ...]
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Request:
    """The resources and traits that a flavor requests.

    :ivar groups: ordered by suffix; the group without a suffix comes first.
    """

    groups: tuple[Group, ...]
    group_policy: str | None = None

    def totals(self) -> dict[str, int]:
        """Return the sum of the amounts of each class."""
        return _totals(dict(group.resources) for group in self.groups)

    def query(self) -> list[tuple[str, str]]:
        """Return the parameters of ``GET /allocation_candidates``.

        Suffixes that are not numbers need version 1.33 of Placement.
        """
        found = []
        for group in self.groups:
            found.append((f'resources{group.suffix}', ','.join(
                f'{name}:{amount}' for name, amount in group.resources)))
            traits = [*sorted(group.required),
                      *(f'!{name}' for name in sorted(group.forbidden))]
            if traits:
                found.append((f'required{group.suffix}', ','.join(traits)))
        if self.group_policy is not None:
            found.append((GROUP_POLICY, self.group_policy))
        return found


@dataclasses.dataclass
class _Group:
    """A group while its keys are parsed; amounts may still be zero."""

    resources: dict[str, int] = dataclasses.field(default_factory=dict)
    #: The key of each trait.
    required: dict[str, str] = dataclasses.field(default_factory=dict)
    forbidden: dict[str, str] = dataclasses.field(default_factory=dict)

    def drop_zeros(self) -> None:
        self.resources = {name: amount
                          for name, amount in self.resources.items() if amount}


def class_of_node(resource_class: str | None) -> str:
    """Return the class in Placement of a resource class of Ironic.

    Several resource classes may become the same class: see
    :func:`collisions`.

    :raises ValueError: Nova does not offer such nodes, or the name is too long
        for Placement.
    """
    if not resource_class:
        raise ValueError(
            'The node has no resource_class, so that it is not in Placement. '
            'Set one with "baremetal node set --resource-class".')
    name = CUSTOM + _NOT_IN_A_CLASS.sub('_', resource_class).upper()
    if len(name) > MAX_NAME:
        raise ValueError(
            f'The resource_class {resource_class[:20]}... gives a name of '
            f'{len(name)} characters; Placement allows at most {MAX_NAME}.')
    return name


def class_or_none(resource_class: str | None) -> str | None:
    """Return the class of :func:`class_of_node`; ``None``: there is none."""
    try:
        return class_of_node(resource_class)
    except ValueError:
        return None


def collisions(resource_classes: Iterable[str]) -> dict[str, list[str]]:
    """Return resource classes of Ironic that Placement does not distinguish.

    :param resource_classes: their names, which must not be empty.
    :returns: the names by class in Placement, for classes with several.
    """
    found: dict[str, list[str]] = {}
    for name in sorted(set(resource_classes)):
        found.setdefault(class_of_node(name), []).append(name)
    return {name: same for name, same in found.items() if len(same) > 1}


def read(flavor: Flavor) -> Request:
    """Parse the request of a flavor.

    :raises FlavorRefused: a value cannot be parsed, nothing is requested, or
        Placement would refuse the request.
    """
    groups: dict[str, _Group] = {'': _Group()}
    policy = _read_keys(flavor.extra_specs, groups)
    _translate(flavor, groups[''])
    _add_sizes(flavor, groups)
    for group in groups.values():
        group.drop_zeros()
    _check_groups(groups, policy)
    return Request(tuple(
        Group(suffix, tuple(sorted(group.resources.items())),
              frozenset(group.required), frozenset(group.forbidden))
        for suffix, group in sorted(groups.items()) if group.resources),
        policy)


def asks(key: str) -> bool:
    """Return whether an extra spec is part of the request to Placement."""
    return key == GROUP_POLICY or _KEY.fullmatch(key) is not None


def _read_keys(extra_specs: Mapping[str, str],
               groups: dict[str, _Group]) -> str | None:
    policy = None
    for key, value in extra_specs.items():
        if key == GROUP_POLICY:
            policy = _one_of(key, value, _GROUP_POLICIES)
            continue
        match = _KEY.fullmatch(key)
        if match is None:
            if _NEARLY_A_KEY.match(key):
                raise FlavorRefused(key, (
                    f'The extra spec {key!r} has an invalid group. The name '
                    'of a group has 1 to 64 letters, digits, _ and -, like '
                    '"resources_net:CUSTOM_NIC".'))
            continue
        kind, suffix, name = match.groups()
        group = groups.setdefault(suffix or '', _Group())
        if kind == 'resources':
            group.resources[_class(key, name)] = _amount(key, value)
        elif _one_of(key, value, ('required', 'forbidden')) == 'required':
            group.required[_trait(key, name)] = key
        else:
            group.forbidden[_trait(key, name)] = key
    return policy


def _class(key: str, name: str) -> str:
    if name in STANDARD or (_CUSTOM_CLASS.fullmatch(name)
                            and len(name) <= MAX_NAME):
        return name
    raise FlavorRefused(key, (
        f'The extra spec {key!r} has no valid resource class. Write a '
        'standard class, like VCPU, or CUSTOM_ with capital letters, digits '
        f'and _, at most {MAX_NAME} characters.'))


def _amount(key: str, value: str) -> int:
    try:
        # Like Nova, this accepts ' 1 ', '+1' and '1_0'.
        amount = int(value)
    except ValueError:
        amount = -1
    if not 0 <= amount <= MAX_AMOUNT:
        raise FlavorRefused(key, (
            f'The extra spec {key!r} has the amount {_shown(value)}. Write a '
            f'whole number from 0 to {MAX_AMOUNT}; 0 keeps the class out of '
            'the request.'))
    return amount


def _trait(key: str, name: str) -> str:
    if _TRAIT.fullmatch(name) and len(name) <= MAX_NAME:
        return name
    raise FlavorRefused(key, (
        f'The extra spec {key!r} has no valid trait. Write capital letters, '
        f'digits and _, at most {MAX_NAME} characters.'))


def _one_of(key: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise FlavorRefused(key, (
            f'The extra spec {key!r} is {_shown(value)}. Write one of: '
            f'{", ".join(allowed)}.'))
    return value


def _translate(flavor: Flavor, group: _Group) -> None:
    """Parse the keys that Nova converts to resources and traits."""
    specs = flavor.extra_specs
    for key in _UNREAD:
        if specs.get(key):
            raise FlavorRefused(key, (
                f'The extra spec {key!r} makes Nova request resources that a '
                'reservation cannot know. Write them as resources: and trait: '
                'instead.'))
    if specs.get('hw:mem_encryption', '').strip().lower() in _TRUE:
        raise FlavorRefused('hw:mem_encryption', (
            "The extra spec 'hw:mem_encryption' makes Nova request resources "
            'that depend on the image. Write '
            'resources:MEM_ENCRYPTION_CONTEXT=1 instead.'))
    for (key, value), trait in _TRAIT_OF.items():
        if specs.get(key) == value:
            group.required[trait] = key
    _translate_pinning(flavor, group)


def _translate_pinning(flavor: Flavor, group: _Group) -> None:
    specs = flavor.extra_specs
    policy = specs.get('hw:cpu_policy') or 'shared'
    if policy == 'mixed' or policy not in ('shared', 'dedicated'):
        raise FlavorRefused('hw:cpu_policy', (
            f"The extra spec 'hw:cpu_policy' is {_shown(policy)}. Write "
            'shared or dedicated; for a mix, write resources:VCPU and '
            'resources:PCPU instead.'))
    threads = specs.get('hw:cpu_thread_policy') or 'prefer'
    emulator = specs.get('hw:emulator_threads_policy') or 'share'
    _one_of('hw:cpu_thread_policy', threads, ('prefer', 'isolate', 'require'))
    _one_of('hw:emulator_threads_policy', emulator, ('share', 'isolate'))
    if policy == 'shared':
        for key, wants in (
                ('hw:cpu_thread_policy', threads != 'prefer'),
                ('hw:emulator_threads_policy', emulator == 'isolate')):
            if wants and PCPU not in group.resources:
                raise FlavorRefused(key, (
                    f"The extra spec {key!r} needs 'hw:cpu_policy' dedicated. "
                    'Add that, or leave it out.'))
    else:
        if VCPU in group.resources or PCPU in group.resources:
            raise FlavorRefused('hw:cpu_policy', (
                "The extra spec 'hw:cpu_policy' and resources:VCPU or "
                'resources:PCPU both set the CPUs. Leave one of them out.'))
        group.resources[PCPU] = flavor.vcpus + (emulator == 'isolate')
    if threads == 'isolate':
        group.forbidden[_HYPERTHREADING] = 'hw:cpu_thread_policy'
    elif threads == 'require':
        group.required[_HYPERTHREADING] = 'hw:cpu_thread_policy'


def _add_sizes(flavor: Flavor, groups: Mapping[str, _Group]) -> None:
    """Add the sizes of a flavor for the classes that no key sets.

    A key with the value 0 sets its class, too, in any group.
    """
    for field in ('vcpus', 'ram_mb', 'disk_gb', 'ephemeral_gb', 'swap_mb'):
        if not 0 <= getattr(flavor, field) <= MAX_AMOUNT:
            raise FlavorRefused(field, (
                f'The {field} of the flavor are {getattr(flavor, field)}; '
                f'they must be from 0 to {MAX_AMOUNT}.'))
    named = {name for group in groups.values()
             for name in group.resources}
    sizes = groups[''].resources
    if not named & {VCPU, PCPU}:
        sizes[VCPU] = flavor.vcpus
    if MEMORY_MB not in named:
        sizes[MEMORY_MB] = flavor.ram_mb
    if DISK_GB not in named:
        sizes[DISK_GB] = (flavor.ephemeral_gb
                          + -(-flavor.swap_mb // _MB_IN_GB)
                          + (0 if flavor.boots_from_volume
                             else flavor.disk_gb))


def _check_groups(groups: Mapping[str, _Group], policy: str | None) -> None:
    """Check for requests that Placement would refuse."""
    for group in groups.values():
        trait_key = next(iter({**group.required, **group.forbidden}.values()),
                         None)
        if trait_key is not None and not group.resources:
            raise FlavorRefused(trait_key, (
                f'The extra spec {trait_key!r} requests a trait in a group '
                'without resources, which Placement does not allow. Request a '
                'resource in the same group.'))
        both = group.required.keys() & group.forbidden.keys()
        for trait in sorted(both):
            raise FlavorRefused(group.forbidden[trait], (
                f'The trait {trait} is required by '
                f'{group.required[trait]!r} and forbidden by '
                f'{group.forbidden[trait]!r}. Leave one of them out.'))
    asking = [suffix for suffix, group in groups.items() if group.resources]
    if not asking:
        raise FlavorRefused('', (
            'The flavor requests no resources, so that every host would '
            'match. Write an amount above 0 for one of its classes, like '
            'resources:CUSTOM_GOLD=1.'))
    if policy is None and len([suffix for suffix in asking if suffix]) > 1:
        raise FlavorRefused(GROUP_POLICY, (
            "The flavor has several groups but no 'group_policy', which "
            'Placement requires. Write none if one provider may serve several '
            'groups, or isolate if it may not.'))


def _totals(groups: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for group in groups:
        for name, amount in group.items():
            found[name] = found.get(name, 0) + amount
    return found


def _shown(value: str) -> str:
    return repr(value) if len(value) <= 40 else f'{value[:40]!r}...'
