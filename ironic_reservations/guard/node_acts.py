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

"""Protected acts: requests that affect a node without deploying it.

As with a deploy, many spellings of a request reach the same code of Ironic.  A
request that could reach it must be in canonical form, or it is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
from typing import Any
from urllib import parse

from ironic_reservations import errors
from ironic_reservations.model import handovers

_JSON_SUFFIX = '.json'


class Act(enum.StrEnum):
    """A protected act; the values are those of [guard] protected_acts."""

    MAINTENANCE = 'maintenance'
    RETIRED = 'retired'
    DELETE = 'delete'
    ALLOCATION = 'allocation'
    POWER = 'power'
    BOOT = 'boot'
    VMEDIA = 'vmedia'
    VIF = 'vif'
    INSTANCE_INFO = 'instance_info'
    DRIVER_INFO = 'driver_info'
    LESSEE = 'lessee'
    SETTINGS = 'settings'
    CONSOLE = 'console'
    NMI = 'nmi'
    RAID = 'raid'
    VENDOR = 'vendor'
    UNDEPLOY = 'undeploy'
    RESCUE = 'rescue'
    SERVICE = 'service'
    CLEAN = 'clean'
    INSPECT = 'inspect'
    ABORT = 'abort'
    VOLUME = 'volume'
    #: Known to the holder's account, but not protected: the owner of a node
    #: may change its ports, for any holder.
    PORT = 'port'


#: Acts that take a node from its holder.  The node is kept from everybody
#: while Ironic carries them out.
TAKES_AWAY = frozenset((Act.MAINTENANCE, Act.RETIRED, Act.DELETE))
#: Acts that end the use of a node by an instance.
FREES = frozenset((Act.ALLOCATION, Act.UNDEPLOY))
#: Provision targets that are protected acts. None applies to an available
#: node. "provide" is not among them: it makes a node available to its holder
#: again.
OF_TARGETS = {
    'deleted': Act.UNDEPLOY, 'undeploy': Act.UNDEPLOY,
    'rescue': Act.RESCUE, 'unrescue': Act.RESCUE,
    'service': Act.SERVICE, 'clean': Act.CLEAN, 'inspect': Act.INSPECT,
    'abort': Act.ABORT, 'unhold': Act.ABORT}


@dataclasses.dataclass(frozen=True)
class NodeAct:
    """A request with a protected act.

    :ivar ident: the uuid or the name of the node, or of the allocation,
        volume or port that the path names; empty for a new one.
    :ivar below: the rest of the path after the node; for a volume or a port,
        its kind.
    """

    act: Act
    ident: str
    below: tuple[str, ...] = ()
    of_allocation: bool = False

    @property
    def recorded(self) -> str:
        """The name of the act in a handover."""
        below = [name for name in self.below
                 if name not in ('states', 'management')]
        return below[0] if below else self.act.value


#: The canonical paths below a node, with their methods.
_PATHS: dict[tuple[str, ...], tuple[Act, tuple[str, ...]]] = {
    ('maintenance',): (Act.MAINTENANCE, ('PUT', 'DELETE')),
    ('allocation',): (Act.ALLOCATION, ('DELETE',)),
    ('states', 'power'): (Act.POWER, ('PUT',)),
    ('states', 'boot_mode'): (Act.BOOT, ('PUT',)),
    ('states', 'secure_boot'): (Act.BOOT, ('PUT',)),
    ('management', 'boot_device'): (Act.BOOT, ('PUT',)),
    ('vmedia',): (Act.VMEDIA, ('POST', 'DELETE')),
    ('vifs',): (Act.VIF, ('POST',)),
    ('vifs', '*'): (Act.VIF, ('DELETE',)),
    ('states', 'console'): (Act.CONSOLE, ('PUT',)),
    ('management', 'inject_nmi'): (Act.NMI, ('PUT',)),
    ('states', 'raid'): (Act.RAID, ('PUT',)),
    ('vendor_passthru',): (Act.VENDOR, ('POST', 'PUT', 'DELETE')),
    ('vendor_passthru', '*'): (Act.VENDOR, ('POST', 'PUT', 'DELETE')),
    ('traits',): (Act.SETTINGS, ('PUT', 'DELETE')),
    ('traits', '*'): (Act.SETTINGS, ('PUT', 'DELETE')),
}
#: Each path above contains one of these segments.
KEYWORDS = {path[0] if path[-1] == '*' else path[-1]: act
            for path, (act, _) in _PATHS.items()}
#: The methods that reach an act; every method reaches a vendor's.
_REACHED_BY = {
    keyword: frozenset(method for path, (_, methods) in _PATHS.items()
                       if keyword in path for method in methods)
    for keyword in KEYWORDS}
_ANY_METHOD = Act.VENDOR
_WRITES = ('POST', 'PUT', 'DELETE')
_MAINTENANCE = 'maintenance'
_VOLUMES = ('targets', 'connectors')
PORTS = ('ports', 'portgroups')
#: Keys of a provision request that name steps.
_STEPS = frozenset(('clean_steps', 'deploy_steps', 'runbook',
                    'service_steps'))
#: A runbook of Ironic has steps that the request does not show.
_RUNBOOK = 'runbook'
#: The interfaces of steps whose effects Ironic shows afterwards.
_SHOWN_STEPS = frozenset(('bios', 'firmware', 'raid'))
#: Steps that change nothing but the power and the disks, which are cleaned.
_HARMLESS_STEPS = {'deploy': frozenset((
    'boot_instance', 'burnin_cpu', 'burnin_disk', 'burnin_memory',
    'burnin_network', 'deploy', 'erase_devices', 'erase_devices_express',
    'erase_devices_metadata', 'erase_pstore', 'inject_files',
    'prepare_instance_boot', 'switch_to_tenant_network', 'tear_down_agent',
    'write_image'))}
#: Ironic carries these out itself, for any interface.
_RESERVED_STEPS = frozenset(('hold', 'power_off', 'power_on', 'reboot',
                             'wait'))
#: The key of a step that is carried out on the children of the node instead.
_ON_CHILDREN = 'execute_on_child_nodes'
#: Parameters that may be in the query instead of the body.
_PARAMETERS = {Act.VMEDIA: frozenset(('device_types',)),
               Act.MAINTENANCE: frozenset(('reason',))}
#: Acts of a PATCH, by a part of the name of the field that it writes.
_FIELDS = {'maintenance': Act.MAINTENANCE, 'retired': Act.RETIRED,
           'instance_info': Act.INSTANCE_INFO,
           'instance_name': Act.INSTANCE_INFO,
           'driver_info': Act.DRIVER_INFO, 'lessee': Act.LESSEE}
#: Fields that describe a node and change nothing for its holder. Writing any
#: other field, also one that a later release of Ironic adds, is an act.
_DESCRIPTIONS = frozenset(('chassis_uuid', 'description', 'extra', 'name'))
#: The acts of a handover that Ironic's default policies grant a lessee. Where
#: callers have no roles, other acts count as an operator's, unless a proof is
#: shown.
OF_LESSEES = frozenset((
    'power', 'vmedia', 'vifs', 'boot_mode', 'secure_boot', 'volume',
    '/automated_clean', '/description', '/extra', '/instance_info',
    '/instance_name', '/protected', '/protected_reason', '/resource_class',
    handovers.STEPS, handovers.UNKNOWN_STEPS,
    *map(handovers.steps_of, _SHOWN_STEPS), *OF_TARGETS))
#: A PATCH may have this parameter; Ironic then resets the interfaces.
_RESET = 'reset_interfaces'
#: Keys of instance_info by which Ironic sets the boot of the machine when it
#: deploys, and the acts that do the same at once.
_BOOTS = ('capabilities', 'deploy_boot_mode')
_BOOT = ('boot_mode', 'secure_boot')


def classify(method: str, names: Sequence[str], clean: bool,
             query: str) -> NodeAct | None:
    """Return the act of a request below ``nodes`` or ``chassis``.

    :param method: a writing method; for a PATCH, only the path is considered.
    :param names: the segments of the path without ``v1``, as received.
    :param clean: whether no segment is empty.
    :param query: ``QUERY_STRING`` as received.
    :returns: ``None`` if the request has no act.
    :raises NotCanonical: the request could have one, but is not in canonical
        form.
    """
    plain = [name.removesuffix(_JSON_SUFFIX) for name in names]
    of_node = (clean and not query and len(names) > 2
               and names[0] == 'nodes' and names[1] not in KEYWORDS)
    could = {KEYWORDS[name] for name in plain[1:] if name in KEYWORDS
             and not (of_node and _is_beside(method, name, plain[2:]))}
    if method != 'DELETE':
        # Other requests for the allocation of a node are harmless, or are
        # refused elsewhere.
        could.discard(Act.ALLOCATION)
    at_node = method == 'DELETE' and not of_node and not (
        len(names) > 2 and names[0] == 'nodes' and clean
        and names[2] in KEYWORDS)
    if at_node and (names[0] == 'nodes' or 'nodes' in plain):
        could.add(Act.DELETE)
    if not could:
        return None
    if clean and names[0] == 'nodes':
        if (at_node and len(names) == 2 and not query
                and names[1] not in KEYWORDS):
            return NodeAct(Act.DELETE, names[1])
        found = _of_path(method, tuple(names[2:]))
        if (found is not None and names[1] not in KEYWORDS
                and _may_ask(found, query)):
            return NodeAct(found, names[1], tuple(names[2:]))
    raise _refusal(could)


def classify_allocation(method: str, names: Sequence[str], clean: bool,
                        query: str) -> NodeAct | None:
    """Return the act of a request below ``allocations``.

    :raises NotCanonical: the request could delete an allocation, but is not in
        canonical form.
    """
    if method != 'DELETE':
        return None
    if clean and len(names) == 2 and not query:
        return NodeAct(Act.ALLOCATION, names[1], of_allocation=True)
    raise _refusal({Act.ALLOCATION})


def classify_volume(method: str, names: Sequence[str], clean: bool,
                    query: str) -> NodeAct | None:
    """Return the act of a request below ``volume``.

    :returns: ``None`` if Ironic has no such request.
    :raises NotCanonical: the request is not in canonical form.
    """
    plain = {name.removesuffix(_JSON_SUFFIX) for name in names[1:]}
    if method == 'PUT' or plain.isdisjoint(_VOLUMES):
        return None
    if (clean and not query and len(names) in (2, 3)
            and names[1] in _VOLUMES and not names[-1].endswith(_JSON_SUFFIX)
            and method in (('POST',) if len(names) == 2
                           else ('PATCH', 'DELETE'))):
        return NodeAct(Act.VOLUME, names[2] if len(names) == 3 else '',
                       ('volume', names[1]))
    raise _refusal({Act.VOLUME})


def classify_port(method: str, names: Sequence[str], clean: bool,
                  query: str) -> NodeAct | None:
    """Return the act of a request below ``ports`` or ``portgroups``.

    :returns: ``None`` if Ironic has no such request.
    :raises NotCanonical: the request is not in canonical form.
    """
    plain = names[-1].removesuffix(_JSON_SUFFIX)
    if len(names) > 2 or method not in (
            ('POST',) if len(names) == 1 else ('PATCH', 'DELETE')):
        return None
    if clean and not query and plain == names[-1]:
        return NodeAct(Act.PORT, names[1] if len(names) == 2 else '',
                       (names[0],))
    raise _refusal({Act.PORT})


def of_provision(target: str, body: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the acts of a provision request, as a handover names them."""
    if _STEPS.isdisjoint(body):
        return (target,)
    found = {_of_step(step) for key in _STEPS - {_RUNBOOK}
             for step in _listed(body.get(key))}
    if body.get(_RUNBOOK) is not None:
        found.add(handovers.UNKNOWN_STEPS)
    return (target, handovers.STEPS,
            *sorted(found - {handovers.STEPS}))


