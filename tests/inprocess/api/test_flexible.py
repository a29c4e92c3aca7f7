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

"""Leases whose dates are open, as clients ask for them."""

from __future__ import annotations

from typing import Any

import testtools

from tests.inprocess.api import world

_OPERATOR = {'x_roles': 'admin,member,reader', 'x_project_id': 'operators',
             'openstack_system_scope': 'all'}
_MEMBER = {'x_roles': 'member,reader', 'x_project_id': 'red'}
_OURS = 'reservation 1.0, baremetal-reservation 1.8'
_KEYS = {'between', 'duration', 'fix_before', 'fixed'}
_HOSTS = [{'resource_type': 'physical:host', 'min': 1, 'max': 1}]
_OPEN: dict[str, Any] = {
    'name': 'any day', 'between': ['2050-01-01 10:00', '2050-01-20 10:00'],
    'duration': 86400, 'reservations': _HOSTS}
_DATED = {'name': 'one day', 'start_date': '2050-01-01 16:00',
          'end_date': '2050-01-01 18:00', 'reservations': _HOSTS}


class _Served(testtools.TestCase):
    """There is one host."""

    def setUp(self) -> None:
        super().setUp()
        self.served = self.useFixture(world.World())
        self.served.ironic.add(name='rack-7')
        self.send('POST', '/v1/os-hosts', 201, _OURS, {'name': 'rack-7'},
                  _OPERATOR)

    def send(self, method: str, path: str, status: int, version: str | None,
             document: Any = None, who: dict[str, str] = _MEMBER) -> Any:
        answer = world.request(self.served, method, path, document,
                               version=version, **who)
        self.assertEqual(status, answer.status, answer.body)
        return answer.json


class TestFlexible(_Served):
    """Dates that are left open."""

    def test_it_shows_what_was_left_open(self) -> None:
        """And that it slides for one that came later."""
        made = self.send('POST', '/v1/leases', 201, _OURS, _OPEN)['lease']
        self.assertEqual(
            ['2050-01-01T10:00:00.000000', '2050-01-20T10:00:00.000000'],
            made['between'])
        self.assertEqual((86400, 86400, False), (
            made['duration'], made['fix_before'], made['fixed']))
        self.assertEqual('2050-01-01T10:00:00.000000', made['start_date'])
        other = self.send('POST', '/v1/leases', 201, _OURS, _DATED)['lease']
        self.assertEqual((None, 7200, None, True),
                         tuple(other[key] for key in (
                             'between', 'duration', 'fix_before', 'fixed')))
        path = f'/v1/leases/{made["id"]}'
        self.assertEqual(
            ('2050-01-01T18:00:00.000000', '2050-01-02T18:00:00.000000'),
            tuple(self.send('GET', path, 200, _OURS)['lease'][key]
                  for key in ('start_date', 'end_date')))

    def test_other_versions_are_as_before(self) -> None:
        """They show plain dates, and take nothing new."""
        made = self.send('POST', '/v1/leases', 201, _OURS, _OPEN)['lease']
        for version in ('reservation 1.0', None,
                        'reservation 1.0, baremetal-reservation 1.7'):
            shown = self.send('GET', f'/v1/leases/{made["id"]}', 200,
                              version)['lease']
            self.assertEqual(set(), _KEYS & set(shown))
            self.send('POST', '/v1/leases', 400, version, _OPEN)

    def test_what_makes_no_sense(self) -> None:
        """Is refused with a sentence."""
        for change, told in (
                ({'start_date': 'now'}, 'start_date sets a date'),
                ({'end_date': '2050-01-02 10:00'}, 'end_date sets a date'),
                ({'before_end_date': '2050-01-02 10:00'},
                 'before_end_date sets a date'),
                ({'duration': 0}, 'duration'),
                ({'duration': '1d'}, 'duration'),
                ({'duration': 30 * 86400}, 'longer window'),
                ({'fix_before': -1}, 'fix_before'),
                ({'between': ['2050-01-01 10:00']}, 'two dates'),
                ({'between': ['2050-01-02 10:00', '2050-01-01 10:00']},
                 'later than the first'),
                ({'between': ['2050-01-01 10:00', 'now']}, '"now"'),
                ({'between': None}, 'null')):
            answer = self.send('POST', '/v1/leases', 400, _OURS,
                               {**_OPEN, **change})
            self.assertIn(told, answer['error_message'])
        for key in ('duration', 'fix_before'):
            self.send('POST', '/v1/leases', 400, _OURS, {**_DATED, key: 60})
        self.send('POST', '/v1/leases', 400, _OURS, {
            key: value for key, value in _OPEN.items() if key != 'duration'})

    def test_from_now_on(self) -> None:
        """It is planned now, and fixed at once."""
        made = self.send('POST', '/v1/leases', 201, _OURS, {
            **_OPEN, 'between': ['now', '2050-01-20 10:00']})['lease']
        self.assertTrue(made['fixed'])
        self.assertEqual(made['between'][0], made['start_date'])


