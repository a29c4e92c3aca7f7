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

"""Each bad request gets a 4xx with a stable code and changes nothing."""

import datetime
import json
import re
from typing import Any
import uuid

import testscenarios
import testtools

from tests.inprocess.api import world

INSTANCE = '11111111-0000-0000-0000-000000000001'
NODE = 'aaaaaaaa-0000-0000-0000-000000000001'
PATH = '/v1/reservations'

MALFORMED = (400, 'request.malformed')
INVALID = (400, 'request.invalid_value')
UNKNOWN = (400, 'request.unknown_key')
TOO_LARGE = (413, 'request.too_large')
NO_JSON = (415, 'request.unsupported_media_type')


def _case(name: str, expected: tuple[int, str], **what: Any
          ) -> tuple[str, dict[str, Any]]:
    return name, {'expected': expected, 'raw': None, 'environ': {}, **what}


def _raw(name: str, raw: bytes, expected: tuple[int, str] = MALFORMED,
         **environ: str) -> tuple[str, dict[str, Any]]:
    return _case(name, expected, raw=raw, environ=environ)


def _body(name: str, expected: tuple[int, str] = INVALID, **changes: Any
          ) -> tuple[str, dict[str, Any]]:
    document = {'instance_uuid': INSTANCE, 'node_uuid': [NODE], **changes}
    document = {key: value for key, value in document.items()
                if value is not ...}
    return _case(name, expected, raw=json.dumps(document).encode())


def _bodies(key: str, values: tuple[Any, ...]
            ) -> list[tuple[str, dict[str, Any]]]:
    """Return a case of each invalid value, which has its name."""
    return [_body(f'{key}_{number}_' + re.sub(r'\W+', '_', ascii(value))[:40],
                  **{key: value}) for number, value in enumerate(values)]


GOOD = json.dumps({'instance_uuid': INSTANCE, 'node_uuid': [NODE]}).encode()


