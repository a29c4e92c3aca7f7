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
"""Requests that Blazar answers with 500 are refused with a reason."""

from collections.abc import Callable
import datetime
import json
from typing import Any

from tests.inprocess.api import asking
from tests.inprocess.api import world

_ONE: dict[str, Any] = {'resource_type': 'physical:host', 'min': 1, 'max': 1}
_GOOD: dict[str, Any] = {
    'name': 'good', 'start_date': '2050-01-01 10:00',
    'end_date': '2050-01-02 10:00', 'reservations': [_ONE]}
_REFUSED = 'request.invalid_value'
_UNKNOWN = 'request.unknown_key'


def _but(**what: Any) -> dict[str, Any]:
    """Return a good request with something else in it; None leaves it out."""
    return {key: value for key, value in {**_GOOD, **what}.items()
            if value is not None}


def _with(**what: Any) -> dict[str, Any]:
    """Return a good request with something else in its reservation."""
    return {**_GOOD, 'reservations': [
        {key: value for key, value in {**_ONE, **what}.items()
         if value is not None}]}


def _sized(**what: Any) -> dict[str, Any]:
    """Return a good request for instances with something else in it."""
    good = {'resource_type': 'virtual:instance', 'vcpus': 2,
            'memory_mb': 1024, 'disk_gb': 10, 'amount': 2,
            'affinity': 'False', 'resource_properties': ''}
    return {**_GOOD, 'reservations': [
        {key: value for key, value in {**good, **what}.items()
         if value is not None}]}


def _flavored(**what: Any) -> dict[str, Any]:
    """Return a good request for instances of a flavor, likewise."""
    return _sized(**{'resource_type': 'flavor:instance', 'flavor_id': 3,
                     'affinity': 'None', **what})


_FLAVOR = {'vcpus': 1, 'ram': 512, 'disk': 1, 'extra_specs': {}}
#: The keys of a request with a flavor.
_OF_FLAVOR = {'resource_type': 'flavor:instance', 'affinity': None,
              'vcpus': None, 'memory_mb': None, 'disk_gb': None}


def _sent(flavor: dict[str, Any] | None = None, **what: Any
          ) -> dict[str, Any]:
    """Return a good request with a flavor, with something else in either."""
    return _sized(**{**_OF_FLAVOR, 'flavor_id': 3,
                     'flavor': {**_FLAVOR, **(flavor or {})}, **what})


def _each(make: Callable[..., Any], words: str, **values: Any
          ) -> dict[str, tuple[Any, str]]:
    """Return a case for each invalid value of some keys.

    :param make: returns the body of a request with a value.
    :param words: of the sentence; ``{}`` is the key.
    :param values: the values, by their keys.
    """
    return {f'{key} is {value!r:.40}': (make(**{key: value}),
                                        words.format(key))
            for key in values for value in values[key]}