class TestChanged(_Served):
    """Its owner changes what the dates leave open."""

    version = 'reservation 1.0, baremetal-reservation 1.20'

    def setUp(self) -> None:
        super().setUp()
        made = self.send('POST', '/v1/leases', 201, _OURS, _OPEN)['lease']
        self.path = f'/v1/leases/{made["id"]}'

    def change(self, status: int = 200, **changes: Any) -> Any:
        return self.send('PUT', self.path, status, self.version, changes)

    def test_another_window(self) -> None:
        """It is planned in it, and lasts as long as it is to."""
        lease = self.change(
            between=['2050-02-01 10:00', '2050-02-20 10:00'],
            duration=2 * 86400, fix_before=3600)['lease']
        self.assertEqual(
            (['2050-02-01T10:00:00.000000', '2050-02-20T10:00:00.000000'],
             2 * 86400, 3600, False, '2050-02-01T10:00:00.000000',
             '2050-02-03T10:00:00.000000'),
            tuple(lease[key] for key in (
                'between', 'duration', 'fix_before', 'fixed', 'start_date',
                'end_date')))

    def test_what_is_offered_is_accepted(self) -> None:
        """Posted as it is."""
        self.send('POST', '/v1/leases', 201, _OURS, {
            **_DATED, 'start_date': '2050-03-01 10:00',
            'end_date': '2050-03-05 10:00'})
        refused = self.change(409, between=['2050-03-01 10:00',
                                            '2050-03-04 10:00'])
        offer, = refused['details']['offers']
        self.assertEqual('later', offer['kind'])
        lease = self.change(**offer['lease'])['lease']
        self.assertEqual('2050-03-05T10:00:00.000000', lease['start_date'])

    def test_other_versions_are_as_before(self) -> None:
        """They take nothing new."""
        for version in (None, 'reservation 1.0, baremetal-reservation 1.19'):
            for change in ({'between': _OPEN['between']}, {'duration': 60},
                           {'fix_before': 60}):
                answer = self.send('PUT', self.path, 400, version, change)
                self.assertIn('1.20', answer['error_message'])

    def test_what_makes_no_sense(self) -> None:
        """Is refused with a sentence."""
        for change, told in (
                ({'duration': 60, 'end_date': '2050-01-02 10:00'},
                 'end_date sets a date'),
                ({'between': _OPEN['between'], 'start_date': 'now'},
                 'start_date sets a date'),
                ({'duration': 30 * 86400}, 'longer window'),
                ({'between': ['2050-01-02 10:00', '2050-01-01 10:00']},
                 'later than the first')):
            answer = self.change(400, **change)
            self.assertIn(told, answer['error_message'])
        made = self.send('POST', '/v1/leases', 201, _OURS, {
            **_DATED, 'start_date': '2050-03-01 10:00',
            'end_date': '2050-03-05 10:00'})['lease']
        answer = self.send('PUT', f'/v1/leases/{made["id"]}', 400,
                           self.version, {'duration': 60})
        self.assertIn('Send "between", too', answer['error_message'])


class TestQueue(_Served):
    """A lease that does not fit."""

    version = 'reservation 1.0, baremetal-reservation 1.12'

    def test_it_is_queued_with_a_promised_start(self) -> None:
        """One that fits is not."""
        ask = {**_DATED, 'on_refusal': 'queue'}
        first = self.send('POST', '/v1/leases', 201, self.version, ask)
        other = self.send('POST', '/v1/leases', 201, self.version, ask)
        keys = ('queued', 'promised_start', 'priority', 'start_date')
        self.assertEqual(
            [(False, None, None, '2050-01-01T16:00:00.000000'),
             (True, '2050-01-01T18:00:00.000000', 0,
              '2050-01-01T18:00:00.000000')],
            [tuple(each['lease'][key] for key in keys)
             for each in (first, other)])

    def test_without_it_or_with_another_version_it_is_refused(self) -> None:
        """As before."""
        self.send('POST', '/v1/leases', 201, None, _DATED)
        self.send('POST', '/v1/leases', 409, self.version, _DATED)
        self.send('POST', '/v1/leases', 409, self.version,
                  {**_DATED, 'on_refusal': 'refuse'})
        self.send('POST', '/v1/leases', 400, _OURS,
                  {**_DATED, 'on_refusal': 'queue'})

    def test_a_priority_is_given_by_who_may(self) -> None:
        """Which is not a member of a project."""
        ask = {**_DATED, 'on_refusal': 'queue', 'priority': 5}
        self.send('POST', '/v1/leases', 403, self.version, ask)
        self.send('POST', '/v1/leases', 201, self.version, ask, _OPERATOR)
        made = self.send('POST', '/v1/leases', 201, self.version, ask,
                         _OPERATOR)['lease']
        self.assertEqual((True, 5), (made['queued'], made['priority']))

    def test_what_makes_no_sense(self) -> None:
        """Is refused with a sentence."""
        for document, told in (
                ({**_DATED, 'priority': 5}, 'on_refusal'),
                ({**_DATED, 'on_refusal': 'wait'}, 'refuse, queue'),
                ({**_DATED, 'on_refusal': ['queue']},
                 'a list is not one of refuse, queue'),
                ({**_DATED, 'on_refusal': {}},
                 'an object is not one of refuse, queue'),
                ({**_DATED, 'on_refusal': 'queue', 'priority': 101}, '100'),
                ({**_OPEN, 'on_refusal': 'queue'}, 'cannot be queued')):
            answer = self.send('POST', '/v1/leases', 400, self.version,
                               document)
            self.assertIn(told, answer['error_message'])
