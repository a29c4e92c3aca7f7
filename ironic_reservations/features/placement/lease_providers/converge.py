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

"""Brings Placement and Nova to the state that a lease should have.

It is level-triggered: read, take the remaining steps, read again. After an
interruption, the next pass continues without a stored state; the audit finds a
lease that no pass continues.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable

from oslo_log import log

from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.engine import Engine
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.lease_providers import calls
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import names

LOG = log.getLogger(__name__)

Act = machine.Act
Outcome = answers.Outcome

#: More rounds than a start or an end of a lease needs.
_ROUNDS = 6
_FINE = (Outcome.DONE, Outcome.GONE, Outcome.EXISTS)
#: Outcomes of concurrent changes, after which everything is read again.
_AGAIN = (Outcome.PROVIDER_CHANGED, Outcome.CONSUMER_CHANGED, Outcome.AGAIN,
          Outcome.IN_USE)
#: Steps about one host or server; if another step fails, all later ones wait.
_OF_ONE = (Act.MAKE_PROVIDER, Act.OFFER, Act.CLOSE, Act.WITHDRAW,
           Act.DELETE_SERVER, Act.FORCE_DELETE_SERVER, Act.TAKE_FROM,
           Act.REMOVE_ACCESS, Act.CONFIRM_RESIZE)

#: Steps that are not retried at once, since a server in a task needs time.
_OF_SERVERS = (Act.DELETE_SERVER, Act.FORCE_DELETE_SERVER, Act.CONFIRM_RESIZE)

_Failure = tuple[machine.Step, answers.Answer]


def bring(engine: Engine, wanted: machine.Desired,
          before_each: Callable[[], None] = lambda: None,
          keeps_class: bool = False) -> tuple[str, ...]:
    """Bring Placement and Nova to the state that a lease should have.

    It can be called again at any time, and does nothing if [placement] is not
    enabled.

    :param wanted: the state of a lease reservation.
    :param before_each: called before each step; raises if another worker has
        taken the lease over.
    :param keeps_class: whether a class that others offer is no difference.
    :returns: the differences that remain, in words.
    """
    if engine.placement is None:
        return ()
    slots = machine.Slots(engine.conf.nova.slot_class,
                          engine.conf.nova.lease_slot_class)
    hosts: frozenset[str] = frozenset()
    failures: list[_Failure] = []
    for _ in range(_ROUNDS):
        seen = calls.observe(engine, wanted, hosts)
        left = machine.steps(wanted, seen, slots)
        if not left:
            return tuple(machine.waits(wanted, seen))
        failures = _take_all(engine, wanted, left, before_each)
        again = any(answer.outcome in _AGAIN and step.act not in _OF_SERVERS
                    for step, answer in failures)
        if any(step.act is Act.DELETE_CLASS
               and answer.outcome is Outcome.IN_USE
               for step, answer in failures):
            # A host that is not in the rows offers the class.
            more = {*calls.find_hosts(engine, wanted.class_name)}
            again, hosts = bool(more - hosts), hosts | more
            others = () if again else calls.find_others(engine,
                                                        wanted.class_name)
            if others:
                said = _offered_by(others, wanted.class_name)
                LOG.warning('Reservation %s: %s', wanted.reservation_id, said)
                return () if keeps_class else (said,)
        if failures and not again:
            return (*map(_text, failures), *machine.waits(wanted, seen))
    return tuple(map(_text, failures)) or ('others changed it each time',)


def used(engine: Engine, reservation_id: str, host: str) -> int:
    """Return the number of servers of a reservation on a host."""
    there = hold_calls.client(engine).usages(names.child_of(host))
    return (there or {}).get(names.class_of(reservation_id), 0)


def forget_host(engine: Engine, host: str) -> str:
    """Delete the lease provider of a host that was deleted from Ironic.

    NOTE: the providers of other hosts are kept, since nova-compute fails if a
    provider that it knows is gone.

    :returns: the reason of a failure, in words; empty if it is deleted.
    """
    answer = hold_calls.client(engine).delete_provider(
        names.child_of(host))
    return '' if answer.deleted else answer.said


def _take_all(engine: Engine, wanted: machine.Desired,
              left: list[machine.Step],
              before_each: Callable[[], None]) -> list[_Failure]:
    """Take steps until a step that others need fails; return the failures."""
    failures: list[_Failure] = []
    for step in left:
        if step.about in {failed.about for failed, _ in failures}:
            continue
        before_each()
        answer = calls.take(engine, wanted, step)
        if answer.outcome in _FINE:
            LOG.debug('Reservation %s: %s %s', wanted.reservation_id,
                      step.act.value, step.about)
            continue
        failures.append((step, answer))
        if step.act not in _OF_ONE or answer.outcome in (
                Outcome.UNCERTAIN, Outcome.REFUSED):
            # Each of the others would wait for a time-out.
            break
    return failures


def _offered_by(others: Iterable[str], class_name: str) -> str:
    return (f'other providers have an inventory of the class {class_name}, '
            'which therefore stays; remove it with "openstack resource '
            f'provider inventory delete --resource-class {class_name} '
            f'<provider>" from {", ".join(others)}, then delete the class')


def _text(failure: _Failure) -> str:
    step, answer = failure
    if step.act is Act.TAKE_FROM and answer.outcome in (Outcome.FULL,
                                                        Outcome.UNFIT):
        return (f'the consumer {step.about} keeps the class, since Placement '
                'refuses to write its other allocations again: '
                f'{answer.said.rstrip(".")}; correct that inventory, or, if '
                'it is no server, run "openstack resource provider allocation '
                f'delete {step.about}"')
    about = f' {step.about}' if step.about else ''
    if answer.outcome is Outcome.UNKNOWN and step.act is Act.MAKE_PROVIDER:
        return (f'Placement has no provider for the host{about}; nova-compute '
                'creates it')
    return f'the step "{step.act.value}"{about} failed: ' + (
        answer.said.rstrip('.') or answer.outcome.value)
