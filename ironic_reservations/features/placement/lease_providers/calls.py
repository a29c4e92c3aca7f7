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

"""Reads the state of a lease in Placement and Nova, and takes steps."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import datetime
from typing import Any

from ironic_reservations.clouds import nova as nova_client
from ironic_reservations.clouds import placement
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.engine import Engine
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import names

Act = machine.Act
Answer = answers.Answer
Outcome = answers.Outcome

#: The statuses of migrations that may still be confirmed or reverted.
_UNDER_WAY = ('pre-migrating', 'migrating', 'post-migrating', 'finished',
              'confirming', 'reverting')

_Offers = Mapping[str, Mapping[str, Any]]


def observe(engine: Engine, wanted: machine.Desired,
            hosts: Iterable[str] = ()) -> machine.Seen:
    """Return the state of a lease reservation in Placement and Nova.

    :param hosts: further hosts to read.
    """
    client = hold_calls.client(engine)
    children = {host: _child(engine, wanted, host)
                for host in sorted({*wanted.counts, *hosts})}
    there = client.class_there(wanted.class_name)
    if engine.nova is None or (wanted.active and wanted.flavor is None):
        return machine.Seen(there, children)
    flavor = _flavor(engine.nova, wanted.reservation_id)
    if wanted.active:
        return machine.Seen(there, children, True, flavor)
    servers, strangers = _servers(engine.nova, wanted, children)
    resizes = _resizes(engine.nova, strangers, engine.clock()
                       - datetime.timedelta(
                           seconds=engine.conf.placement.grace))
    return machine.Seen(there, children, True, flavor, servers,
                        strangers - resizes.keys(), resizes)


def find_hosts(engine: Engine, class_name: str) -> list[str]:
    """Return all hosts that offer a class, with a request for each host."""
    client = hold_calls.client(engine)
    found = []
    for provider in client.providers():
        host = provider.parent
        if host is not None and provider.uuid == names.child_of(host):
            there = client.inventories(provider.uuid)
            if there is not None and class_name in there.by_class:
                found.append(host)
    return found


def find_others(engine: Engine, class_name: str) -> list[str]:
    """Return the providers of others with a class, with a request for each."""
    client = hold_calls.client(engine)
    return [provider.uuid for provider in client.providers()
            if provider.uuid != names.child_of(provider.parent or '')
            and (there := client.inventories(provider.uuid)) is not None
            and class_name in there.by_class]


def _child(engine: Engine, wanted: machine.Desired,
           host: str) -> machine.Child:
    client, uuid = hold_calls.client(engine), names.child_of(host)
    there = client.inventories(uuid)
    if there is None:
        return machine.Child(False)
    offer = there.by_class.get(wanted.class_name)
    consumers: dict[str, int] = {}
    if offer is not None and not (wanted.active and wanted.counts.get(host)):
        consumers = {
            consumer: resources[wanted.class_name] for consumer, resources
            in (client.consumers_on(uuid) or {}).items()
            if wanted.class_name in resources}
    return machine.Child(True, offer, consumers)


def _flavor(nova: nova_client.Nova,
            ident: str) -> machine.FlavorSeen | None:
    found = nova.flavor(ident)
    projects = None if found is None else nova.projects_of(ident)
    if found is None or projects is None:
        return None
    return machine.FlavorSeen(found.vcpus, found.ram_mb, found.disk_gb,
                              found.extra_specs, projects,
                              found.ephemeral_gb, found.swap_mb)


def _servers(nova: nova_client.Nova, wanted: machine.Desired,
             children: Mapping[str, machine.Child]
             ) -> tuple[tuple[machine.ServerSeen, ...], frozenset[str]]:
    """Return the servers of a lease, by its flavor and by their allocations.

    :returns: the servers, and the consumers that are not servers.
    """
    found = {each.uuid: each for each
             in nova.servers(flavor=wanted.reservation_id)}
    strangers = set()
    for child in children.values():
        for consumer in child.consumers.keys() - found.keys():
            server = nova.server(consumer)
            if server is None:
                strangers.add(consumer)
            else:
                found[consumer] = server
    return tuple(machine.ServerSeen(uuid, each.going, each.kept)
                 for uuid, each in sorted(found.items())), (
        frozenset(strangers))


def _resizes(nova: nova_client.Nova, consumers: frozenset[str],
             since: datetime.datetime) -> dict[str, machine.ResizeSeen]:
    """Return the consumers that are resizes or migrations of servers.

    :param since: the time from which a change is recent.
    """
    found: dict[str, machine.ResizeSeen] = {}
    unknown = set(consumers)
    for ended, recent, listed in (
            *((False, False, nova.migrations(status=each))
              for each in _UNDER_WAY),
            (True, True, nova.migrations(
                changed_since=f'{since:%Y-%m-%dT%H:%M:%SZ}')),
            (True, False, nova.failed_migrations())):
        # Nothing is read before the first step of an iterator.
        for each in listed if unknown else ():
            if each.uuid in unknown:
                unknown.remove(each.uuid)
                server = nova.server(each.server)
                if server is not None:
                    found[each.uuid] = machine.ResizeSeen(
                        each.server, server.resized, ended,
                        recent or server.task_state is not None)
            if not unknown:
                break
    return found


def take(engine: Engine, wanted: machine.Desired,
         step: machine.Step) -> Answer:
    """Take a step.

    :returns: the answer; ``GONE`` or ``EXISTS`` if there was nothing to do.
    """
    client, name, about = (hold_calls.client(engine), wanted.class_name,
                           step.about)
    match step.act:
        case Act.ENSURE_CLASS:
            return client.ensure_class(name)
        case Act.DELETE_CLASS:
            return client.delete_class(name)
        case Act.MAKE_PROVIDER:
            return _make_provider(client, about)
        case Act.OFFER:
            return _change(client, about, lambda there: {
                **there, name: machine.offer_of(step.total)})
        case Act.CLOSE:
            return _change(client, about, lambda there: {
                each: machine.offer_of(offer['total'], True)
                if each == name else offer for each, offer in there.items()})
        case Act.WITHDRAW:
            return _change(client, about, lambda there: {
                each: offer for each, offer in there.items() if each != name})
        case Act.TAKE_FROM:
            return _take_from(client, about, name)
    assert engine.nova is not None
    return _of_nova(engine.nova, wanted, step)


def _of_nova(nova: nova_client.Nova, wanted: machine.Desired,
             step: machine.Step) -> Answer:
    ident = wanted.reservation_id
    match step.act:
        case Act.MAKE_FLAVOR:
            assert wanted.flavor is not None
            return nova.create_flavor(nova_client.Flavor(
                ident, names.FLAVOR_PREFIX + ident,
                *machine.sizes_of(wanted.flavor)))
        case Act.WRITE_SPECS:
            return nova.write_extra_specs(ident, step.specs)
        case Act.ADD_ACCESS:
            return nova.add_access(ident, step.about)
        case Act.REMOVE_ACCESS:
            return nova.remove_access(ident, step.about)
        case Act.DELETE_FLAVOR:
            return nova.delete_flavor(ident)
        case Act.DELETE_SERVER:
            return nova.delete_server(step.about)
        case Act.CONFIRM_RESIZE:
            return nova.confirm_resize(step.about)
        case Act.FORCE_DELETE_SERVER:
            return nova.force_delete_server(step.about)
    raise ValueError(step.act)


def _make_provider(client: placement.Placement, host: str) -> Answer:
    child, name = names.child_of(host), f'reservations_{host}'
    answer = client.create_provider(child, name, host)
    if answer.outcome is Outcome.EXISTS and client.provider(child) is None:
        foreign = next((each.uuid for each in client.providers(name=name)), '')
        return Answer(Outcome.UNFIT, (
            f'the provider {foreign} has the name {name}, which the '
            'reservation provider of the host needs; rename it with '
            '"openstack resource provider set --name <name> '
            f'{foreign}", or delete it'))
    return answer


def _change(client: placement.Placement, host: str,
            make: Callable[[_Offers], _Offers]) -> Answer:
    """Change the inventories of a child, keeping those of other leases."""
    child = names.child_of(host)

    def write() -> Answer:
        there = client.inventories(child)
        if there is None:
            return Answer(Outcome.UNKNOWN, (
                f'The host {host} has no reservation provider.'))
        after = make(there.by_class)
        if after == there.by_class:
            return Answer(Outcome.DONE)
        return client.put_inventories(child, there.generation, after)
    return hold_calls.repeat(write, Outcome.PROVIDER_CHANGED)


def _take_from(client: placement.Placement, consumer: str,
               class_name: str) -> Answer:
    """Remove only a class from the allocations of a consumer."""
    there = client.consumer(consumer)
    left = {provider: rest for provider, resources
            in there.allocations.items()
            if (rest := {name: amount for name, amount in resources.items()
                         if name != class_name})}
    if left == there.allocations:
        return Answer(Outcome.GONE)
    assert there.project_id is not None and there.user_id is not None
    return client.put_allocations(consumer, placement.AllocationRequest(
        left, there.project_id, there.user_id, there.generation,
        there.consumer_type))
