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

"""Maintenance windows in the calendar: what is drawn, and for whom."""

from typing import Any
from unittest import mock

from ironic_reservations.engine.snapshots import cache
from ironic_reservations.features.maintenance import find
from ironic_reservations.features.maintenance import rows as db_maintenance
from tests import servers
from tests.inprocess.api import world as api_world
from tests.inprocess.reconciler import windows
from tests.inprocess.timeline import calendars

_HOUR = 3600
_LATEST = 'baremetal-reservation 1.14'
_WINDOW = '/v1/calendar?from=2026-03-01T12:00:00Z&to=2026-03-01T20:00:00Z'


@servers.also
class TestMaintenance(windows.KeepTestCase):
    """A host with a window, and one without."""

    options = {'leases__cleaning_time': 0}

    def setUp(self) -> None:
        super().setUp()
        self.patch(cache, '_COMPARED', -1)
        self.leasing.hosts()
        self.process = calendars.application(self.world.another_engine())

    def ask(self, viewer: str = 'operator', query: str = '&rows=true',
            version: str = _LATEST, **more: str) -> api_world.Answer:
        return api_world.request(self.process, 'GET', _WINDOW + query,
                                 version=version,
                                 **{**calendars.VIEWERS[viewer], **more})

    def look(self, *given: str, **more: str) -> dict[str, Any]:
        answer = self.ask(*given, **more)
        self.assertEqual(200, answer.status, answer.body)
        found: dict[str, Any] = answer.json['calendar']
        return found

    def test_planned_window(self) -> None:
        """It has its host, which is not free; the other one is."""
        made = self.book(1, 3, self.node)
        found = self.look()
        self.assertEqual([[[_HOUR, 3 * _HOUR, 0, 0]], []],
                         [each['maintenances'] for each in found['hosts']])
        self.assertEqual(
            [{'uuid': made.window.id, 'name': 'firmware',
              'reason': 'New firmware'}], found['maintenances'])
        (gold,) = found['classes']
        self.assertEqual([[0, 2], [_HOUR, 1], [3 * _HOUR, 2]], gold['steps'])
        self.assertEqual((2, 0), (gold['conditions']['usable'],
                                  gold['conditions']['maintenance']))

    def test_window_under_way(self) -> None:
        """The host is free after it, as far as is known; not before."""
        self.begun(3)
        self.leasing.refresh()
        found = self.look()
        row = found['hosts'][0]
        self.assertEqual(([[_HOUR, 3 * _HOUR, 1, 0]], 'maintenance', True),
                         (row['maintenances'], row['condition'],
                          row['maintenance']))
        (gold,) = found['classes']
        self.assertEqual([[0, 2], [_HOUR, 1], [3 * _HOUR, 2]], gold['steps'])
        self.assertEqual([1, 1, 0], [gold['conditions'][each] for each in (
            'usable', 'maintenance', 'broken')])

    def test_host_that_is_broken_besides(self) -> None:
        """Is not free when the window is over, and says so."""
        self.begun(3)
        self.world.change(self.node, provision_state='manageable')
        found = self.look()
        self.assertEqual('broken', found['hosts'][0]['condition'])
        self.assertEqual([[0, 1]], found['classes'][0]['steps'])

    def test_window_that_is_late(self) -> None:
        """Nobody has cleared the maintenance: it goes on for a while."""
        self.begun(3)
        self.at(4)
        row = self.look()['hosts'][0]
        self.assertEqual([[_HOUR, 4 * _HOUR + 120, 1, 0]], row['maintenances'])
        self.assertEqual(
            [[0, 2], [_HOUR, 1], [4 * _HOUR + 120, 2]],
            self.look()['classes'][0]['steps'])
        self.keep()
        self.assertEqual([[], []], [each['maintenances']
                                    for each in self.look()['hosts']])

    def test_members_see_when_and_not_why(self) -> None:
        """Neither the name nor the reason, nor which windows are one."""
        made = self.book(1, 3, *self.leasing.hosts(2))
        for viewer in ('ours', 'nowhere'):
            answer = self.ask(viewer)
            found = answer.json['calendar']
            self.assertEqual(
                2 * [[[_HOUR, 3 * _HOUR, 0, -1]]],
                [each['maintenances'] for each in found['hosts']
                 if each['maintenances']])
            self.assertEqual([], found['maintenances'])
            for secret in ('firmware', made.window.id):
                self.assertNotIn(secret, answer.body.decode())

    def test_versions_before(self) -> None:
        """See what they always saw."""
        self.begun(3)
        self.leasing.refresh()
        found = self.look(version='baremetal-reservation 1.12')
        self.assertNotIn('maintenances', found)
        row = found['hosts'][0]
        self.assertNotIn('maintenances', row)
        self.assertEqual('broken', row['condition'])
        self.assertEqual(
            {'usable': 1, 'in transition': 0, 'broken': 1, 'deployed': 0,
             'closed': 0}, found['classes'][0]['conditions'])

    def test_host_that_is_cleaned(self) -> None:
        """By its own name since 1.19."""
        for state in ('cleaning', 'clean wait', 'clean hold'):
            self.world.change(self.node, provision_state=state)
            for minor, told, other in ((19, 'cleaning', 'in transition'),
                                       (18, 'in transition', 'cleaning')):
                found = self.look(version=f'baremetal-reservation 1.{minor}')
                conditions = found['classes'][0]['conditions']
                self.assertEqual(
                    (told, 1, 0), (found['hosts'][0]['condition'],
                                   conditions[told],
                                   conditions.get(other, 0)))

    def test_each_change_is_another_calendar(self) -> None:
        """And until then there is nothing new."""
        seen = set()

        def changed() -> None:
            tag = self.ask().headers['ETag']
            self.assertEqual(304, self.ask(if_none_match=tag).status)
            self.assertNotIn(tag, seen)
            seen.add(tag)
        changed()
        made = self.book(1, 3, self.node)
        changed()
        self.at(1)
        changed()
        self.keep()
        changed()
        find.end(self.engine, made.window.id)
        changed()
        self.keep()
        changed()

    def test_viewers_do_not_share_a_tag(self) -> None:
        """Who may not see the reason has another document."""
        self.book(1, 3, self.node)
        tag = self.ask().headers['ETag']
        self.assertEqual(200, self.ask('ours', if_none_match=tag).status)

    def test_window_that_is_forgotten_meanwhile(self) -> None:
        """Between the snapshot and its name: all is read again."""
        self.book(1, 3, self.node)
        original = db_maintenance.read_purposes
        answers = [lambda *_: {}, original]

        def read(*given: Any) -> Any:
            return answers.pop(0)(*given)
        with mock.patch.object(db_maintenance, 'read_purposes', read):
            self.assertEqual('firmware', self.look()['maintenances'][0][
                'name'])
        self.assertEqual([], answers)
