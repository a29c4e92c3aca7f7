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

"""Where Placement and our rows differ about one compute host.

Pure: the engine reads, this compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from ironic_reservations.lifecycle.placement import hold_audit
from ironic_reservations.lifecycle.placement import holds

Difference = hold_audit.Difference
Kind = hold_audit.Kind


@dataclasses.dataclass(frozen=True)
class View:
    """All that is known of one compute host.

    :ivar exists: whether it is a host still.
    :ivar held: what is held of it, by owner.
    :ivar promises: what is to be held of it, by owner.
    :ivar in_work: owners of which nothing can be said now.
    :ivar consumers: who has what of it; ``None`` without a provider.
    :ivar strays: those of them that are ours and have no row.
    :ivar usages: what is used of each class, where that could be told.
    :ivar capacities: how much of each class there is to give.
    """

    host: str
    exists: bool = True
    held: Mapping[str, holds.Hold] = dataclasses.field(default_factory=dict)
    promises: Mapping[str, holds.Promise] = dataclasses.field(
        default_factory=dict)
    in_work: frozenset[str] = frozenset()
    consumers: Mapping[str, Mapping[str, int]] | None = None
    strays: frozenset[str] = frozenset()
    usages: Mapping[str, int] = dataclasses.field(default_factory=dict)
    capacities: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def unheld(self) -> list[holds.Promise]:
        """Give the promises for which nothing is held."""
        return unheld(self.promises.values(), self.held.keys()
                      | self.in_work)


def unheld(promises: Iterable[holds.Promise],
           owners: Iterable[str]) -> list[holds.Promise]:
    """Give the promises of shares for which nothing is held.

    :param owners: for whom something is.
    """
    known = {*owners}
    return [promise for promise in promises
            if promise.amounts is not None and promise.owner not in known]


def agrees(hold: holds.Hold, promises: Mapping[str, holds.Promise]) -> bool:
    """Tell whether a hold is as large as its promise.

    NOTE: one without a promise is taken back by whoever ended that.
    """
    promise = promises.get(hold.owner)
    return promise is None or promise.amounts == hold.amounts


def compare(view: View) -> list[Difference]:
    """Find what differs about a compute host."""
    return sorted(set(_compare(view)))


def _compare(view: View) -> Iterator[Difference]:
    consumers = view.consumers
    for owner, hold in view.held.items():
        there = None if consumers is None else consumers.get(
            hold.consumer_uuid)
        if there is None:
            yield _difference(
                view, Kind.HOLD_MISSING,
                f'No share of it is held any more for {owner}.'
                if consumers is not None else
                'The held compute host is not in Placement.',
                hold.consumer_uuid)
        elif dict(there) != hold.resources or not agrees(hold,
                                                         view.promises):
            yield _difference(
                view, Kind.HOLD_DIFFERS,
                f'The share held for {owner} is {hold_audit.told(there)}, '
                'which is not the promised one.',
                hold.consumer_uuid)
    if consumers is None:
        if view.exists and not view.held:
            yield _difference(
                view, Kind.PROVIDER_MISSING,
                'The compute host is not in Placement. If it does not come '
                'back, remove it from the hosts.')
        return
    left = view.unheld()
    if left:
        yield _difference(
            view, Kind.UNHELD,
            f'{len(left)} of its instances are promised but not held, such as '
            f'{left[0].owner}: others may get their resources.')
    for consumer in view.strays:
        yield _difference(view, Kind.ORPHAN, 'A share is held, but for no '
                          'known promise.', consumer)
    yield from hold_audit.about_usage(view.host, consumers, view.usages,
                                      view.capacities, shared=True)


def _difference(view: View, kind: Kind, detail: str,
                consumer: str | None = None) -> Difference:
    return Difference(kind, view.host, consumer, detail, shared=True)