class TestNothingIsReserved(testscenarios.WithScenarios, testtools.TestCase):
    """Refused bodies of POST, from wrong bytes to wrong meanings."""

    scenarios = [
        _raw('no_body', b''),
        _raw('cut_off', GOOD[:-1]),
        _raw('two_documents', GOOD + GOOD),
        _raw('trailing_comma', GOOD[:-1] + b',}'),
        _raw('single_quotes', GOOD.replace(b'"', b"'")),
        _raw('not_a_number', b'{"instance_uuid": NaN}'),
        _raw('infinity', b'{"ttl": -Infinity}'),
        _raw('number_out_of_range', b'{"ttl": 1e999}'),
        _raw('number_of_5000_digits', b'{"ttl": ' + b'9' * 5000 + b'}'),
        _raw('number_of_4000_digits',
             GOOD[:-1] + b', "ttl": ' + b'9' * 4000 + b'}', INVALID),
        _raw('key_twice',
             GOOD[:-1] + b', "node_uuid": ["' + NODE.encode() + b'"]}'),
        _raw('key_twice_deep_inside', b'[{"op": 1, "op": 1}]'),
        _raw('nested_100', b'[' * 100 + b']' * 100),
        _raw('nested_50000', b'[' * 50000 + b']' * 50000),
        _raw('nested_objects', b'{"a":' * 20000 + b'1' + b'}' * 20000),
        _raw('utf_16', GOOD.decode().encode('utf-16')),
        _raw('utf_16_without_mark', GOOD.decode().encode('utf-16-le')),
        _raw('latin_1', b'{"instance_uuid": "\xe9"}'),
        _raw('byte_order_mark', b'\xef\xbb\xbf' + GOOD),
        _raw('half_a_character', b'{"instance_uuid": "\\ud800"}'),
        _raw('zero_byte', GOOD + b'\0'),
        _raw('huge', b' ' * 131073, TOO_LARGE),
        _raw('claims_to_be_huge', GOOD, TOO_LARGE,
             CONTENT_LENGTH='9' * 18),
        _raw('shorter_than_it_says', GOOD, CONTENT_LENGTH='1000'),
        _raw('negative_length', GOOD, CONTENT_LENGTH='-1'),
        _raw('length_of_words', GOOD, CONTENT_LENGTH='ten'),
        _raw('length_in_other_digits', GOOD, CONTENT_LENGTH='\u0661'),
        _raw('chunks', GOOD, (411, 'request.length_required'),
             HTTP_TRANSFER_ENCODING='chunked'),
        _raw('form', b'instance_uuid=1', NO_JSON,
             CONTENT_TYPE='application/x-www-form-urlencoded'),
        _raw('multipart', GOOD, NO_JSON, CONTENT_TYPE='multipart/form-data'),
        _raw('no_type', GOOD, NO_JSON, CONTENT_TYPE=''),
        _raw('javascript', GOOD, NO_JSON,
             CONTENT_TYPE='application/javascript'),
        _raw('patch_type', GOOD, NO_JSON,
             CONTENT_TYPE='application/json-patch+json'),
        _raw('charset', GOOD, NO_JSON,
             CONTENT_TYPE='application/json; charset=utf-16'),
        _raw('compressed', GOOD, NO_JSON, HTTP_CONTENT_ENCODING='gzip'),
        _raw('list', b'[]', INVALID),
        _raw('null', b'null', INVALID),
        _raw('string', b'"x"', INVALID),
        _raw('number', b'1', INVALID),
        _body('no_instance', instance_uuid=...),
        _body('nothing_to_choose_from', node_uuid=...),
        *_bodies('instance_uuid', (
            None, 7, True, [INSTANCE], {}, '', 'my-instance',
            f'{{{INSTANCE}}}', f'urn:uuid:{INSTANCE}', f'{INSTANCE}\n',
            INSTANCE + '0' * 60000, INSTANCE.replace('1', '\u0661'))),
        *_bodies('node_uuid', (
            NODE, None, {NODE: 1}, [], [NODE, None], [[NODE]], ['node-1'],
            [str(uuid.UUID(int=number)) for number in range(1001)])),
        _body('node_10000', TOO_LARGE,
              node_uuid=[str(uuid.UUID(int=number))
                         for number in range(10000)]),
        *_bodies('uuid', ('mine', None)),
        _body('key_unknown', UNKNOWN, colour='red'),
        _body('key_in_other_case', UNKNOWN, Node_UUID=[NODE]),
        _body('key_empty', UNKNOWN, **{'': 1}),
        _body('key_of_the_answer', UNKNOWN, state='in_use'),
        _body('key_of_another_project', UNKNOWN, project_id='red'),
        _body('key_of_python', UNKNOWN, __class__=1),
        _body('key_of_another_script', UNKNOWN, **{'\u0661\U0001f600': 1}),
        *_bodies('ttl', (0, -1, 9, 86401, 10 ** 30, 60.5, 60.0, '60', True,
                         None)),
        *_bodies('expires_at', (
            '2001-01-01T00:00:00+00:00', '2999-01-01T00:00:00+00:00',
            '2999-01-01T00:00:00', '2999-01-01', '2999-W01-1T00:00:00Z',
            '29990101T000000Z', '2999-02-30T00:00:00Z',
            '2999-01-01T25:00:00Z', '0000-01-01T00:00:00Z',
            '0001-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59',
            '2999-01-01T00:00:00+99:99', 4102444800, 'tomorrow', None)),
        _body('end_twice', ttl=60, expires_at=(
            datetime.datetime.now(datetime.UTC)
            + datetime.timedelta(seconds=60)).isoformat()),
        *_bodies('resource_class', ('', '  ', 1, None, ['gold'], 'x' * 81,
                                    'gold\0', 'gold\n')),
        *_bodies('traits', (
            'CUSTOM_GOLD', None, ['custom_gold'], [1], [''], ['X' * 256],
            [f'CUSTOM_{n}' for n in range(51)])),
    ]

    expected: tuple[int, str]
    raw: bytes
    environ: dict[str, str]

    def setUp(self) -> None:
        super().setUp()
        self.world = self.useFixture(world.OpenWorld())
        self.world.ironic.add(uuid=NODE)

    def test_refused_and_nothing_changed(self) -> None:
        """Each refusal has its code, and no row is left."""
        answer = world.request(self.world, 'POST', PATH, raw=self.raw,
                               environ=self.environ)
        self.assertEqual(self.expected, (answer.status, answer.code),
                         answer.body)
        _check_shape(self, answer)
        listed = world.request(self.world, 'GET', PATH)
        self.assertEqual({'reservations': []}, listed.json)


