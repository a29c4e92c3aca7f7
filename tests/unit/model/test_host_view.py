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

"""Who has a node: how answers go together, and when they change."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import hypothesis
import testtools

from ironic_reservations.model import host_view
from tests import strategies

TICK = datetime.timedelta(microseconds=1)
LAST = strategies.NOW + datetime.timedelta(days=1)


def _answers(view: host_view.HostView) -> tuple[Any, ...]:
    return (view.reservation, view.present, view.lease, view.held,
            view.being_put_back, view.maintained_until,
            view.leaves_maintenance, view.next_lease, view.next_window)


class TestHostView(testtools.TestCase):

    @hypothesis.given(strategies.views('node'))
    def test_answers_change_at_the_instants_that_are_told(
            self, view: host_view.HostView) -> None:
        while view.next_change is not None:
            self.assertGreater(view.next_change, view.now)
            last = dataclasses.replace(view, now=view.next_change - TICK)
            self.assertEqual(_answers(view), _answers(last))
            view = dataclasses.replace(view, now=view.next_change)
        self.assertEqual(_answers(view), _answers(
            dataclasses.replace(view, now=LAST)))

    @hypothesis.given(strategies.views('node'))
    def test_node_has_a_holder_or_is_put_back_or_neither(
            self, view: host_view.HostView) -> None:
        self.assertEqual(
            view.reservation is not None or bool(view.present),
            view.held or view.being_put_back)
        self.assertFalse(view.held and view.being_put_back)
        self.assertIsNone(view.reservation and view.void)
        self.assertIn(view.row, (view.reservation, view.void))

    @hypothesis.given(strategies.views('node'))
    def test_next_claim_is_the_first_one_in_the_future(
            self, view: host_view.HostView) -> None:
        claims = {view.next_lease, view.next_window} - {None}
        self.assertEqual(min(claims, default=None), view.next_claim)
        for each in claims:
            self.assertGreater(each, view.now)
