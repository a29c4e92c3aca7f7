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

"""What the guard lets through, and what it takes an answer for."""

from __future__ import annotations

import dataclasses
from typing import Any

from ironic_reservations.db import in_flight_requests
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.lifecycle import admit
from ironic_reservations.model import host_view
from tests.processes import mix
from tests.processes import mutations
from tests.processes import statements


# A request is found out about, and its node promised again, before whoever
# stands still goes on.
@mutations.planted(
    'done to the node of another', mix.Best(mix.Mix(
        faults={'stop_at_commit': 1}, aims=('INSERT INTO in_flight_requests',),
        lives={'squat': 1, 'reserve': 3}, acts={'tidy': 1}, rounds=(1.0, 3.0),
        classes={'gold': 2, 'silver': 1}, pause=(0.5, 2.0), stopped=1,
        times=mix.Times(in_flight=5, conductor=2, shortest_stop=24.0,
                        longest_stop=34.0, late=90.0))),
    'tests.inprocess.guard.test_stands_still.TestGuardPaused.'
    'test_proof_stays_good_where_nothing_was_sent')
def deadline_ignored() -> None:
    """Who stood still hands its request to Ironic all the same."""
    assert admission.send_deadline
    # NOTE: later than anybody goes on, and so near that it is a date.
    admission.send_deadline = lambda engine: engine.timer() + 600.0


@mutations.planted(
    'done to the node of another', mix.Best(mix.Mix(
        faults={'hold_rpc': 1}, pause=(0.2, 0.8),
        lives={'reserve': 2, 'squat': 1}, classes={'gold': 2, 'silver': 1})),
    'tests.inprocess.engine.test_in_flight_requests.TestAnswer.'
    'test_node_is_busy_while_anybodys_request_is_under_way')
def in_flight_unseen() -> None:
    """Nobody sees which nodes have a request on its way to Ironic."""
    statements.change(
        r'\bFROM in_flight_requests\b',
        'FROM (SELECT * FROM in_flight_requests WHERE 1 = 0) '
        'AS in_flight_requests', 'SELECT')


@mutations.planted(
    'proof refused', mix.Best(mix.Mix(
        faults={}, lives={'lease': 1, 'intrude': 2, 'squat': 1},
        instances=0.0), 'sqlite'),
    'tests.unit.lifecycle.test_admit.TestLeases.'
    'test_leased_node_wants_the_proof_of_its_lease')
def leases_unseen() -> None:
    """The guard does not look at what leases have."""
    right = admit.admit

    def wrong(claim: admit.Claim, view: host_view.HostView, *more: Any,
              **named: Any) -> admit.Verdict:
        return right(claim, dataclasses.replace(view, bookings=()), *more,
                     **named)
    admit.admit = wrong


@mutations.planted(
    'done to the node of another', mix.Best(mix.Mix(
        faults={}, lives={'reserve': 1, 'lease': 1, 'intrude': 2},
        instances=0.0), 'sqlite'),
    'tests.unit.lifecycle.test_admit.TestDecisionTable.'
    'test_reserved_node_wants_its_own_proof')
def proof_unchecked() -> None:
    """Any proof opens any node, whoever shows it."""
    right = admit.admit

    def wrong(claim: admit.Claim, view: host_view.HostView, *more: Any,
              **named: Any) -> admit.Verdict:
        if claim.proof is not None:
            opens = (view.row.uuid if view.row is not None else
                     view.lease and view.lease.reservation_id)
            claim = dataclasses.replace(claim, proof=opens or claim.proof)
        return right(claim, view, *more, **named)
    admit.admit = wrong
    admit.Bearer.may_show = (  # type: ignore[method-assign]
        lambda self, project_id: True)


# What reconcilers send arrives when the next lease has the node.
@mutations.planted(
    'done to the node of another', mix.Best(mix.Mix(
        faults={'hold': 1}, held='Reservation-Ticket', pause=(0.2, 1.0),
        lives={'lease': 1}, instances=0.0, classes={'gold': 2, 'silver': 1},
        times=mix.Times(longest_hold=40.0, late=90.0))),
    'tests.inprocess.reconciler.test_late_requests.TestTickets.'
    'test_good_one_is_good_once')
def ticket_unchecked() -> None:
    """The guard lets what a reconciler sends through, however late it comes.
    """
    right = in_flight_requests.take_ticket

    def wrong(*arguments: Any, **named: Any) -> bool:
        right(*arguments, **named)
        return True
    in_flight_requests.take_ticket = wrong


@mutations.planted(
    'done to the node of another', mix.Best(mix.Mix(
        faults={'hold_rpc': 1}, pause=(0.2, 0.8),
        lives={'reserve': 4, 'squat': 1}, acts={'tidy': 1}, rounds=(1.0, 3.0),
        classes={'gold': 3, 'silver': 2},
        times=mix.Times(conductor=20, longest_rpc_hold=15.0))),
    'tests.inprocess.guard.test_stands_still.TestConductorPaused.'
    'test_it_is_looked_at_twice')
def uncertain_as_failed() -> None:
    """What Ironic does not answer for is taken for not done."""
    assert admission.mark_uncertain

    def wrong(engine: Any, sent: admission.InFlightRequest) -> None:
        admission.close(engine, sent, False)
    admission.mark_uncertain = wrong


# Ironic refuses it as well once the window has set the maintenance, which
# takes longer where Ironic fails.
@mutations.planted(
    'deployed in maintenance', mix.Best(mix.Mix(
        faults={}, trouble=0.5, lives={'squat': 1}, acts={}, booking=True,
        rounds=(0.5, 2.0), leisure=(0.05, 0.5), classes={'gold': 3}),
        'sqlite', seconds=120),
    'tests.inprocess.engine.test_decided_before_a_date.TestDeploys.'
    'test_maintenance_that_has_begun',
    'tests.unit.lifecycle.test_admit.TestDecisionTable.'
    'test_node_in_its_maintenance_is_used_by_nobody_new')
def windows_open() -> None:
    """A node in its maintenance window is let to whoever deploys it."""
    right = admit.admit

    def wrong(*arguments: Any, **named: Any) -> admit.Verdict:
        verdict = right(*arguments, **named)
        return (admit.Verdict.FREE
                if verdict is admit.Verdict.IN_MAINTENANCE else verdict)
    admit.admit = wrong
