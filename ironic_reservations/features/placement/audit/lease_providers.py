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

"""Compares leases with Placement and Nova, in both directions.

Cheap requests come first: the classes and the flavors in one each. A lease
provider is checked only if it, or its desired state, has changed since it was
in order.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.db import reserved_instances
from ironic_reservations.engine import Engine
from ironic_reservations.features.placement.audit import (
    compare_lease_providers,
)
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.audit import providers_seen
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.lease_providers import converge
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import names
from ironic_reservations.features.placement.lease_providers import (
    private_flavors,
)
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases

LOG = log.getLogger(__name__)

Difference = differences.Difference

#: The reason for which a difference remains that is only of one moment.
IN_WORK = 'Another process is changing it.'

_Seen = dict[str, providers_seen.Seen]


class _Changed(Exception):
    """The lease reservation has changed during its repair."""


def read(engine: Engine) -> compare_lease_providers.Rows:
    """Return the desired state of leases."""
    kinds: tuple[str, ...] = instance_reservations.KINDS
    if engine.nova is not None:
        kinds = (*kinds, leases.PHYSICAL_HOST)
    with engine.database.read() as connection:
        shares = reserved_instances.read_shares(connection, engine.clock(),
                                                kinds)
    in_work = frozenset(share.reservation_id for share in shares
                        if share.state is not leases.BookingState.BOUND)
    counts: dict[str, dict[str, int]] = {}
    for share in shares:
        if share.reservation_id not in in_work:
            counts.setdefault(share.reservation_id, {})[
                share.node_uuid] = share.count
    return compare_lease_providers.Rows(counts, in_work, {
        share.reservation_id: share.project_id for share in shares})


def find(engine: Engine, there: Mapping[str, placement.Provider],
         seen: Mapping[str, providers_seen.Seen], everything: bool
         ) -> tuple[list[Difference], _Seen]:
    """Return the differences.

    :param there: all providers.
    :param seen: the states of providers that were in order.
    :param everything: check each of them.
    :returns: the differences, and the states of providers that are in order
        now.
    """
    rows = read(engine)
    children = {one.parent: one for one in there.values()
                if one.parent is not None
                and one.uuid == names.child_of(one.parent)}
    hosts = sorted({*children, *(host for counts in rows.counts.values()
                                 for host in counts)})
    suspects = [host for host in hosts if everything or host not in children
                or seen.get(children[host].uuid)
                != _as_seen(rows, host, children[host])]
    offered, found = _compare(engine, rows, suspects)
    # Reservations that are being changed are checked again next time.
    unsettled = {each.node_uuid for each in found} | {
        host for host, one in offered.items() if any(
            names.class_of(ident) in (one.offers or {})
            for ident in rows.in_work)}
    seen_now = {children[host].uuid: _as_seen(rows, host, children[host])
                for host in suspects
                if host in children and host not in unsettled}
    if found:
        # The reads are not of one moment, so a difference has to be found
        # twice.
        _, again = _compare(engine, read(engine), {
            each.node_uuid for each in found if each.node_uuid})
        found = [each for each in found if each in again]
    moved = compare_lease_providers.misplaced(
        rows, {one.uuid: one.parent for one in there.values()})
    return [*found, *moved], seen_now


def _compare(engine: Engine, rows: compare_lease_providers.Rows,
             hosts: Iterable[str]
             ) -> tuple[dict[str, compare_lease_providers.Offered],
                        list[Difference]]:
    offered = {host: _offered(engine, host) for host in hosts}
    return offered, compare_lease_providers.compare(
        rows, offered, hold_calls.client(engine).classes(), _flavors(engine))


def _flavors(engine: Engine) -> frozenset[str] | None:
    """Return the reservations with a private flavor; ``None``: unknown."""
    if engine.nova is None:
        return None
    try:
        return frozenset(each.id for each in engine.nova.flavors()
                         if each.name == names.FLAVOR_PREFIX + each.id)
    except errors.NovaUnavailable as exc:
        # The audit continues without flavors.
        LOG.warning('The audit could not compare flavors: %s', exc)
        return None


def _offered(engine: Engine, host: str) -> compare_lease_providers.Offered:
    client = hold_calls.client(engine)
    child = names.child_of(host)
    there = client.inventories(child)
    if there is None:
        return compare_lease_providers.Offered(None)
    return compare_lease_providers.Offered(there.by_class, (
        client.usages(child) or {}) if there.by_class else {})


def _as_seen(rows: compare_lease_providers.Rows, host: str,
             child: placement.Provider) -> providers_seen.Seen:
    return providers_seen.Seen.of(
        child.generation, providers_seen.Kind.LEASE_PROVIDER,
        sorted(rows.of_host(host).items()))


def repair(engine: Engine, ident: str,
           its: Collection[Difference]) -> str:
    """Repair a lease reservation, without deleting or changing servers.

    :param its: all differences of it.
    :returns: the reason for which they remain, in words; empty if they are
        repaired.
    """
    rows = read(engine)
    if ident in rows.in_work:
        return IN_WORK
    counts = rows.counts.get(ident)
    if counts is None and not any(each.node_uuid for each in its) and (
            not _ours(engine, ident)):
        return ('Nothing shows that it belongs to this service; "openstack '
                'resource class delete" deletes it.')
    hosts = dict.fromkeys((each.node_uuid for each in its
                           if each.node_uuid), 0)
    flavor = (None if counts is None or engine.nova is None
              else private_flavors.read(engine, ident, counts))

    def before_each() -> None:
        # The end of a lease deletes everything; create nothing after that.
        # A lease that starts creates everything; delete nothing after that.
        now = read(engine)
        if ident in now.in_work or now.counts.get(ident) != counts:
            raise _Changed
    try:
        waits = converge.bring(engine, machine.Desired(
            ident, rows.projects.get(ident), {**hosts, **(counts or {})},
            active=counts is not None, flavor=flavor,
            servers=machine.Servers.WAIT), before_each)
    except _Changed:
        return IN_WORK
    return '; '.join(waits)


def _ours(engine: Engine, ident: str) -> bool:
    """Return whether a class without a host is ours.

    NOTE: Blazar uses the same names for its classes, and creates them long
    before it offers them.
    """
    with engine.database.read() as connection:
        if reserved_instances.is_known(connection, ident):
            return True
    flavor = None if engine.nova is None else engine.nova.flavor(ident)
    return (flavor is not None
            and flavor.name == names.FLAVOR_PREFIX + ident)