#: By name: the body, and words of the sentence.
_POSTED: dict[str, tuple[Any, str]] = {
    'list': ([], 'an object is expected'),
    **_each(_but, 'Missing parameter {}', name=[None], start_date=[None],
            end_date=[None]),
    **_each(_with, 'Missing parameter {}', resource_type=[None], min=[None],
            max=[None]),
    **_each(_sized, 'reservations[0]: Missing parameter {}', vcpus=[None],
            amount=[None]),
    **_each(_but, '{}', name=['', 5, 'a\nb', '  ']),
    'name_of_81': (_but(name='x' * 81), '80 printable characters'),
    'both_spellings': (_but(start='2050-01-01 10:00'),
                       'start and start_date mean the same'),
    'bogus_start': (_but(start_date='tomorrow'),
                    'tomorrow is an invalid date. Required format: '
                    '%Y-%m-%d %H:%M'),
    **_each(_but, 'invalid date', end_date=[
        '2050-02-30 10:00', '2050-02-03', 2524644000]),
    'year_that_is_too_far': (_but(end_date='9999-12-31 23:59'), '9000'),
    **_each(_but, 'End date must be later than start date.', end_date=[
        '2050-01-01 09:00', '2050-01-01 10:00']),
    'end_now': (_but(start_date='now', end_date='now'),
                'End date must be later than start date.'),
    'start_in_the_past': (_but(start_date='2020-01-01 10:00'), 'in the past'),
    **_each(_but, '{}', before_end_date=[
        '2050-01-01 09:00', '2050-01-02 11:00']),
    'reservations_no_list': (_but(reservations=_ONE), 'list of at most'),
    'reservation_no_object': (_but(reservations=['one']), 'list of objects'),
    'unknown_kind': (_with(resource_type='virtual:whatever'),
                     "'virtual:whatever' is not served"),
    'kind_that_is_a_list': (_with(resource_type=['physical:host']),
                            'is not served'),
    'no_instances': (_sized(amount=0), 'whole number of instances'),
    **_each(_sized, '{}', amount=['two'], vcpus=[' 2', '9' * 5000, 2 ** 31],
            memory_mb=[-1, 1.5, True], affinity=[1]),
    'size_that_is_empty': (_sized(disk_gb=''),
                           "disk_gb: a whole number from 0"),
    'instances_of_nothing': (_sized(vcpus=0, memory_mb=0, disk_gb=0),
                             'an instance cannot have a size of 0'),
    'affinity_that_is_none': (_sized(affinity='maybe'),
                              'true, false or "None" is expected'),
    'properties_of_instances': (_sized(resource_properties='gpu == 1'),
                                'not JSON'),
    'flavor_that_cannot_be_read': (_flavored(
        vcpus=None, memory_mb=None, disk_gb=None),
        "the flavor '3' cannot be looked up"),
    **_each(_flavored, 'Missing parameter {}', flavor_id=[None],
            disk_gb=[None]),
    **_each(_flavored, 'the id of a flavor', flavor_id=[[], 10 ** 30]),
    'flavor_without_a_name': (_sent(flavor_id=None),
                              'Missing parameter flavor_id'),
    'flavor_with_sizes': (_sent(memory_mb=1),
                          'determines the sizes. Leave memory_mb out'),
    'flavor_of_another_name': (_sent({'id': '4', 'name': 'm1'}),
                               "flavor_id is '3', but flavor is a different"),
    'flavor_whose_id_is_none': (_sent({'id': []}, flavor_id=None),
                                'flavor: the id of a flavor'),
    'flavor_that_is_a_name': (_sized(**{**_OF_FLAVOR, 'flavor': 'm1'}),
                              'a flavor as Nova shows it'),
    'flavor_with_a_key': (_sent({'colour': 'red'}),
                          "A flavor has no key 'colour'"),
    'flavor_with_a_bad_value': (_sent(
        {'extra_specs': {'resources:CUSTOM_A': '1.0'}}),
        "reservations[0]: flavor: The extra spec 'resources:CUSTOM_A'"),
    'flavor_of_nothing': (_sent({'vcpus': 0, 'ram': 0, 'disk': 0}),
                          'requests no resources'),
    'flavor_that_pins': (_sent({'extra_specs': {
        'hw:cpu_policy': 'dedicated'}}), 'requests dedicated CPUs'),
    'flavor_with_affinity': (_flavored(affinity='True'), 'Leave affinity out'),
    'min_in_words': (_with(min='one'),
                     'reservations[0]: min: a whole number of hosts from 1 '
                     "to 1000000 is expected, not 'one'."),
    **_each(_with, '{}', min=[
        '1 ', '01', '\u0661', '0', 0, -1, 1.5, True]),
    'min_that_is_huge': (_with(min=10 ** 30, max=10 ** 30), 'min'),
    'max_below_min': (_with(min=2), 'max must not be less'),
    'unknown_before_end': (_with(before_end='explode'), 'explode'),
    'before_end_that_is_a_list': (_with(before_end=[]), 'before_end'),
    'properties_no_text': (_with(resource_properties=['==', '$a', 'b']),
                           'a string is expected'),
    'properties_no_json': (_with(resource_properties='gpu == 1'), 'not JSON'),
    'properties_of_no_operator': (_with(
        resource_properties='["like", "$gpu", "h100"]'), 'operator'),
    'properties_deep_down': (_with(
        resource_properties='[' * 5000 + ']' * 5000), 'deep'),
    'events_no_list': (_but(events='none'), 'events'),
    'event_that_is_never': (_but(events=[
        {'event_type': 'notification', 'event_date': 'never'}]),
        'events[0]: event_date: never is an invalid date'),
}
#: The same, for keys that there are not.
_POSTED_KEYS: dict[str, tuple[Any, str]] = {
    'unknown_key': (_but(colour='red'), "'colour'"),
    'instances_like_hosts': (_sized(min=1), "'min'"),
    'instances_of_a_flavor': (_sized(flavor_id=3), "'flavor_id'"),
    'hosts_like_instances': (_with(amount=1), "'amount'"),
    'flavor_of_instances': (_sized(flavor={}), "'flavor'"),
    'unknown_key_inside': (_with(colour='red'),
                           "reservations[0]: There is no key 'colour'"),
    'event_with_a_key': (_but(events=[{'colour': 'red'}]), 'events[0]'),
}

