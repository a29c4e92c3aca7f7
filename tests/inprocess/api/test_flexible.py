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

"""Leases with open dates, as clients request them."""

from typing import Any

from tests.inprocess.api import asking

_KEYS = {'between', 'duration', 'fix_before', 'fixed'}
_OPEN: dict[str, Any] = {
    'name': 'any day', 'between': ['2050-01-01 10:00', '2050-01-20 10:00'],
    'duration': 86400, 'reservations': asking.hosts()}
_DATED = asking.lease('01 16', '01 18')
_MARCH = {**_DATED, 'start_date': '2050-03-01 10:00',
          'end_date': '2050-03-05 10:00'}


class _Served(asking.AskingCase):
    """A service with one host."""

    nodes = {'rack-7': {}}
    version = asking.since(8)

    def post(self, document: dict[str, Any], status: int = 201,
             **more: Any) -> Any:
        """Request a lease, and return the lease or the refusal."""
        answer = self.ask('POST', '/v1/leases', status, document, **more)
        return answer['lease'] if status == 201 else answer

    def check_refused(self, method: str, path: str,
                      *cases: tuple[dict[str, Any], str]) -> None:
        """Check that what makes no sense is refused with a sentence."""
        for document, told in cases:
            answer = self.ask(method, path, 400, document)
            self.assertIn(told, answer['error_message'])


class TestFlexible(_Served):
    """Dates that the owner leaves open."""

    def test_it_shows_what_was_left_open(self) -> None:
        """It also shows its move for a later lease."""
        made = self.post(_OPEN)
        self.assertEqual(
            ['2050-01-01T10:00:00.000000', '2050-01-20T10:00:00.000000'],
            made['between'])
        self.assertEqual((86400, 86400, False), (
            made['duration'], made['fix_before'], made['fixed']))
        self.assertEqual('2050-01-01T10:00:00.000000', made['start_date'])
        other = self.post(_DATED)
        self.assertEqual((None, 7200, None, True),
                         tuple(other[key] for key in (
                             'between', 'duration', 'fix_before', 'fixed')))
        path = f'/v1/leases/{made["id"]}'
        self.assertEqual(
            ('2050-01-01T18:00:00.000000', '2050-01-02T18:00:00.000000'),
            tuple(self.ask('GET', path)['lease'][key]
                  for key in ('start_date', 'end_date')))

    def test_other_versions_are_as_before(self) -> None:
        """Other versions show plain dates, and refuse the new keys."""
        made = self.post(_OPEN)
        for version in ('reservation 1.0', None, asking.since(7)):
            shown = self.ask('GET', f'/v1/leases/{made["id"]}',
                             version=version)['lease']
            self.assertEqual(set(), _KEYS & set(shown))
            self.post(_OPEN, 400, version=version)

    def test_what_makes_no_sense(self) -> None:
        """Each bad value is refused with a sentence."""
        self.check_refused('POST', '/v1/leases', *(
            ({**_OPEN, **change}, told) for change, told in (
                ({'start_date': 'now'}, 'start_date sets a date'),
                ({'end_date': '2050-01-02 10:00'}, 'end_date sets a date'),
                ({'before_end_date': '2050-01-02 10:00'},
                 'before_end_date sets a date'),
                ({'duration': 0}, 'seconds from 1 to 2147483647'),
                ({'duration': '1d'}, 'duration'),
                ({'duration': 30 * 86400}, 'longer window'),
                ({'fix_before': -1}, 'seconds from 0 to 2147483647'),
                ({'between': ['2050-01-01 10:00']}, 'two dates'),
                ({'between': ['2050-01-02 10:00', '2050-01-01 10:00']},
                 'later than the first'),
                ({'between': ['2050-01-01 10:00', 'now']}, '"now"'),
                ({'between': None}, 'open dates only'))))
        for key in ('duration', 'fix_before'):
            self.post({**_DATED, key: 60}, 400)
        self.post({key: value for key, value in _OPEN.items()
                   if key != 'duration'}, 400)

    def test_from_now_on(self) -> None:
        """The lease is planned at once, and its dates are fixed."""
        made = self.post({**_OPEN, 'between': ['now', '2050-01-20 10:00']})
        self.assertTrue(made['fixed'])
        self.assertEqual(made['between'][0], made['start_date'])