class TestKeysOfLaterVersions(testscenarios.WithScenarios,
                              testtools.TestCase):
    """A key before its version is unknown, and the refusal names both."""

    scenarios = [
        (f'{key}_at_1.{minor}', {'key': key, 'value': value, 'minor': minor,
                                 'since': since})
        for key, value, since in (
            ('uuid', INSTANCE, 1), ('ttl', 60, 1),
            ('expires_at', '2999-01-01T00:00:00Z', 1),
            ('resource_class', 'gold', 2), ('traits', ['CUSTOM_GOLD'], 2))
        for minor in range(since)]

    key: str
    value: Any
    minor: int
    since: int

    def test_unknown_and_told_when_it_came(self) -> None:
        """The sentence has the key and its version."""
        served = self.useFixture(world.OpenWorld())
        answer = world.request(
            served, 'POST', PATH,
            {'instance_uuid': INSTANCE, 'node_uuid': [NODE],
             self.key: self.value},
            version=f'baremetal-reservation 1.{self.minor}')
        self.assertEqual(UNKNOWN, (answer.status, answer.code))
        self.assertIn(f'{self.key} came with version 1.{self.since}',
                      answer.detail)


def _replace(path: Any, value: Any) -> list[dict[str, Any]]:
    return [{'op': 'replace', 'path': path, 'value': value}]


class TestNothingIsRenewed(testscenarios.WithScenarios, testtools.TestCase):
    """Refused patches."""

    scenarios = [(name, {'patch': patch, 'expected': expected})
                 for name, patch, expected in (
        ('object', {'ttl': 60}, INVALID),
        ('empty', [], INVALID),
        ('two_steps', [{'op': 'replace', 'path': '/ttl', 'value': 60},
                       {'op': 'replace', 'path': '/ttl', 'value': 90}],
         INVALID),
        ('step_string', ['/ttl'], INVALID),
        ('add', [{'op': 'add', 'path': '/ttl', 'value': 60}], INVALID),
        ('remove', [{'op': 'remove', 'path': '/expires_at'}], INVALID),
        ('no_op', [{'path': '/ttl', 'value': 60}], INVALID),
        ('no_path', [{'op': 'replace', 'value': 60}], INVALID),
        ('no_value', [{'op': 'replace', 'path': '/ttl'}], INVALID),
        ('path_number', _replace(1, 60), INVALID),
        ('path_without_slash', _replace('ttl', 60), INVALID),
        ('path_root', _replace('/', 60), UNKNOWN),
        ('path_unknown', _replace('/colour', 60), UNKNOWN),
        ('path_deep', _replace('/ttl/0', 60), UNKNOWN),
        ('path_escaped', _replace('/~0ttl', 60), UNKNOWN),
        ('path_fixed', _replace('/node_uuid', NODE), INVALID),
        ('path_project', _replace('/project_id', 'x'), INVALID),
        ('key_unknown', [{'op': 'replace', 'path': '/ttl', 'value': 60,
                          'from': '/x'}], UNKNOWN),
        ('value_null', _replace('/ttl', None), INVALID),
        ('value_string', _replace('/ttl', '60'), INVALID),
        ('value_object', _replace('/expires_at', {}), INVALID),
        ('value_too_long', _replace('/ttl', 86401), INVALID),
        ('value_past',
         _replace('/expires_at', '2001-01-01T00:00:00Z'), INVALID),
    )]

    patch: Any
    expected: tuple[int, str]

    def test_refused_and_nothing_changed(self) -> None:
        """The end of the reservation is the same as before."""
        served = self.useFixture(world.OpenWorld())
        served.ironic.add(uuid=NODE)
        made = world.request(served, 'POST', PATH, {
            'instance_uuid': INSTANCE, 'node_uuid': [NODE]})
        path = f"{PATH}/{made.json['reservation']['uuid']}"
        answer = world.request(served, 'PATCH', path, self.patch)
        self.assertEqual(self.expected, (answer.status, answer.code),
                         answer.body)
        self.assertEqual(made.json, world.request(served, 'GET', path).json)