def on_children(body: Mapping[str, Any]) -> Collection[str]:
    """Return the acts of the steps of a provision request on the children."""
    return {_of_step(step) for key in _STEPS - {_RUNBOOK}
            for step in _listed(body.get(key))
            if isinstance(step, dict) and step.get(_ON_CHILDREN)
            } - {handovers.STEPS}


def _listed(steps: Any) -> Sequence[Any]:
    """Return the steps of a request; Ironic refuses anything but a list."""
    return steps if isinstance(steps, list) else ()


def _of_step(step: Any) -> str:
    """Return the act of a step.

    A step of the vendor or the management interface may change anything, such
    as the users of the BMC, and so may one that is not known. Ironic neither
    shows nor cleans the children of a node with it.
    """
    values = step if isinstance(step, dict) else {}
    interface, name = str(values.get('interface')), str(values.get('step'))
    if name in _RESERVED_STEPS:
        return handovers.STEPS
    if values.get(_ON_CHILDREN):
        return handovers.UNKNOWN_STEPS
    if name in _HARMLESS_STEPS.get(interface, ()):
        return handovers.STEPS
    return (handovers.steps_of(interface) if interface in _SHOWN_STEPS
            else handovers.UNKNOWN_STEPS)


def pointers(patch: Any) -> tuple[str, ...]:
    """Return the JSON pointers that a PATCH writes.

    :param patch: the parsed body; Ironic refuses anything but a list.
    """
    return tuple(str(entry[key]) for entry in (
        patch if isinstance(patch, list) else ()) if isinstance(entry, dict)
        for key in ('path', 'from') if entry.get(key) is not None)