_CHANGED: dict[str, tuple[Any, str]] = {
    'list': ([], 'an object is expected'),
    'empty_name': ({'name': ''}, 'name'),
    'bogus_end': ({'end_date': 'later'}, 'later is an invalid'),
    'both_spellings': ({'end_date': 'now', 'end': 'now'}, 'mean the same'),
    'end_before_start': ({'end_date': '2050-01-01 09:00'}, 'not after'),
    'heal_in_quotes': ({'heal': 'yes'}, 'true or false'),
    'no_id': ({'reservations': [{'min': 1}]},
              'reservations[0]: Missing parameter id'),
    'bogus_id': ({'reservations': [{'id': 'one'}]}, 'UUID'),
    'events': ({'events': [{}]}, 'an empty list is expected'),
    'max_below_min': ({'reservations': [
        {'id': '11111111-2222-3333-4444-555555555555', 'min': 2, 'max': 1}]},
        'max must not be less'),
    'reservation_of_another': ({'reservations': [
        {'id': '11111111-2222-3333-4444-555555555555', 'min': 1}]},
        '11111111-2222-3333-4444-555555555555'),
    'amount_of_hosts': ({'reservations': [
        {'id': '$reservation', 'amount': 1}]}, 'reserves hosts'),
    'sizes_of_hosts': ({'reservations': [
        {'id': '$reservation', 'vcpus': 1}]}, 'reserves hosts'),
    'affinity_of_hosts': ({'reservations': [
        {'id': '$reservation', 'affinity': None}]}, 'reserves hosts'),
    'give_back_no_list': ({'reservations': [
        {'id': '11111111-2222-3333-4444-555555555555', 'give_back': '1'}]},
        'give_back'),
    'give_back_a_name': ({'reservations': [
        {'id': '11111111-2222-3333-4444-555555555555',
         'give_back': ['compute-1']}]}, 'neither the id'),
}


class InputCase(asking.AskingCase):
    """An application with one host, where everybody is an administrator."""

    nodes = {'compute-1': {'resource_class': 'gold'}}
    member = operator = {}

    def serve(self) -> world.World:
        return world.OpenWorld()

    def post(self, document: Any, status: int = 201) -> Any:
        """Request a lease, and return the lease or the refusal."""
        answer = self.ask('POST', '/v1/leases', status, document)
        return answer['lease'] if status == 201 else answer

    def check_no_lease(self) -> None:
        self.assertEqual([], self.ask('GET', '/v1/leases')['leases'])


