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

"""Reads and checks the flavors of leases of instances."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import functools

from ironic_reservations import errors
from ironic_reservations.clouds import nova as nova_client
from ironic_reservations.engine import Engine
from ironic_reservations.model import flavors
from ironic_reservations.model import instance_flavors
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases


def read(engine: Engine, request: leases.LeaseRequest) -> leases.LeaseRequest:
    """Return a request with the contents of the flavors that it names.

    :raises InvalidValue: no host can be reserved for one of the flavors, or
        the service is not connected to Nova.
    :raises FlavorNotFound: Nova has no flavor of that id or name for the
        project.
    :raises NovaUnavailable: Nova does not answer.
    """
    nova = engine.nova

    @functools.cache
    def by_name() -> Mapping[str, nova_client.Flavor]:
        # The list has the private flavors of all leases, so it is read once.
        assert nova is not None
        return {each.name: each for each in nova.flavors()}
    found: dict[str, flavors.Flavor] = {}
    reservations = []
    for place, requested in enumerate(request.reservations):
        if requested.flavor_unread:
            assert requested.flavor_id is not None
            if requested.flavor_id not in found:
                found[requested.flavor_id] = _read(engine, place,
                                                   requested.flavor_id,
                                                   request.project_id, by_name)
            requested = dataclasses.replace(requested, instances=(
                instance_reservations.InstanceRequest.of_flavor(
                    requested.flavor_id, found[requested.flavor_id])))
        reservations.append(requested)
    return dataclasses.replace(request, reservations=tuple(reservations))


def check_sent(engine: Engine, request: leases.LeaseRequest) -> None:
    """Check that the flavors of a request have no properties of their own.

    The private flavor of a lease has all properties of the requested one. In
    Nova, only administrators may set them: some give devices that the lease
    does not hold.

    :raises InvalidValue: servers of the lease would get such a property.
    """
    if engine.nova is None:
        return
    for place, requested in enumerate(request.reservations):
        # A flavor that was read from Nova has been named.
        if requested.flavor_id is not None or requested.instances is None or (
                requested.instances.flavor is None):
            continue
        for key in requested.instances.flavor.extra_specs:
            if not flavors.asks(key):
                raise errors.InvalidValue(
                    f'reservations[{place}]: flavor: the extra spec '
                    f'{ascii(key)} requests neither resources nor traits, and '
                    'servers of the lease get such properties only from a '
                    'flavor of Nova. Leave it out, or send the flavor_id of a '
                    'flavor of Nova that has it, without "flavor".')


def _read(engine: Engine, place: int, ident: str, project_id: str | None,
          by_name: Callable[[], Mapping[str, nova_client.Flavor]]
          ) -> flavors.Flavor:
    where, shown = f'reservations[{place}]', ascii(ident)[:80]
    if engine.nova is None:
        raise errors.InvalidValue(
            f'{where}: the flavor {shown} cannot be looked up, because this '
            'service is not connected to Nova. Send the whole flavor as Nova '
            'shows it, send vcpus, memory_mb and disk_gb, or ask for '
            f'{instance_reservations.VIRTUAL_INSTANCE}.')
    found = engine.nova.flavor(ident) or by_name().get(ident)
    if found is None or not found.public and (
            project_id not in (engine.nova.projects_of(found.id) or ())):
        # One answer for both cases, or a caller could find private flavors.
        raise errors.FlavorNotFound(
            f'{where}: Nova has no flavor with the id or name {shown} that '
            f'the project {project_id} may use. "openstack flavor list" shows '
            'the flavors; a project needs access to a private one.')
    flavor = flavors.Flavor(found.vcpus, found.ram_mb, found.disk_gb,
                            found.ephemeral_gb, found.swap_mb,
                            found.extra_specs)
    try:
        instance_flavors.request(flavor)
    except flavors.FlavorRefused as exc:
        raise errors.InvalidValue(
            f'{where}: the flavor {shown} of Nova cannot be reserved for. '
            f'{exc}') from exc
    return flavor
