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

"""Compares one host in Placement with our rows.

It is pure: the engine reads, and this compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools

from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.holds import values
from ironic_reservations.model import flavors
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition

Difference = differences.Difference
Kind = differences.Kind

#: The maximum number of consumers in a sentence.
_NAMED = 5


@dataclasses.dataclass(frozen=True)
class Host:
    """A node of Ironic or a compute host in our database.

    :ivar exclusive: whether it is held as a whole, like a node of Ironic.
    :ivar node: ``None`` if it has been deleted.
    :ivar held: its holds, including those being released.
    :ivar promises: the promises for which it should be held.
    """

    uuid: str
    exclusive: bool = True
    node: mirrored_node.Node | None = None
    held: tuple[values.Hold, ...] = ()
    promises: tuple[values.Promise, ...] = ()

    @functools.cached_property
    def class_name(self) -> str | None:
        """The class of which Placement should offer one."""
        if self.node is None or not self.exclusive:
            return None
        return flavors.class_or_none(self.node.resource_class)

    @property
    def in_work(self) -> frozenset[str]:
        """The owners of holds that are being changed."""
        return frozenset(hold.owner for hold in self.held
                         if hold.state is not values.HoldState.ACTIVE)

    @property
    def needed(self) -> bool:
        """Whether Placement should have a provider for it."""
        return self.node is not None and (
            not self.exclusive or (
                self.class_name is not None
                and self.node.provision_state == node_condition.AVAILABLE))

    def unheld(self) -> list[values.Promise]:
        """Return the promises without a hold."""
        owners = {hold.owner for hold in self.held}
        return [] if self.exclusive and owners else [
            promise for promise in self.promises
            if promise.owner not in owners]

    def promise_of(self, hold: values.Hold) -> values.Promise | None:
        """Return the promise of a hold.

        A hold without a promise is released by the process that ended the
        promise.
        """
        return next((promise for promise in self.promises
                     if self.exclusive or promise.owner == hold.owner), None)

    def agrees(self, hold: values.Hold, there: Mapping[str, int]) -> bool:
        """Return whether the allocations of a hold are as promised."""
        if self.class_name is not None:
            return dict(there) == {self.class_name: 1}
        promise = self.promise_of(hold)
        return dict(there) == hold.resources and (
            self.exclusive or promise is None
            or promise.amounts == hold.amounts)


@dataclasses.dataclass(frozen=True)
class View:
    """The known state of one host.

    :ivar in_work: owners whose holds are being changed.
    :ivar consumers: resources by consumer; ``None`` without a provider.
    :ivar strays: the consumers that are ours and have no row.
    :ivar usages: the usages by class, if they are known.
    :ivar totals: the totals of the inventories by class, if they
        are known.
    """

    host: Host
    in_work: frozenset[str] = frozenset()
    consumers: Mapping[str, Mapping[str, int]] | None = None
    strays: frozenset[str] = frozenset()
    usages: Mapping[str, int] = dataclasses.field(default_factory=dict)
    totals: Mapping[str, int] = dataclasses.field(default_factory=dict)


#: Sentences, for nodes of Ironic and for compute hosts.
_NO_PROVIDER = ('The node is not in Placement; nova-compute creates its '
                'provider.',
                'The compute host is not in Placement. If it does not come '
                'back, remove it from the hosts.')
_HELD_NOWHERE = ('The held node is not in Placement.',
                 'The held compute host is not in Placement.')
_NOT_HELD = ('It is no longer held for {}.',
             'No share of it is held any more for {}.')
_STRAY = ('An allocation of this service holds it, but the database has no '
          'such hold.',
          'An allocation of this service holds a share, but the database has '
          'no such hold.')


def compare(view: View) -> list[Difference]:
    """Return the differences of a host.

    There are none for a whole node while a hold of it is being changed.
    """
    if view.host.exclusive and view.in_work:
        return []
    return sorted(
        Difference(kind, view.host.uuid, consumer, detail,
                   shared=not view.host.exclusive,
                   resource_class=resource_class)
        for kind, consumer, detail, resource_class in (
            *((*found, '') for found in _about_promises(view)),
            *_about_usage(view)))


_Found = Iterator[tuple[Kind, str | None, str]]
#: A difference of a class.
_OfClass = Iterator[tuple[Kind, str | None, str, str]]


def _about_promises(view: View) -> _Found:
    """Find differences between holds and promises."""
    host, shared = view.host, not view.host.exclusive
    held = [hold for hold in host.held if hold.owner not in view.in_work]
    if view.consumers is None:
        for hold in held:
            yield Kind.HOLD_MISSING, hold.consumer_uuid, _HELD_NOWHERE[shared]
        if not held and host.needed:
            yield Kind.PROVIDER_MISSING, None, _NO_PROVIDER[shared]
        return
    if host.exclusive and host.node is None:
        yield (Kind.PROVIDER_LEFTOVER, None,
               'Ironic has no such node, but Placement still has it.')
    for hold in held:
        there = view.consumers.get(hold.consumer_uuid)
        if there is None:
            yield (Kind.HOLD_MISSING, hold.consumer_uuid,
                   _NOT_HELD[shared].format(hold.owner))
        elif not host.agrees(hold, there):
            yield (Kind.HOLD_DIFFERS, hold.consumer_uuid,
                   f'The share held for {hold.owner} is {_amounts(there)}, '
                   'which is not the promised one.' if shared else
                   f'The hold has {_amounts(there)}, but the node is '
                   f"{host.class_name or 'of no class'}.")
    unheld = [promise for promise in host.unheld()
              if promise.owner not in view.in_work]
    if unheld and (shared or _anybodys(view, view.consumers, unheld[0])):
        yield Kind.UNHELD, None, _unheld(view.consumers, unheld, shared)
    for consumer in view.strays:
        yield Kind.ORPHAN, consumer, _STRAY[shared]


def _anybodys(view: View, consumers: Mapping[str, Mapping[str, int]],
              promise: values.Promise) -> bool:
    """Return whether other instances may get a promised node."""
    node = view.host.node
    return (node is not None and view.host.class_name is not None
            and not {promise.instance_uuid, node.instance_uuid}
            & consumers.keys())


def _unheld(consumers: Mapping[str, Mapping[str, int]],
            unheld: Sequence[values.Promise], shared: bool) -> str:
    owner = unheld[0].owner
    if shared:
        return (f'{len(unheld)} of its instances are promised but not held, '
                f'such as {owner}: others may get their resources.')
    if consumers:
        return (f'It is promised ({owner}), but others have it: '
                f"{', '.join(sorted(consumers))}.")
    return (f'It is promised ({owner}), but not held, so that others can get '
            'it.')


def _about_usage(view: View) -> _OfClass:
    """Find usage without a consumer, or beyond the inventory, by class."""
    if view.consumers is None:
        return
    consumers = view.consumers
    for name, used in sorted(view.usages.items()):
        owned = sum(there.get(name, 0) for there in consumers.values())
        # The servers on a compute host may change while it is read.
        if used > owned or (used < owned and view.host.exclusive):
            yield (Kind.GHOST, None,
                   f'{used - owned} of the {used} used {name} have no '
                   'consumer. "placement-manage db online_data_migrations" '
                   'creates one, which a later audit can name.', name)
        if used > view.totals.get(name, used):
            having = sorted(consumer for consumer, there in consumers.items()
                            if there.get(name))
            more = len(having) - _NAMED
            yield (Kind.OVERALLOCATED, None,
                   f'{used} of {view.totals[name]} {name} are used, by '
                   f"{', '.join(having[:_NAMED])}"
                   + (f' and {more} more.' if more > 0 else '.'), name)


def _amounts(resources: Mapping[str, int]) -> str:
    """Return resources in words."""
    return ', '.join(f'{amount} {name}'
                     for name, amount in sorted(resources.items()))
