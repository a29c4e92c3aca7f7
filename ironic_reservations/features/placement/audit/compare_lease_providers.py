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

"""Compares leases of instances with Placement and Nova.

It is pure: the engine reads, and this compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools

from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import names

Difference = differences.Difference
Kind = differences.Kind


@dataclasses.dataclass(frozen=True)
class Rows:
    """The leases in our database.

    :ivar counts: the number of instances, by lease reservation and host.
    :ivar in_work: lease reservations that are being started or ended.
    :ivar projects: the projects by lease reservation.
    """

    counts: Mapping[str, Mapping[str, int]]
    in_work: frozenset[str] = frozenset()
    projects: Mapping[str, str | None] = dataclasses.field(
        default_factory=dict)

    def of_host(self, host: str) -> dict[str, int]:
        """Return the amounts that a host should offer, by class."""
        return self._by_host.get(host, {})

    @functools.cached_property
    def _by_host(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for ident, counts in self.counts.items():
            for host, count in counts.items():
                found.setdefault(host, {})[names.class_of(ident)] = count
        return found


@dataclasses.dataclass(frozen=True)
class Offered:
    """The lease provider of a host.

    :ivar offers: inventories by class; ``None`` without a provider.
    :ivar used: usages by class.
    """

    offers: Mapping[str, Mapping[str, float]] | None
    used: Mapping[str, int] = dataclasses.field(default_factory=dict)


def compare(rows: Rows, offered: Mapping[str, Offered],
            classes: frozenset[str],
            flavors: frozenset[str] | None = None) -> list[Difference]:
    """Return the differences.

    :param offered: the lease providers by host, for hosts that were read.
    :param classes: all classes of Placement.
    :param flavors: the lease reservations with a private flavor; ``None``:
        they were not read.
    """
    found = [difference for host, there in sorted(offered.items())
             for difference in _of_host(rows, host, there)]
    named = {difference.reservation_id for difference in found}
    left = {ident for name in classes
            if (ident := names.reservation_of(name)) is not None}
    for ident in sorted((left | (flavors or frozenset())) - named
                        - rows.counts.keys() - rows.in_work):
        found.append(Difference(
            Kind.RESERVATION_LEFTOVER, '', None,
            f'No active lease has the reservation {ident}, but its '
            + ('class' if ident in left else 'flavor') + ' still exists.',
            ident))
    if flavors is not None:
        found.extend(Difference(
            Kind.FLAVOR_MISSING, '', None,
            f'The lease of the reservation {ident} is active, but Nova has no '
            'flavor to start servers on it.', ident)
            for ident in rows.counts.keys() - flavors)
    return sorted(found)


def misplaced(rows: Rows, parents: Mapping[str, str | None]
              ) -> Iterator[Difference]:
    """Return the lease providers that are not children of their hosts.

    Nova's scheduler places the servers of a lease by the tree of providers, so
    it would start them on another host, or on none.

    :param parents: the parents of all providers.
    """
    for ident, counts in sorted(rows.counts.items()):
        for host in sorted(counts):
            child = names.child_of(host)
            parent = parents.get(child, host)
            if parent == host:
                continue
            yield Difference(
                Kind.RESERVATION_MISPLACED, host, None,
                f'The provider {child}, which offers the reservation {ident}, '
                'is ' + (f'below the provider {parent}' if parent
                         else 'not below any provider')
                + '. "openstack --os-placement-api-version 1.37 resource '
                f'provider set --name reservations_{host} --parent-provider '
                f'{host} {child}" puts it back.', ident)


def _of_host(rows: Rows, host: str, there: Offered) -> Iterator[Difference]:
    expected = rows.of_host(host)
    offers = there.offers or {}
    for name in sorted({*expected, *offers}):
        ident = names.reservation_of(name)
        if ident is None or ident in rows.in_work:
            continue
        if name not in expected:
            yield Difference(
                Kind.RESERVATION_LEFTOVER, host, None,
                f'It is offered for the reservation {ident}, which has '
                'nothing on it.', ident)
        elif name not in offers:
            yield Difference(
                Kind.RESERVATION_MISSING, host, None,
                f'The reservation {ident} has {expected[name]} on it, but '
                'Placement offers none.', ident)
        elif dict(offers[name]) != machine.offer_of(expected[name]):
            yield Difference(
                Kind.RESERVATION_DIFFERS, host, None,
                f'The reservation {ident} has {expected[name]} on it, but '
                f"Placement offers {offers[name]['total']}, of which "
                f"{offers[name]['reserved']} are closed.", ident)
        elif there.used.get(name, 0) > expected[name]:
            yield Difference(
                Kind.OVERALLOCATED, host, None,
                f'{there.used[name]} servers use the reservation {ident}, '
                f'which has {expected[name]}.', ident)