def recorded(patch: Any) -> frozenset[str]:
    """Return the acts of a PATCH as a handover names them.

    :param patch: as in :func:`pointers`.
    """
    parts = (pointer.lstrip('/').split('/')[:2] for pointer in pointers(patch))
    return frozenset((
        *(handovers.MAINTENANCE if each[0] == handovers.MAINTENANCE
          else '/' + '/'.join(part for part in each if part)
          for each in parts),
        *(_BOOT if any(map(_names_boot_mode, _listed(patch))) else ())))


def _names_boot_mode(entry: Any) -> bool:
    """Return whether an operation can set the boot mode of the next deploy.

    Ironic also takes JSON in a string, where a backslash may hide a name.
    """
    if not isinstance(entry, dict):
        return False
    field, *below = [*filter(None, str(entry.get('path')).split('/'))] or ['']
    value = entry.get('value')
    if not below and isinstance(value, dict):
        value = {key: value.get(key) for key in _BOOTS if key in value}
    elif not below or below[0] not in _BOOTS:
        return False
    return field == 'instance_info' and any(
        mark in f'{below} {value}' for mark in (*_BOOT, '\\'))


def of_patch(patch: Any, protected: Collection[Act]) -> frozenset[Act]:
    """Return the acts of a PATCH of a node.

    A field counts if its name only contains a protected one, so that no
    spelling of it is missed.

    :param patch: the body, parsed.
    """
    return frozenset(act for pointer in pointers(patch)
                     for act in _of_field(pointer) if act in protected)