class TestElsewhere(testscenarios.WithScenarios, testtools.TestCase):
    """Refused paths, queries, methods and headers."""

    scenarios = [(name, {'request': request, 'expected': expected,
                         'environ': environ})
                 for name, request, expected, environ in (
        ('body_on_get', ('GET', PATH), MALFORMED, {'raw': b'{}'}),
        ('bad_body_on_get', ('GET', PATH), MALFORMED, {'raw': b'{'}),
        ('body_on_delete', ('DELETE', f'{PATH}/{INSTANCE}'), MALFORMED,
         {'raw': b'{}'}),
        ('bad_body_on_no_path', ('POST', '/v1/nodes'),
         (404, 'request.not_found'), {'raw': b'{'}),
        ('bad_body_on_no_method', ('PUT', PATH),
         (405, 'request.method_not_allowed'), {'raw': b'{'}),
        ('path_not_text', ('GET', '/v1/%ff'), MALFORMED, {}),
        ('path_with_zero_byte', ('GET', f'{PATH}/%00'),
         (404, 'reservation.not_found'), {}),
        ('path_with_dots', ('GET', '/v1/../v1/reservations'),
         (404, 'request.not_found'), {}),
        ('path_with_suffix', ('GET', f'{PATH}.json'),
         (404, 'request.not_found'), {}),
        ('path_in_other_case', ('GET', '/v1/Reservations'),
         (404, 'request.not_found'), {}),
        ('handler_by_name', ('GET', f'{PATH}/post'),
         (404, 'reservation.not_found'), {}),
        ('handler_of_pecan', ('GET', '/_route'),
         (404, 'request.not_found'), {}),
        ('query_not_text', ('GET', f'{PATH}?node=%ff'), MALFORMED, {}),
        ('query_of_1000', ('GET', f'{PATH}?' + '&'.join(
            f'a{n}=1' for n in range(1000))), MALFORMED, {}),
        ('query_on_post', ('POST', f'{PATH}?uuid={INSTANCE}'), UNKNOWN,
         {'raw': GOOD}),
        ('query_on_delete', ('DELETE', f'{PATH}/{INSTANCE}?force=1'),
         UNKNOWN, {}),
        ('limit_in_other_digits', ('GET', f'{PATH}?limit=%D9%A1'), INVALID,
         {}),
        ('project_with_zero_byte', ('GET', f'{PATH}?project=%00'), INVALID,
         {}),
        ('fields_on_list_of_blanks', ('GET', f'{PATH}?fields=,,'), INVALID,
         {}),
        ('version_not_text', ('GET', PATH),
         (406, 'request.version_not_acceptable'),
         {'version': 'baremetal-reservation \xff'}),
        ('version_long', ('GET', PATH),
         (406, 'request.version_not_acceptable'),
         {'version': 'baremetal-reservation 1.' + '9' * 9000}),
        ('version_in_other_digits', ('GET', PATH),
         (406, 'request.version_not_acceptable'),
         {'version': 'baremetal-reservation 1.\xb2'}),
    )]

    request: tuple[str, str]
    expected: tuple[int, str]
    environ: dict[str, Any]

    def test_refused(self) -> None:
        """Each refusal has its code."""
        served = self.useFixture(world.OpenWorld())
        answer = world.request(served, *self.request, **self.environ)
        self.assertEqual(self.expected, (answer.status, answer.code),
                         answer.body)
        _check_shape(self, answer)


