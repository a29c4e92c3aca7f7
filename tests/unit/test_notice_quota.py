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

import datetime
from unittest import mock

import testtools

from ironic_reservations.features.announcements import notice_quota

NOON = datetime.datetime(2050, 1, 1, 12, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)


class TestToldLately(testtools.TestCase):

    def test_five_in_any_24_hours(self):
        told = notice_quota.NoticeQuota()
        self.assertEqual(
            [True] * 5 + [False] * 3 + [True] * 5,
            [told.may_notify('lease', 'late', 5, NOON + hour * HOUR)
             for hour in (*range(8), *range(24, 29))])
        self.assertTrue(told.may_notify('other', 'late', 5, NOON))
        self.assertTrue(told.may_notify('lease', 'other', 5, NOON))

    def test_as_often_as_needed_without_a_maximum(self):
        told = notice_quota.NoticeQuota()
        self.assertTrue(all(told.may_notify('lease', 'late', None, NOON)
                            for _ in range(10)))
        self.assertEqual(0, len(told))

    def test_those_told_the_longest_ago_are_forgotten(self):
        told = notice_quota.NoticeQuota()
        with mock.patch.object(notice_quota, 'REMEMBERED', 3):
            for _ in range(5):
                told.may_notify('often', 'late', 5, NOON)
            for number in range(10):
                told.may_notify(f'once-{number}', 'late', 5, NOON)
                self.assertFalse(told.may_notify('often', 'late', 5, NOON))
        self.assertEqual(3, len(told))