class TestRefused(InputCase):
    """The only result is a sentence."""

    def test_leases_that_make_no_sense(self) -> None:
        """In the keys of Blazar and in ours, and nothing is made.

        Blazar: answers 500 to an unknown resource_type and to a name of more
        than 80 characters.
        """
        for code, cases in ((_REFUSED, _POSTED), (_UNKNOWN, _POSTED_KEYS)):
            for name, case in cases.items():
                with self.subTest(name):
                    self._refuse('POST', '/v1/leases', code, *case)
        self.check_no_lease()

    def test_changes_that_make_no_sense(self) -> None:
        """In the keys of Blazar and in ours, and nothing is changed."""
        made = self.post(_GOOD)
        path = f'/v1/leases/{made["id"]}'
        for name, (document, sentence) in _CHANGED.items():
            with self.subTest(name):
                self._refuse('PUT', path, _REFUSED, json.loads(json.dumps(
                    document).replace('$reservation',
                                      made['reservations'][0]['id'])),
                             sentence)
        self._refuse('PUT', path, _UNKNOWN, {'prolong_for': '1h'},
                     "'prolong_for'")
        self.assertEqual(made, self.ask('GET', path)['lease'])

    def _refuse(self, method: str, path: str, code: str, document: Any,
                sentence: str) -> None:
        answer = self.send(method, path, 400, document)
        self.assertEqual(
            (400, 400, code),
            (answer.json['error_code'], answer.json['error_name'],
             answer.json['code']))
        self.assertIn(sentence, answer.json['error_message'])
        self.assertEqual(answer.json['error_message'], answer.detail)


class TestCannotBeHad(InputCase):
    """Valid requests for hosts that do not exist."""

    def _refuse(self, code: str, **wanted: Any) -> None:
        answer = self.post(_with(**wanted), 409)
        self.assertEqual((409, 'lease.refused'), (
            answer['error_code'], answer['code']))
        reason, = answer['details']['reasons']
        self.assertEqual(code, reason['code'])
        self.check_no_lease()

    def test_more_hosts_than_there_are(self) -> None:
        """Blazar: answers 500 to not enough hosts."""
        self._refuse('shortage', min=2, max=2)

    def test_property_that_no_host_has(self) -> None:
        """Blazar: answers 500 to an unknown property."""
        self._refuse('no_host_matches',
                     resource_properties='["==", "$colour", "red"]')


