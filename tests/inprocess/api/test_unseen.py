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

"""Invisible control characters are kept out of names, texts and logs."""

import logging
import pathlib
import uuid

import fixtures
import testtools

from ironic_reservations import errors
from ironic_reservations.guard import refusals
from tests.inprocess.api import asking
from tests.inprocess.api import world

#: Escape, the eight-bit control sequence introducer, the mark for right-to-
#: left text, delete, and a zero-width space.
_UNSEEN = ('\x1b[2J', '\x9b2J', '\u202e', '\x7f', '\u200b')
_LEASE = asking.lease('01 10', '02 10')
_ONE, = _LEASE['reservations']


class TestUnseenCharacters(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.world = self.useFixture(world.OpenWorld())
        self.node = self.world.ironic.add(resource_class='gold')

    def test_names_and_properties_are_refused_with_them(self) -> None:
        """They are refused raw; the escapes of JSON are harmless."""
        for unseen in _UNSEEN:
            for name in ('hypervisor_properties', 'resource_properties'):
                text = f'["==", "$rack", "a{unseen}"]'
                self._assert_refused('/v1/leases', {
                    **_LEASE, 'reservations': [{**_ONE, name: text}]})
            self._assert_refused('/v1/leases',
                                 {**_LEASE, 'name': f'a{unseen}'})
            self._assert_refused('/v1/os-hosts', {
                'name': self.node.uuid, 'rack': f'a{unseen}'})
            self._assert_refused('/v1/os-hosts', {
                'name': self.node.uuid, f'rack{unseen}': 'a'})
        answer = world.request(self.world, 'POST', '/v1/leases', {
            **_LEASE, 'reservations': [{**_ONE, 'resource_properties': (
                '[\n\t"==", "$rack", "\\u202e"]')}]}, version=None)
        self.assertEqual('lease.refused', answer.code)

    def _assert_refused(self, path: str, document: object) -> None:
        answer = world.request(self.world, 'POST', path, document,
                               version=None)
        self.assertEqual((400, 'request.invalid_value'),
                         (answer.status, answer.code), document)
        self.assertTrue(answer.body.isascii())

    def test_lines_of_the_log_are_the_service_s_own(self) -> None:
        """%0a began a line of the log, and nobody had been asked for a
        password yet."""
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        for unseen in (*_UNSEEN, '\n', '\r', '\x85', '\u2028'):
            path = f'/v1/nodes/a{unseen}root logged in'
            refusals.refuse(errors.NotCanonical('no'), {
                'REQUEST_METHOD': f'PUT{unseen}', 'PATH_INFO': path})
            world.request(self.world, f'GET{unseen}',
                          '/v1/' + path.encode().decode('latin-1'))
        self.assertTrue(log.output.isascii())
        self.assertTrue(log.output.replace('\n', '').isprintable())
        self.assertEqual([], [line for line in log.output.splitlines()
                              if line.startswith('root')])


class TestMarkers(testtools.TestCase):

    def test_marker_of_another_is_answered_like_one_that_never_was(
            self) -> None:
        """Otherwise an answer would confirm a guessed uuid, which is a proof.
        """
        served = self.useFixture(world.World())
        node = served.ironic.add(resource_class='gold', owner='red')
        made = world.request(served, 'POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [node.uuid]},
            **asking.MEMBER)
        self.assertEqual(201, made.status, made.body)
        theirs = made.json['reservation']['uuid']
        answers = []
        for marker in (theirs, str(uuid.uuid4())):
            answer = world.request(
                served, 'GET', f'/v1/reservations?marker={marker}',
                **asking.OTHER)
            answers.append((answer.status, answer.code,
                            answer.detail.replace(marker, 'X')))
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(404, answers[0][0])

    def test_role_that_may_only_list_all_gets_each_page(self) -> None:
        """The second page was 404: the marker needed the policy get, too."""
        policy = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                              'policy.yaml')
        policy.write_text(
            '"baremetal:reservation:list_all": "role:auditor"\n')
        served = self.useFixture(world.World(
            oslo_policy__policy_file=str(policy)))
        made = []
        for who in (asking.MEMBER, asking.OTHER):
            node = served.ironic.add(resource_class='gold',
                                     owner=who['x_project_id'])
            made.append(world.request(served, 'POST', '/v1/reservations', {
                'instance_uuid': str(uuid.uuid4()),
                'node_uuid': [node.uuid]}, **who).json['reservation']['uuid'])
        shown, path = [], '/v1/reservations?limit=1'
        while path:
            page = world.request(
                served, 'GET', path, x_roles='auditor', x_project_id='green')
            self.assertEqual(200, page.status, page.body)
            shown += [each['uuid'] for each in page.json['reservations']]
            path = page.json.get('next', '').partition('api.example')[2]
        self.assertEqual(made, shown)