class TestChanged(_Served):
    """The owner changes the window of the open dates."""

    version = asking.since(20)

    def setUp(self) -> None:
        super().setUp()
        self.path = f'/v1/leases/{self.post(_OPEN)["id"]}'

    def change(self, status: int = 200, **changes: Any) -> Any:
        return self.ask('PUT', self.path, status, changes)

    def test_another_window(self) -> None:
        """The lease moves to the new window, and keeps its duration."""
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
        """The offer is accepted unchanged."""
        self.post(_MARCH)
        refused = self.change(409, between=['2050-03-01 10:00',
                                            '2050-03-04 10:00'])
        offer, = refused['details']['offers']
        self.assertEqual('later', offer['kind'])
        lease = self.change(**offer['lease'])['lease']
        self.assertEqual('2050-03-05T10:00:00.000000', lease['start_date'])

    def test_other_versions_are_as_before(self) -> None:
        """Other versions refuse the new keys."""
        for version in (None, asking.since(19)):
            for change in ({'between': _OPEN['between']}, {'duration': 60},
                           {'fix_before': 60}):
                answer = self.ask('PUT', self.path, 400, change,
                                  version=version)
                self.assertIn('1.20', answer['error_message'])

    def test_what_makes_no_sense(self) -> None:
        """Each bad value is refused with a sentence."""
        self.check_refused(
            'PUT', self.path,
            ({'duration': 60, 'end_date': '2050-01-02 10:00'},
             'end_date sets a date'),
            ({'between': _OPEN['between'], 'start_date': 'now'},
             'start_date sets a date'),
            ({'duration': 30 * 86400}, 'longer window'),
            ({'between': ['2050-01-02 10:00', '2050-01-01 10:00']},
             'later than the first'))
        self.check_refused(
            'PUT', f'/v1/leases/{self.post(_MARCH)["id"]}',
            ({'duration': 60}, 'Send "between", too'))


class TestQueue(_Served):
    """A lease without free hosts."""

    version = asking.since(12)

    def test_it_is_queued_with_a_promised_start(self) -> None:
        """A lease with free hosts is not queued."""
        ask = {**_DATED, 'on_refusal': 'queue'}
        keys = ('queued', 'promised_start', 'priority', 'start_date')
        self.assertEqual(
            [(False, None, None, '2050-01-01T16:00:00.000000'),
             (True, '2050-01-01T18:00:00.000000', 0,
              '2050-01-01T18:00:00.000000')],
            [tuple(lease[key] for key in keys)
             for lease in (self.post(ask), self.post(ask))])

    def test_without_it_or_with_another_version_it_is_refused(self) -> None:
        """The refusal is the same as before."""
        self.post(_DATED, version=None)
        self.post(_DATED, 409)
        self.post({**_DATED, 'on_refusal': 'refuse'}, 409)
        self.post({**_DATED, 'on_refusal': 'queue'}, 400,
                  version=asking.since(8))

    def test_a_priority_is_given_by_who_may(self) -> None:
        """A member of a project may not give one."""
        ask = {**_DATED, 'on_refusal': 'queue', 'priority': 5}
        self.post(ask, 403)
        self.post(ask, who=asking.OPERATOR)
        made = self.post(ask, who=asking.OPERATOR)
        self.assertEqual((True, 5), (made['queued'], made['priority']))

    def test_what_makes_no_sense(self) -> None:
        """Each bad value is refused with a sentence."""
        self.check_refused(
            'POST', '/v1/leases',
            ({**_DATED, 'priority': 5}, 'on_refusal'),
            ({**_DATED, 'on_refusal': 'wait'}, 'refuse, queue'),
            ({**_DATED, 'on_refusal': ['queue']},
             'a list is not one of refuse, queue'),
            ({**_DATED, 'on_refusal': {}},
             'an object is not one of refuse, queue'),
            ({**_DATED, 'on_refusal': 'queue', 'priority': 101}, '100'),
            ({**_OPEN, 'on_refusal': 'queue'}, 'cannot be queued'))
