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

"""A refused change of a lease says what would be accepted instead.

Each offer is sent unchanged, and has to be accepted.
"""

import datetime

from ironic_reservations import errors
from ironic_reservations.api import versions
from ironic_reservations.api.types import lease_body
from ironic_reservations.model import leases
from tests import leasing
from tests.inprocess.engine import timelines


def growth(lease, least):
    """Return a change to more hosts."""
    return (leases.LeaseReservationChange(lease.reservations[0].id, least,
                                          least),)


class TestChangeOffers(timelines.TestCase):

    def accepted(self, refusal, lease, kind):
        """Send an offer unchanged; return the lease."""
        offer = self.offer(refusal, kind)
        self.assertIn(offer['detail'], str(refusal))
        change = lease_body.lease_change(
            offer['lease'], self.world.clock(), lambda ids: {},
            versions.MAXIMUM)
        self.change(lease, change)
        self.assert_sound()
        return self.leasing.reload(lease)

    def change(self, lease, change):
        """Make a change as it was read."""
        return self.leasing.change(lease, **{
            name: getattr(change, name)
            for name in ('name', 'reservations', 'heal', 'before_end')
            if getattr(change, name)}, **{
                name: (getattr(change, name) - leasing.at(0)).total_seconds()
                / 3600 for name in ('start', 'end') if getattr(change, name)})

    def test_latest_end_is_told_where_there_is_no_later_one(self):
        self.leasing.hosts(2)
        lease = self.leasing.create(0, 2)
        self.leasing.started(2, 5, leasing.wish(2), project_id='theirs')
        refusal = self.assert_refused(errors.LeaseRefused, lease, end=3)
        self.assertEqual([], refusal.details['offers'])
        self.assertIn('It cannot be extended: 2026-03-01 14:00 UTC is its '
                      'latest possible end.', str(refusal))

    def test_lease_is_not_in_its_own_way(self):
        """One of three hosts was, when it asked for three more."""
        self.leasing.hosts(4)
        lease = self.leasing.create(0, 2)
        self.leasing.started(1, 5, project_id='theirs')
        refusal = self.assert_refused(errors.LeaseRefused, lease,
                                      reservations=growth(lease, 4))
        reason, = refusal.details['reasons']
        self.assertIn('the lease needs 3 more hosts; 3 hosts match, but only '
                      '2 of them can be free', reason['detail'])
        self.assertEqual([(False, 1)], [
            (each['own'], each['hosts']) for each in reason['blockers']])

    def test_host_that_it_cannot_keep_is_named(self):
        """It was told that no host matches, though it has two."""
        node, = self.leasing.hosts()
        lease = self.leasing.create(0, 2)
        self.leasing.started(2, 5, project_id='theirs')
        refusal = self.assert_refused(errors.LeaseRefused, lease, end=3)
        self.assertIn('The lease cannot keep host '
                      f'{self.leasing.host_id(node)} (', str(refusal))

    def test_an_offered_end_keeps_the_rest_of_the_change(self):
        self.leasing.hosts(3)
        lease = self.leasing.create(0, 2)
        self.leasing.started(4, 5, leasing.wish(3), project_id='theirs')
        refusal = self.assert_refused(
            errors.LeaseRefused, lease, end=5, name='longer',
            reservations=growth(lease, 2))
        longer = self.accepted(refusal, lease, 'shorter')
        self.assertEqual((leasing.at(4), 2, 'longer'), (
            longer.end, len(self.leasing.nodes(lease)), longer.name))

    def test_fewer_hosts_are_offered(self):
        self.leasing.hosts(4)
        for start in (0, 1):
            lease = self.leasing.create(start, start + 2)
            if not start:
                self.leasing.bind()
            refusal = self.assert_refused(errors.LeaseRefused, lease,
                                          reservations=growth(lease, 9))
            self.accepted(refusal, lease, 'fewer')
            self.assertEqual(4 if not start else 3,
                             len(self.leasing.nodes(lease)))
            self.leasing.resize(lease, 1, 1)

    def test_no_window_is_offered_beyond_the_horizon(self):
        self.configure(project_limits=True, max_horizon=24 * 3600)
        self.leasing.hosts(1)
        lease = self.leasing.create(1, 2)
        self.leasing.create(3, 23.5)
        refusal = self.assert_refused(
            errors.LeaseRefused, lease, start=4, end=5)
        self.assertEqual(['earlier'], [
            offer['kind'] for offer in refusal.details['offers']])
        self.accepted(refusal, lease, 'earlier')

    def test_other_windows_are_offered(self):
        self.leasing.hosts(1)
        self.leasing.create(4, 6, project_id='theirs')
        for kind, hours in (('later', (6, 7)), ('earlier', (3, 4))):
            lease = self.leasing.create(1, 2)
            refusal = self.assert_refused(errors.LeaseRefused, lease,
                                          start=4.5, end=5.5)
            moved = self.accepted(refusal, lease, kind)
            self.assertEqual(tuple(map(leasing.at, hours)),
                             (moved.start, moved.end))
            self.leasing.end(lease)

    def test_later_window_lasts_as_long_as_the_refused_change(self):
        """It was shorter by the time since the requested start."""
        self.leasing.hosts(1)
        self.leasing.create(0, 4, project_id='theirs')
        lease = self.leasing.create(5, 7)
        self.world.clock.now = leasing.at(1) + datetime.timedelta(seconds=40)
        refusal = self.assert_refused(errors.LeaseRefused, lease,
                                      start=1, end=3)
        moved = self.accepted(refusal, lease, 'later')
        self.assertEqual((leasing.at(4), leasing.at(6)),
                         (moved.start, moved.end))

    def test_end_within_the_limits_is_offered(self):
        self.leasing.hosts(2)
        lease = self.leasing.create(0, 2)
        self.leasing.started(5, 9)
        for option, value, end in (
                ('max_duration', 4 * 3600, 4), ('max_horizon', 4 * 3600, 4),
                ('max_hosts_per_project', 1, 5),
                ('max_host_hours_per_project', 7, 3)):
            self.configure(project_limits=True, **{option: value})
            refusal = self.assert_refused(errors.LeaseLimit, lease, end=9)
            longer = self.accepted(refusal, lease, 'shorter')
            self.assertEqual(leasing.at(end), longer.end, option)
            self.leasing.change(lease, end=2)
            self.configure(**{option: 0})

    def test_end_within_limits_and_beside_others_is_offered(self):
        self.leasing.hosts(1)
        lease = self.leasing.create(0, 2)
        self.leasing.create(3, 9, project_id='theirs')
        self.configure(project_limits=True, max_duration=4 * 3600)
        refusal = self.assert_refused(errors.LeaseLimit, lease, end=9)
        self.assertEqual(leasing.at(3), self.accepted(
            refusal, lease, 'shorter').end)

    def test_no_end_is_offered_where_none_helps(self):
        self.leasing.hosts(1)
        lease = self.leasing.started(0, 2)
        self.configure(project_limits=True, extension_notice=3 * 3600)
        refusal = self.assert_refused(errors.LeaseLimit, lease, end=9)
        self.assertNotIn('offers', refusal.details)

    def test_host_that_cannot_be_kept_is_named(self):
        """By its name, which commands take, beside its id."""
        (node,) = self.leasing.hosts(name='rack-7')
        lease = self.leasing.started(0, 2)
        self.leasing.set_reservable(node, False)
        refusal = self.assert_refused(errors.LeaseRefused, lease, end=3)
        self.assertIn(f'host {self.leasing.host_id(node)} (rack-7) ',
                      str(refusal))
