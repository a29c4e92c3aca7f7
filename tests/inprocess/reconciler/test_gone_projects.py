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
"""Leases of projects that were deleted from Keystone."""

from ironic_reservations import errors
from ironic_reservations.engine.leases import gone_projects
from tests import servers
from tests.inprocess.reconciler import leases

_DAY = 86400


@servers.also
class TestGoneProjects(leases.TestCase):
    """The projects of three leases, of which two are one project's."""

    options = {'leases__end_of_gone_project': _DAY}

    def setUp(self) -> None:
        super().setUp()
        self.leasing.hosts(3)
        self.missing: set[str] = set()
        self.silent = False
        self.running = self.leasing.create(1, 900, project_id='former')
        self.coming = self.leasing.create(800, 900, project_id='former')
        self.theirs = self.leasing.create(1, 900, project_id='theirs')
        self.work_at(1)

    def gone(self, project_ids: frozenset[str]) -> frozenset[str]:
        """Stand in for Keystone."""
        if self.silent:
            raise errors.KeystoneUnavailable()
        return frozenset(project_ids & self.missing)

    def pass_hours(self, hours: int) -> None:
        """Have the loop look each hour."""
        for _ in range(hours):
            self.world.clock.advance(3600)
            gone_projects.end(self.engine, self)

    def names(self) -> set[str]:
        """Return the leases that there are, after all work on them."""
        self.work()
        return {each.id for each in self.leasing.all()}

    def all(self) -> set[str]:
        """Return the leases that there were at first."""
        return {self.running.id, self.coming.id, self.theirs.id}

    def assert_ended_after(self, hours: int) -> None:
        """Assert that they end with the last of so many hours of absence."""
        self.missing = {'former'}
        self.pass_hours(hours - 1)
        self.assertEqual(self.all(), self.names())
        self.pass_hours(1)
        self.assertEqual({self.theirs.id}, self.names())

    def test_they_end_after_the_time_and_no_other_does(self) -> None:
        """They kept their hosts for ever, tried again and again."""
        self.assert_ended_after(25)
        self.missing = set()
        self.pass_hours(1)

    def test_project_that_comes_back_begins_anew(self) -> None:
        self.missing = {'former'}
        self.pass_hours(20)
        self.missing = set()
        self.pass_hours(1)
        self.assert_ended_after(25)

    def fall_silent(self, hours: int) -> None:
        """Have Keystone not answer, after twenty hours of absence."""
        self.missing = {'former'}
        self.pass_hours(20)
        self.silent = True
        self.pass_hours(hours)
        self.assertEqual(self.all(), self.names())
        self.silent = False

    def test_keystone_that_does_not_answer_proves_nothing(self) -> None:
        self.fall_silent(48)
        self.assert_ended_after(25)

    def test_short_silence_is_no_break(self) -> None:
        self.fall_silent(2)
        self.assert_ended_after(3)

    def test_project_that_is_back_when_its_leases_are_ended(self) -> None:
        """The process stood still after it had asked."""
        self.missing = {'former'}
        self.pass_hours(24)

        def stand_still() -> bool:
            self.missing = set()
            return True
        self.world.clock.advance(3600)
        gone_projects.end(self.engine, self, stand_still)
        self.assertEqual(self.all(), self.names())

    def test_it_is_asked_where_there_is_a_keystone_alone(self) -> None:
        self.assertFalse(gone_projects.wanted(self.engine))
        self.engine.conf.set_override('auth_type', 'password', 'ironic')
        self.assertTrue(gone_projects.wanted(self.engine))
        self.engine.conf.set_override('end_of_gone_project', 0, 'leases')
        self.assertFalse(gone_projects.wanted(self.engine))
