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

"""Who reserved, changed, ended and was refused is written down."""

from __future__ import annotations

import json
import logging
import re
from typing import Any
import uuid
import warnings

import fixtures
from pycadf import event as cadf_event
from pycadf import host as cadf_host
from pycadf import identifier
from pycadf import reason as cadf_reason
from pycadf import resource
import testtools

from ironic_reservations.engine import audit
from ironic_reservations.engine import sweep
from tests.inprocess.api import world

_MEMBER = {'x_roles': 'member,reader', 'x_project_id': 'red',
           'x_user_id': 'ada', 'x_user_name': 'Ada'}
_ADMIN = {'x_roles': 'admin,member,reader', 'x_project_id': 'operators',
          'openstack_system_scope': 'all'}
_CHANGES = {'post': 'create', 'put': 'update', 'patch': 'update',
            'delete': 'delete'}


class TestAudit(testtools.TestCase):
    """An application whose audit is read from the log."""

    def setUp(self) -> None:
        super().setUp()
        self.logged = self.useFixture(fixtures.FakeLogger(
            'ironic_reservations.audit', level=logging.INFO,
            format='%(message)s'))

    def _serve(self, **options: Any) -> world.World:
        served = self.useFixture(world.World(**options))
        self.node = served.ironic.add(owner='red').uuid
        return served

    def _events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in
                self.logged.output.splitlines()]

    def _reserve(self, served: world.World,
                 **who: str) -> world.Answer:
        return world.request(served, 'POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [self.node],
            'ttl': 60}, **(who or _MEMBER))

    def test_life_of_a_reservation(self) -> None:
        """Each step names who took it; the proof is nowhere."""
        served = self._serve()
        proof = self._reserve(served).json['reservation']['uuid']
        self.assertEqual(409, self._reserve(served).status)
        path = f'/v1/reservations/{proof}'
        world.request(served, 'PATCH', path, [
            {'op': 'replace', 'path': '/ttl', 'value': 90}], **_MEMBER)
        world.request(served, 'GET', path, **_MEMBER)
        self.assertEqual(404, world.request(
            served, 'DELETE', path, x_roles='admin,member,reader',
            x_project_id='blue', x_user_id='mallory').status)
        world.request(served, 'DELETE', path, **_MEMBER)
        self.assertEqual(
            [('create', 'success', 'Ada', '201'),
             ('create', 'failure', 'Ada', '409'),
             ('update', 'success', 'Ada', '200'),
             ('delete', 'failure', 'mallory', '404'),
             ('delete', 'success', 'Ada', '204')],
            [(each['action'], each['outcome'], each['initiator']['name'],
              each['reason']['reasonCode']) for each in self._events()])
        self.assertEqual(
            'reservation.no_node_available',
            self._events()[1]['reason']['policyType'])
        named = {each['target']['id'] for each in self._events()}
        self.assertEqual({audit.digest(proof),
                          audit.identifier('unknown')}, named)
        for secret in (proof, proof[:8], proof.replace('-', '')):
            self.assertNotIn(secret, self.logged.output)
        first = self._events()[0]
        self.assertEqual(
            ('http://schemas.dmtf.org/cloud/audit/1.0/event', 'activity',
             'api', 'red', '127.0.0.1'),
            (first['typeURI'], first['eventType'], first['observer']['name'],
             first['initiator']['project_id'],
             first['initiator']['host']['address']))

    def test_what_ends_by_itself(self) -> None:
        """The service is told to have ended it, and why."""
        served = self._serve()
        proof = self._reserve(served).json['reservation']['uuid']
        served.clock.ahead += served.clock.ahead.resolution * 61_000_000
        sweep.sweep(served.engine)
        last = self._events()[-1]
        self.assertEqual(
            ('delete', 'success', 'service', 'ironic-reservations',
             audit.digest(proof), 'expired'),
            (last['action'], last['outcome'], last['observer']['name'],
             last['initiator']['name'], last['target']['id'],
             last['reason']['reasonCode']))

    def test_identifiers_are_valid_whoever_did_it_to_what(self) -> None:
        """CADF wants uuids; pycadf warned of each other one."""
        served = self._serve()
        user = uuid.uuid4().hex
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            # NOTE: of keystone, of LDAP behind it, and of a file.
            for who in (user, user * 2, 'ada', ''):
                self._reserve(served, x_roles='member', x_project_id='red',
                              x_user_id=who)
            world.request(served, 'DELETE', '/v1/os-hosts/17', **_MEMBER)
            world.request(served, 'DELETE', '/v1/os-hosts/rack-7', **_MEMBER)
            served.engine.announcer.audit.record(
                audit.Way.GUARD, 'deny', 'node', 'rack-7')
        events = self._events()
        self.assertEqual(7, len(events))
        self.assertEqual(
            [(user, None), (user * 2, None),
             (audit.identifier('ada'), 'ada'),
             (audit.identifier('unknown'), 'unknown')],
            [(each['initiator']['id'], each['initiator'].get('name'))
             for each in events[:4]])
        self.assertEqual(['17', 'rack-7', 'rack-7'],
                         [each['target']['name'] for each in events[4:]])
        self.assertEqual(events[5]['target']['id'], events[6]['target']['id'])
        for each in events:
            for part in ('initiator', 'target', 'observer'):
                self.assertTrue(identifier.is_valid(each[part]['id']))

    def test_events_are_what_pycadf_makes_of_the_same(self) -> None:
        """It checks each value; here nothing does while a request waits."""
        served = self._serve()
        self._reserve(served)
        self._reserve(served)
        record = served.engine.announcer.audit.record
        for way in audit.Way:
            record(way, 'update', 'lease', str(uuid.uuid4()))
        for action in ('create', 'update', 'delete', 'allow', 'deny'):
            record(audit.Way.GUARD, action, 'node', 'rack-7', status=403,
                   code='guard.reserved', address='127.0.0.1', name='PUT')
        record(audit.Way.SERVICE, 'delete', 'reservation',
               audit.digest('proof'), code='expired')
        events = self._events()
        self.assertEqual(11, len(events))
        for each in events:
            self.assertEqual(_by_pycadf(each), each)

    def test_token_of_a_calendar(self) -> None:
        """Is told by whose it is, and never itself."""
        served = self._serve()
        made = world.request(served, 'POST', '/v1/calendar/token', **_MEMBER)
        self.assertEqual(201, made.status, made.body)
        world.request(served, 'DELETE', '/v1/calendar/token', **_MEMBER)
        self.assertEqual(
            [('create', '201'), ('delete', '204')],
            [(each['action'], each['reason']['reasonCode'])
             for each in self._events()])
        for each in self._events():
            self.assertTrue(
                each['target']['typeURI'].endswith('/calendar_token'))
        self.assertNotIn(made.json['calendar_token']['token'],
                         self.logged.output)

    def test_maintenance_window(self) -> None:
        """It takes nodes from others: who booked it, and who ended it."""
        served = self._serve()
        served.look_outside()
        wanted = {'name': 'firmware', 'nodes': [self.node],
                  'ends_at': '2050-01-01T00:00:00+00:00'}
        tried = world.request(served, 'POST', '/v1/maintenances?dry_run=true',
                              wanted, **_ADMIN)
        self.assertEqual(200, tried.status, tried.body)
        refused = world.request(served, 'POST', '/v1/maintenances', wanted,
                                **_MEMBER)
        self.assertEqual(403, refused.status, refused.body)
        made = world.request(served, 'POST', '/v1/maintenances', wanted,
                             **_ADMIN)
        self.assertEqual(201, made.status, made.body)
        window = made.json['maintenance']['uuid']
        self.assertEqual(204, world.request(
            served, 'DELETE', f'/v1/maintenances/{window}', **_ADMIN).status)
        self.assertEqual(
            [('create', 'failure', '403', audit.identifier('unknown')),
             ('create', 'success', '201', window),
             ('delete', 'success', '204', window)],
            [(each['action'], each['outcome'], each['reason']['reasonCode'],
              each['target']['id']) for each in self._events()])
        for each in self._events():
            self.assertTrue(
                each['target']['typeURI'].endswith('/maintenance'))

    def test_property_of_hosts(self) -> None:
        """It is the target, and no host is called so."""
        served = self._serve()
        world.request(served, 'PATCH', '/v1/os-hosts/properties/rack',
                      {'private': True}, **_ADMIN)
        (event,) = self._events()
        self.assertEqual('rack', event['target']['name'])
        self.assertTrue(
            event['target']['typeURI'].endswith('/host_property'))

    def test_whatever_changes_something_is_recorded(self) -> None:
        """All that the description has, so that none is forgotten."""
        served = self._serve()
        described = world.request(served, 'GET', '/openapi.json').json
        walked = 0
        for path, operations in described['paths'].items():
            for method in operations.keys() & _CHANGES.keys():
                before = len(self._events())
                world.request(
                    served, method.upper(),
                    re.sub('{[^}]+}', str(uuid.uuid4()), path),
                    None if method == 'delete' else {}, **_ADMIN)
                self.assertEqual(
                    [_CHANGES[method]],
                    [each['action'] for each in self._events()[before:]],
                    f'{method} {path}')
                walked += 1
        self.assertGreaterEqual(walked, 14)

    def test_dry_run_that_is_false_is_recorded(self) -> None:
        """It changes something; one that is true does not, however spelt."""
        served = self._serve()
        host = world.request(
            served, 'POST', '/v1/os-hosts', {'name': self.node}, **_ADMIN)
        self.assertEqual(201, host.status, host.body)
        before = len(self._events())
        for query, status, recorded in (
                ('dry_run=true', 200, 0), ('dry%5Frun=TRUE', 200, 0),
                ('dry_run=maybe', 400, 1), ('x=dry_run', 400, 1),
                ('dry_run=false', 201, 1)):
            answer = world.request(served, 'POST', f'/v1/leases?{query}', {
                'name': query, 'start_date': '2050-01-01 00:00',
                'end_date': '2050-01-02 00:00', 'reservations': [
                    {'resource_type': 'physical:host', 'min': 1, 'max': 1}]},
                **_MEMBER)
            self.assertEqual(status, answer.status, answer.body)
            events = self._events()[before:]
            self.assertEqual(recorded, len(events), query)
            before += recorded
        self.assertEqual(('create', 'success', '201'), (
            events[0]['action'], events[0]['outcome'],
            events[0]['reason']['reasonCode']))

    def test_nobody_fills_the_log_without_credentials(self) -> None:
        """401 is not recorded."""
        served = self._serve()
        self.assertEqual(401, self._reserve(served, x_user_id='x').status)
        self.assertEqual([], self._events())

    def test_switched_off(self) -> None:
        """Nothing is written."""
        served = self._serve(audit__log=False)
        self.assertEqual(201, self._reserve(served).status)
        self.assertEqual([], self._events())


def _by_pycadf(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event as pycadf makes it of the values of another one."""
    initiator = dict(event['initiator'])
    # NOTE: keys beside those of CADF, as other services have them, too.
    beside = {key: initiator.pop(key) for key in (
        'project_id', 'system_scope', 'request_id', 'global_request_id')
        if key in initiator}
    host = initiator.pop('host', None)
    made = cadf_event.Event(
        **{key: event[key] for key in (
            'eventType', 'id', 'eventTime', 'action', 'outcome')},
        initiator=resource.Resource(**initiator, host=host and cadf_host.Host(
            **host)),
        target=resource.Resource(**event['target']),
        observer=resource.Resource(**event['observer']),
        reason=('reason' in event and cadf_reason.Reason(**event['reason'])
                or None), name=event.get('name'))
    document: dict[str, Any] = made.as_dict()
    document['initiator'].update(beside)
    return document