class TestTaken(InputCase):
    """Unusual requests that are accepted."""

    def test_bodies_that_are_no_json(self) -> None:
        """Blazar: answers 500 to bad JSON."""
        answer = self.ask('POST', '/v1/leases', 400, raw=b'{"name":')
        self.assertEqual('request.malformed', answer['code'])
        self.assertIn('not a JSON document', answer['error_message'])

    def test_dates_with_seconds_and_zones(self) -> None:
        """Zones are read as UTC, and the dates of answers are accepted."""
        for start, read in (
                ('2050-01-01T12:00:30+02:00', '2050-01-01T10:00:30.000000'),
                ('2050-01-01T10:00:30Z', '2050-01-01T10:00:30.000000'),
                ('2050-01-01T10:00:00.000000', '2050-01-01T10:00:00.000000'),
                ('2050-01-01 10:00', '2050-01-01T10:00:00.000000')):
            made = self.post(_but(start_date=start))
            self.assertEqual(read, made['start_date'])
            self.send('DELETE', f'/v1/leases/{made["id"]}', 204)

    def test_duration_instead_of_an_end(self) -> None:
        """"now" has seconds, which a client's end does not know."""
        for start, key in (('now', 'start_date'), ('now', 'start'),
                           ('2050-01-01T10:00:30Z', 'start_date')):
            made = self.ask('POST', '/v1/leases', 201, {
                **_but(start_date=None, end_date=None), key: start,
                'duration': 3600}, version=asking.since(28))['lease']
            begin, end = (datetime.datetime.fromisoformat(made[f'{name}_date'])
                          for name in ('start', 'end'))
            self.assertEqual(datetime.timedelta(hours=1), end - begin)
            self.assertIsNone(made['between'])
            self.send('DELETE', f'/v1/leases/{made["id"]}', 204)

    def test_duration_that_makes_no_sense(self) -> None:
        for more, minor, said in (
                ({'end_date': '2050-01-02 10:00'}, 28, 'Send one of them'),
                ({'end': '2050-01-02 10:00'}, 28, 'Send one of them'),
                ({'start_date': None}, 28, 'Missing parameter start_date'),
                ({'start_date': '8999-12-31 10:00', 'duration': 2 ** 31 - 1},
                 28, 'after the year 9000'),
                ({'fix_before': 60}, 28, 'open dates only'),
                ({}, 27, 'open dates only')):
            answer = self.ask('POST', '/v1/leases', 400, _but(**{
                'end_date': None, 'duration': 3600, **more}),
                version=asking.since(minor))
            self.assertIn(said, answer['error_message'])
        self.check_no_lease()

    def test_older_spelling(self) -> None:
        """The spelling of the specification."""
        made = self.post({
            'name': 'old', 'start': 'now', 'end': '2050-01-01 10:00',
            'reservations': [_ONE], 'events': []})
        self.assertEqual('2050-01-01T10:00:00.000000', made['end_date'])
        changed = self.ask('PUT', f'/v1/leases/{made["id"]}', 200,
                           {'end': '2050-01-01 09:00'})['lease']
        self.assertEqual('2050-01-01T09:00:00.000000', changed['end_date'])

    def test_name_of_80_characters(self) -> None:
        """The name may be in any script."""
        self.post(_but(name='\u00e9' * 80))

    def test_reservation_that_asks_for_no_properties(self) -> None:
        """Blazar requires empty properties."""
        for empty in (None, '', '[]'):
            made = self.ask('POST', '/v1/leases?dry_run=True', 200, _with(
                hypervisor_properties=empty, resource_properties=empty))
            self.assertEqual(empty or '', made['lease'][
                'reservations'][0]['resource_properties'])

    def test_numbers_as_text(self) -> None:
        """Blazar accepts whole numbers of any type."""
        made = self.post(_with(min='1', max='1'))
        reservation, = made['reservations']
        self.assertEqual((1, 1), (reservation['min'], reservation['max']))
        self.send('PUT', f'/v1/leases/{made["id"]}', 200, {'reservations': [
            {'id': reservation['id'], 'min': '1', 'max': 1}]})
        self.send('DELETE', f'/v1/leases/{made["id"]}', 204)
        # The host here has no sizes.
        refused = self.post(_sized(
            amount='2', vcpus='0', memory_mb='64', disk_gb='1'), 409)
        for said in ('the lease needs 2 hosts',
                     'needs 0 vcpus, 64 MB of memory and 1 GB of disk.'):
            self.assertIn(said, refused['error_message'])

    def test_dry_run_that_is_no_word(self) -> None:
        """A mistyped dry run makes no lease."""
        self.send('POST', '/v1/leases?dry_run=yes', 400, _GOOD)
        self.check_no_lease()

    def test_node_is_given_back_by_the_id_of_its_host(self) -> None:
        """The uuid of the node is accepted, too."""
        two = self.open_host('compute-2', resource_class='gold')
        # A lease that has not started has no nodes of its own.
        made = self.post({**_with(max=2), 'start_date': 'now'})
        path = f'/v1/leases/{made["id"]}'
        reservation, = made['reservations']
        for gone in ('1', two['node_uuid']):
            changed = self.ask('PUT', f'{path}?dry_run=true', 200, {
                'reservations': [{'id': reservation['id'],
                                  'give_back': [gone]}]})['lease']
            kept = [each['uuid'] for each in
                    changed['reservations'][0]['nodes']
                    if each['state'] != 'ending']
            self.assertEqual(1, len(kept))
            self.assertEqual(gone == '1', kept == [two['node_uuid']])
        self.assertEqual(made, self.ask('GET', path)['lease'])