class TestSpellings(testtools.TestCase):
    """Accepted values in several spellings."""

    def setUp(self) -> None:
        super().setUp()
        self.world = self.useFixture(world.OpenWorld())
        self.world.ironic.add(uuid=NODE)

    def _post(self, **what: Any) -> world.Answer:
        return world.request(self.world, 'POST', PATH, {
            'instance_uuid': INSTANCE, 'node_uuid': [NODE], **what})

    def test_uuids_are_answered_canonical(self) -> None:
        """Upper case without hyphens becomes lower case with hyphens."""
        made = self._post(instance_uuid=INSTANCE.upper().replace('-', ''),
                          node_uuid=[NODE.upper()]).json['reservation']
        self.assertEqual((INSTANCE, NODE),
                         (made['instance_uuid'], made['node_uuid']))
        found = world.request(
            self.world, 'GET',
            f"{PATH}/{made['uuid'].upper().replace('-', '')}")
        self.assertEqual(made, found.json['reservation'])

    def test_another_zone_is_answered_in_utc(self) -> None:
        """The answer has the same instant in UTC, to the microsecond."""
        end = (datetime.datetime.now(datetime.UTC)
               + datetime.timedelta(seconds=500)).replace(microsecond=120000)
        east = end.astimezone(datetime.timezone(datetime.timedelta(hours=9)))
        made = self._post(expires_at=east.isoformat())
        self.assertEqual(end.isoformat(),
                         made.json['reservation']['expires_at'])

    def test_whole_seconds_have_no_fraction(self) -> None:
        """The format is that of Ironic."""
        end = (datetime.datetime.now(datetime.UTC)
               + datetime.timedelta(seconds=500)).replace(microsecond=0)
        made = self._post(expires_at=end.strftime('%Y-%m-%dT%H:%M:%Sz'))
        self.assertEqual(end.strftime('%Y-%m-%dT%H:%M:%S+00:00'),
                         made.json['reservation']['expires_at'])

    def test_shortest_and_longest_times_are_taken(self) -> None:
        """The limits themselves are allowed."""
        self.assertEqual(201, self._post(ttl=10).status)
        uuid_ = self._post().json['reservation']['uuid']
        renewed = world.request(
            self.world, 'PATCH', f'{PATH}/{uuid_}',
            [{'op': 'replace', 'path': '/ttl', 'value': 86400}],
            environ={'CONTENT_TYPE': 'application/json-patch+json'})
        self.assertEqual(200, renewed.status)

    def test_limit_beyond_all_bounds_is_the_greatest(self) -> None:
        """A limit above the operator's becomes the operator's."""
        answer = world.request(self.world, 'GET',
                               f'{PATH}?limit=' + '9' * 40)
        self.assertEqual(200, answer.status)

    def test_charset_utf_8_is_taken(self) -> None:
        """The name may have any case, and quotes."""
        answer = world.request(
            self.world, 'POST', PATH, raw=GOOD,
            environ={'CONTENT_TYPE': 'Application/JSON; charset="UTF-8"'})
        self.assertEqual(201, answer.status)


def _check_shape(case: testtools.TestCase, answer: world.Answer) -> None:
    """Check that an error has only the fields of Ironic and of the API group.
    """
    fault = json.loads(answer.json['error_message'])
    case.assertEqual({'faultcode', 'faultstring', 'debuginfo'}, set(fault))
    case.assertEqual('Client', fault['faultcode'])
    case.assertIsNone(fault['debuginfo'])
    case.assertEqual(fault['faultstring'], answer.detail)
    case.assertEqual(answer.headers['x-openstack-request-id'],
                     answer.json['errors'][0]['request_id'])
    case.assertNotIn(b'Traceback', answer.body)
    case.assertLess(len(answer.body), 4000)
