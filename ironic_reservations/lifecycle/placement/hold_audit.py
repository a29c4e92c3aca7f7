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

"""Where Placement and our rows differ about one node.

Pure: the engine reads, this compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import enum

from ironic_reservations.lifecycle.placement import holds

#: So many consumers are named in a sentence.
_NAMED = 5


class Kind(enum.StrEnum):
    """What can differ."""

    #: A row says that the node is held, and it is not.
    HOLD_MISSING = 'hold_missing'
    #: The hold is not what its row says, or of a class that the node no
    #: longer has.
    HOLD_DIFFERS = 'hold_differs'
    #: The node is promised, and neither held nor its instance's.
    UNHELD = 'unheld'
    #: A hold of ours that no row knows of.
    ORPHAN = 'orphan'
    #: More is used than there is.
    OVERALLOCATED = 'overallocated'
    #: Something is used, and nobody uses it.
    GHOST = 'ghost'
    #: Placement does not know the node.
    PROVIDER_MISSING = 'provider_missing'
    #: Placement knows a node that is no more.
    PROVIDER_LEFTOVER = 'provider_leftover'
    #: A lease of instances lacks what it is to have of a host.
    RESERVATION_MISSING = 'reservation_missing'
    #: It has more or less of it than it is to have.
    RESERVATION_DIFFERS = 'reservation_differs'
    #: One that is over has something still.
    RESERVATION_LEFTOVER = 'reservation_leftover'
    #: A lease that is active has no private flavor in Nova.
    FLAVOR_MISSING = 'flavor_missing'


@dataclasses.dataclass(frozen=True, order=True)
class Difference:
    """One thing that differs.

    :ivar node_uuid: empty where it is about no node.
    :ivar detail: a sentence for people.
    :ivar reservation_id: of the lease of instances that it is about.
    :ivar shared: whether it is about a compute host.
    """

    kind: Kind
    node_uuid: str
    consumer_uuid: str | None = None
    detail: str = dataclasses.field(default='', compare=False)
    reservation_id: str = ''
    shared: bool = False


@dataclasses.dataclass(frozen=True)
class View:
    """All that is known of one node.

    :ivar class_name: by which Placement should offer it; ``None`` where it
        should not.
    :ivar exists: whether Ironic has it.
    :ivar needed: whether somebody could schedule to it.
    :ivar hold: the one that is there, as our rows say.
    :ivar promise: what it is to be held for.
    :ivar instance_uuid: what is on the node.
    :ivar consumers: who has what of it; ``None`` without a provider.
    :ivar strays: those of them that are ours and have no row.
    """

    node_uuid: str
    class_name: str | None
    exists: bool = True
    needed: bool = True
    hold: holds.Hold | None = None
    promise: holds.Promise | None = None
    instance_uuid: str | None = None
    consumers: Mapping[str, Mapping[str, int]] | None = None
    strays: frozenset[str] = frozenset()
    usages: Mapping[str, int] = dataclasses.field(default_factory=dict)
    totals: Mapping[str, int] = dataclasses.field(default_factory=dict)


def expected(hold: holds.Hold | None,
             promise: holds.Promise | None) -> str | None:
    """Tell who is to have a node: a hold, or the promise without one."""
    if hold is not None:
        return hold.consumer_uuid
    return None if promise is None else promise.owner


def compare(view: View) -> list[Difference]:
    """Find what differs about a node."""
    return sorted(_compare(view))


def _compare(view: View) -> Iterator[Difference]:
    node = view.node_uuid
    if view.consumers is None:
        if view.hold is not None:
            yield Difference(
                Kind.HOLD_MISSING, node, view.hold.consumer_uuid,
                'The held node is not in Placement.')
        elif view.exists and view.needed and view.class_name is not None:
            yield Difference(
                Kind.PROVIDER_MISSING, node, None,
                'The node is not in Placement; nova-compute creates its '
                'provider.')
        return
    if not view.exists:
        yield Difference(
            Kind.PROVIDER_LEFTOVER, node, None,
            'Ironic has no such node, but Placement still has it.')
    yield from _about_hold(view, view.consumers)
    for consumer in view.strays:
        yield Difference(Kind.ORPHAN, node, consumer,
                         'It is held, but for no known promise.')
    yield from about_usage(view.node_uuid, view.consumers, view.usages,
                           view.totals)


def _about_hold(view: View, consumers: Mapping[str, Mapping[str, int]]
                ) -> Iterator[Difference]:
    hold, promise = view.hold, view.promise
    if hold is None:
        if promise is not None and view.class_name is not None and not {
                promise.instance_uuid, view.instance_uuid} & set(consumers):
            yield Difference(
                Kind.UNHELD, view.node_uuid, None,
                f'It is promised ({promise.owner}), but not held, so that '
                'others can get it.'
                if not consumers else
                f'It is promised ({promise.owner}), but others have it: '
                f"{', '.join(sorted(consumers))}.")
        return
    there = consumers.get(hold.consumer_uuid)
    if there is None:
        yield Difference(
            Kind.HOLD_MISSING, view.node_uuid, hold.consumer_uuid,
            f'It is no longer held for {hold.owner}.')
    elif dict(there) != {view.class_name or hold.resource_class: 1}:
        yield Difference(
            Kind.HOLD_DIFFERS, view.node_uuid, hold.consumer_uuid,
            f'The hold has {told(there)}, but the node is '
            f"{view.class_name or 'of no class'}.")


def about_usage(node: str, consumers: Mapping[str, Mapping[str, int]],
                usages: Mapping[str, int], totals: Mapping[str, int],
                shared: bool = False) -> Iterator[Difference]:
    """Find what is used by nobody, or more than there is.

    :param usages: by class.
    :param totals: what there is of each, where that was looked at.
    """
    for name, used in sorted(usages.items()):
        owned = sum(there.get(name, 0) for there in consumers.values())
        # NOTE: servers come and go on a compute host while it is read.
        if used > owned or (used < owned and not shared):
            yield Difference(
                Kind.GHOST, node, None,
                f'{used - owned} of the {used} used {name} have no consumer. '
                '"placement-manage db online_data_migrations" creates one, '
                'which a later audit can name.', shared=shared)
        if used > totals.get(name, used):
            having = sorted(consumer for consumer, there in consumers.items()
                            if there.get(name))
            more = len(having) - _NAMED
            yield Difference(
                Kind.OVERALLOCATED, node, None,
                f'{used} of {totals[name]} {name} are used, by '
                f"{', '.join(having[:_NAMED])}"
                + (f' and {more} more.' if more > 0 else '.'), shared=shared)


def told(resources: Mapping[str, int]) -> str:
    """Say for people what somebody has."""
    return ', '.join(f'{amount} {name}'
                     for name, amount in sorted(resources.items()))
