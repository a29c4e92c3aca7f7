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

"""Taking one step towards what a lease of instances is to have."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import random
import time
from typing import Any

from ironic_reservations.clouds import nova as nova_client
from ironic_reservations.clouds import placement
from ironic_reservations.engine import Engine
from ironic_reservations.engine.placement import hold_calls
from ironic_reservations.engine.placement import reservation_look
from ironic_reservations.lifecycle.placement import (
    reservation_providers as planner,
)

Act = planner.Act
Answer = placement.Answer
Outcome = placement.Outcome

#: How often what others keep getting in front of is tried.
_TIMES = 6
_PAUSES = (0.005, 0.05)

_Offers = Mapping[str, Mapping[str, Any]]


def take(engine: Engine, wanted: planner.Wanted,
         step: planner.Step) -> Answer:
    """Take a step.

    :returns: what came of it; ``GONE`` and ``EXISTS``, where there was
        nothing to do.
    :raises PlacementUnavailable: it cannot be known what there is.
    """
    if step.act in _OF_PLACEMENT:
        return _OF_PLACEMENT[step.act](engine, wanted, step)
    assert engine.nova is not None
    return _of_nova(engine.nova, wanted, step)


def _of_nova(nova: nova_client.Nova, wanted: planner.Wanted,
             step: planner.Step) -> Answer:
    ident = wanted.reservation_id
    match step.act:
        case Act.MAKE_FLAVOR:
            assert wanted.flavor is not None
            return nova.create_flavor(nova_client.Flavor(
                ident, planner.FLAVOR_PREFIX + ident,
                *planner.sizes_of(wanted.flavor)))
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
        case Act.FORCE_DELETE_SERVER:
            return nova.force_delete_server(step.about)
    raise ValueError(step.act)


def _ensure_class(engine: Engine, wanted: planner.Wanted,
                  _: planner.Step) -> Answer:
    return hold_calls.client(engine).ensure_class(wanted.class_name)


def _delete_class(engine: Engine, wanted: planner.Wanted,
                  _: planner.Step) -> Answer:
    return hold_calls.client(engine).delete_class(wanted.class_name)


def _make_provider(engine: Engine, _: planner.Wanted,
                   step: planner.Step) -> Answer:
    return hold_calls.client(engine).create_provider(
        reservation_look.child_of(step.about),
        f'reservations_{step.about}', step.about)


def _offer(engine: Engine, wanted: planner.Wanted,
           step: planner.Step) -> Answer:
    return _change(engine, step.about, lambda there: {
        **there, wanted.class_name: planner.offer_of(step.total)})


def _close(engine: Engine, wanted: planner.Wanted,
           step: planner.Step) -> Answer:
    name = wanted.class_name
    return _change(engine, step.about, lambda there: {
        **there, **({name: planner.offer_of(there[name]['total'], True)}
                    if name in there else {})})


def _withdraw(engine: Engine, wanted: planner.Wanted,
              step: planner.Step) -> Answer:
    return _change(engine, step.about, lambda there: {
        name: offer for name, offer in there.items()
        if name != wanted.class_name})


def _change(engine: Engine, host: str,
            make: Callable[[_Offers], _Offers]) -> Answer:
    """Change what a child offers, and leave what other leases have of it."""
    client = hold_calls.client(engine)
    child = reservation_look.child_of(host)
    for _ in range(_TIMES):
        there = client.inventories(child)
        if there is None:
            return Answer(Outcome.UNKNOWN, (
                f'The host {host} has no reservation provider.'))
        after = make(there.by_class)
        if after == there.by_class:
            return Answer(Outcome.DONE)
        answer = client.put_inventories(child, there.generation, after)
        if answer.outcome is not Outcome.PROVIDER_CHANGED:
            break
        time.sleep(random.uniform(*_PAUSES))
    return answer


def _take_from(engine: Engine, wanted: planner.Wanted,
               step: planner.Step) -> Answer:
    """Take the class from a consumer, and nothing else."""
    client = hold_calls.client(engine)
    there = client.consumer(step.about)
    left = {provider: rest for provider, resources
            in there.allocations.items()
            if (rest := {name: amount for name, amount in resources.items()
                         if name != wanted.class_name})}
    if left == there.allocations:
        return Answer(Outcome.GONE)
    assert there.project_id is not None and there.user_id is not None
    return client.put_allocations(step.about, placement.Wanted(
        left, there.project_id, there.user_id, there.generation,
        there.consumer_type))


_OF_PLACEMENT: dict[Act, Callable[
    [Engine, planner.Wanted, planner.Step], Answer]] = {
        Act.ENSURE_CLASS: _ensure_class, Act.DELETE_CLASS: _delete_class,
        Act.MAKE_PROVIDER: _make_provider, Act.OFFER: _offer,
        Act.CLOSE: _close, Act.WITHDRAW: _withdraw,
        Act.TAKE_FROM: _take_from}