def _of_field(pointer: str) -> Collection[Act]:
    """Return the acts of a write to the field of a JSON pointer."""
    field = pointer.lstrip('/').partition('/')[0].casefold()
    named = {act for name, act in _FIELDS.items() if name in field}
    if named or any(pointer == f'/{name}' or pointer.startswith(f'/{name}/')
                    for name in _DESCRIPTIONS):
        return named
    return {Act.SETTINGS}


def is_patch_query(query: str) -> bool:
    """Return whether Ironic's API has the query of a PATCH."""
    return _names(query) <= {_RESET}


def _is_beside(method: str, keyword: str, below: Sequence[str]) -> bool:
    """Return whether a write below a node can be none of the protected acts.

    A later release of Ironic may have such a write.

    :param below: the path below the node.
    """
    if method not in _WRITES or KEYWORDS[keyword] is _ANY_METHOD:
        return False
    return method not in _REACHED_BY[keyword] or (
        # Ironic refuses to clear maintenance if the path goes on.
        method == 'DELETE' and below[0] == keyword == _MAINTENANCE
        and len(below) > 1)


def _of_path(method: str, below: tuple[str, ...]) -> Act | None:
    if len(below) == 2 and below[0] in ('vifs', 'vendor_passthru', 'traits'):
        if below[1].endswith(_JSON_SUFFIX):
            return None
        below = (below[0], '*')
    act, methods = _PATHS.get(below, (None, ()))
    return act if method in methods else None


def _may_ask(act: Act, query: str) -> bool:
    """Return whether a query changes neither the node nor the method."""
    if act is Act.VENDOR:
        return 'node_ident' not in _names(query)
    return _names(query) <= _PARAMETERS.get(act, frozenset())


def _names(query: str) -> set[str]:
    return {name for name, _ in parse.parse_qsl(
        query.replace(';', '&'), keep_blank_values=True)}


def _refusal(acts: Collection[Act]) -> errors.NotCanonical:
    return errors.NotCanonical(
        'This request could change a node that others may have reserved '
        f"({', '.join(sorted(acts))}). Such requests are accepted in one form "
        "only. Send the request as in Ironic's API reference, with the node "
        'in the path and everything else in a JSON body.')
