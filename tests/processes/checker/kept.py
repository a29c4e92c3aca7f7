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

"""The rules of the checker, and who keeps what they look for from coming back.

A storm finds what nobody has thought of; it does not find it each time.  So
for each rule there are tests of the gate that say the same of the product,
one step after the other.
"""

from __future__ import annotations

from collections.abc import Mapping

#: By the rule: tests that fail where the product breaks it.
KEPT_BY: Mapping[str, tuple[str, ...]] = {
    'two owners': (
        'tests.inprocess.db.test_clock.TestDatabaseClock.'
        'test_database_clock_that_moves_is_logged_and_followed',
        'tests.inprocess.engine.test_interleavings.TestTwoReservations.'
        'test_loser_of_a_race_takes_the_next_node',
        'tests.inprocess.engine.test_guard_beside_leases.TestProof.'
        'test_not_before_the_start'),
    'done to the node of another': (
        'tests.unit.lifecycle.test_admit.TestDecisionTable.'
        'test_reserved_node_wants_its_own_proof',
        'tests.inprocess.engine.test_guard_beside_leases.TestAllocations.'
        'test_allocation_never_lands_on_a_leased_node',
        'tests.inprocess.reconciler.test_late_requests.TestTickets.'
        'test_good_one_is_good_once',
        'tests.inprocess.guard.test_stands_still.TestGuardPaused.'
        'test_stranger'),
    'not as lent': (
        'tests.inprocess.guard.test_handover.LesseeActsTestCase.test_extra',
        'tests.inprocess.guard.test_handover.LesseeActsTestCase.'
        'test_volume_target',
        'tests.inprocess.guard.test_handover.LesseeActsTestCase.test_power',
        'tests.unit.lifecycle.test_handover.HandoverTest.'
        'test_keys_with_slashes_are_put_back',
        'tests.unit.lifecycle.test_handover.HandoverTest.'
        'test_node_that_was_acted_on_is_cleaned_before_its_release'),
    'lost': (
        'tests.inprocess.reconciler.test_sweep.TestSweep.'
        'test_reservation_renewed_while_it_is_swept_stays',
        'tests.inprocess.reconciler.test_deploy_before_release.'
        'TestDeployBeforeRelease.'
        'test_deployed_node_stays'),
    'proof refused': (
        'tests.inprocess.engine.test_guard_beside_leases.TestProof.'
        'test_proof_of_the_lease_lets_through',
        'tests.inprocess.engine.test_guard_beside_leases.TestProof.'
        'test_deployed_again_and_again_as_long_as_it_lasts'),
    'promised twice': (
        'tests.inprocess.engine.test_interleavings.TestReserveAndDeploy.'
        'test_node_deployed_in_the_middle_is_skipped',
        'tests.inprocess.engine.test_late_share.TestShrunken.'
        'test_what_has_no_room_is_planned_where_there_is_some'),
    'dates moved': (
        'tests.inprocess.engine.test_change_stands_still.TestStandsStill.'
        'test_lease_that_is_fixed_meanwhile_keeps_its_dates',
        'tests.inprocess.engine.test_flexible.TestSlides.'
        'test_not_once_it_is_fixed',
        'tests.inprocess.engine.test_waitlist.TestWaitlist.'
        'test_a_request_that_comes_later_makes_nobody_wait_longer'),
    'started late': (
        'tests.inprocess.reconciler.test_start_in_time.TestStartInTime.'
        'test_at_the_start_that_was_promised',
        'tests.inprocess.reconciler.test_start_in_time.TestStartInTime.'
        'test_at_the_earlier_start_that_it_was_moved_to'),
    'deployed in maintenance': (
        'tests.inprocess.reconciler.test_maintenance.TestWindow.'
        'test_nobody_new_uses_the_node',
        'tests.inprocess.engine.test_decided_before_a_date.TestDeploys.'
        'test_maintenance_that_has_begun'),
    'promised across maintenance': (
        'tests.inprocess.timeline.test_maintenance.TestBooking.'
        'test_nothing_is_planned_across',
        'tests.inprocess.timeline.test_window_over_begun.TestWindowOverBegun.'
        'test_another_lease_is_not_promised_the_node',
        'tests.inprocess.timeline.test_window_over_begun.TestWindowOverBegun.'
        'test_keeps_both_whatever_it_is_flagged_for'),
    'maintenance of another': (
        'tests.inprocess.reconciler.test_maintenance.TestOperatorComesFirst.'
        'test_reason_is_not_written_over',
        'tests.inprocess.reconciler.test_maintenance.TestOperatorComesFirst.'
        'test_reason_is_not_cleared'),
    'not told': (
        'tests.inprocess.notices.test_webhooks.TestLife.'
        'test_start_and_ends_are_told_once',
        'tests.inprocess.notices.test_webhooks.TestLife.'
        'test_broken_promise_is_told_once_each_time_it_is_broken'),
    'charged wrong': (
        'tests.inprocess.notices.test_enforcement_commits.TestLife.'
        'test_granted_changed_and_ended',),
    'too much for a project': (
        'tests.inprocess.engine.test_class_limits.TestHosts.'
        'test_no_more_at_once_of_a_class_and_of_others_as_before',
        'tests.inprocess.engine.test_waitlist.TestWaitlist.'
        'test_not_beyond_what_its_project_may_have',
        'tests.inprocess.db.test_limits_behind_lock.TestPostgreSQL.'
        'test_second_lease_is_refused',
        'tests.inprocess.db.test_limits_behind_lock.TestPostgreSQL.'
        'test_second_reservation_is_refused'),
    'lent for too long': (
        'tests.inprocess.engine.test_owner_notice.TestOwnerNotice.'
        'test_not_for_longer_and_the_answer_says_why',
        'tests.inprocess.engine.test_owner_notice.TestOwnerNotice.'
        'test_lease_is_not_extended_beyond'),
    'made twice': (
        'tests.inprocess.engine.test_lease_keys.TestKeys.'
        'test_same_request_with_the_same_key_is_served_once',
        'tests.inprocess.engine.test_lease_keys.TestLateCopy.'
        'test_copy_that_comes_after_its_lease_was_deleted_makes_none'),
    'untrue answer': (
        'tests.inprocess.db.test_unanswered_commit.TestUnansweredCommit.'
        'test_nobody_says_that_nothing_was_done',),
    'error': (
        'tests.inprocess.api.test_operations.TestDatabaseDown.'
        'test_every_request_is_a_503',
        'tests.inprocess.api.test_operations.TestIronicDown.'
        'test_nothing_is_promised'),
    'left over': (
        'tests.inprocess.reconciler.test_lease_finish.TestEnd.'
        'test_node_is_undeployed_cleaned_and_given_back',
        'tests.inprocess.reconciler.test_lease_workers.TestLeaseClaims.'
        'test_dead_process_is_replaced_when_its_claims_end',
        'tests.inprocess.reconciler.test_maintenance.TestWindow.'
        'test_node_is_in_maintenance_while_it_lasts')}
