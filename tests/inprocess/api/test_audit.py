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

"""Each change and each refusal is recorded with its author."""

import datetime
import functools
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

from ironic_reservations.engine import audit_trail
from ironic_reservations.engine import sweep
from ironic_reservations.features.audit import audit
from tests.inprocess.api import asking
from tests.inprocess.api import world

_MEMBER = {**asking.MEMBER, 'x_user_id': 'ada', 'x_user_name': 'Ada'}
_CHANGES = {'post': 'create', 'put': 'update', 'patch': 'update',
            'delete': 'delete'}


class TestAudit(asking.AskingCase):
    """An application whose audit is read from the log."""

    member = _MEMBER

    def setUp(self) -> None:
        super().setUp()
        self.node = self.served.ironic.add(owner='red').uuid
        self.logged = self.useFixture(fixtures.FakeLogger(
            'ironic_reservations.audit', level=logging.INFO,
            format='%(message)s'))

    def _events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.logged.output.splitlines()]

    def _told(self, *keys: str) -> list[tuple[Any, ...]]:
        """Return values of the events by keys such as ``reason.reasonCode``.
        """
        return [tuple(functools.reduce(
            lambda found, key: found.get(key), key.split('.'), each)
            for key in keys) for each in self._events()]

    def _check_targets(self, kind: str) -> None:
        for each in self._events():
            self.assertTrue(each['target']['typeURI'].endswith(f'/{kind}'))

    def _reserve(self, status: int = 201, **who: str) -> Any:
        return self.ask('POST', '/v1/reservations', status, {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [self.node],
            'ttl': 60}, who or None)

    def test_life_of_a_reservation(self) -> None:
        """Each step names its author, and no step names the proof."""
        proof = self._reserve()['reservation']['uuid']
        self._reserve(409)
        path = f'/v1/reservations/{proof}'
        self.ask('PATCH', path, 200, [
            {'op': 'replace', 'path': '/ttl', 'value': 90}])
        self.ask('GET', path)
        self.ask('DELETE', path, 404, who={
            'x_roles': 'admin,member,reader', 'x_project_id': 'blue',
            'x_user_id': 'mallory'})
        self.ask('DELETE', path, 204)
        self.assertEqual(
            [('create', 'success', 'Ada', '201'),
             ('create', 'failure', 'Ada', '409'),
             ('update', 'success', 'Ada', '200'),
             ('delete', 'failure', 'mallory', '404'),
             ('delete', 'success', 'Ada', '204')],
            self._told('action', 'outcome', 'initiator.name',
                       'reason.reasonCode'))
        self.assertEqual(
            'reservation.no_node_available',
            self._events()[1]['reason']['policyType'])
        self.assertEqual(
            {(audit_trail.digest(proof),), (audit.identifier('unknown'),)},
            {*self._told('target.id')})
        for secret in (proof, proof[:8], proof.replace('-', '')):
            self.assertNotIn(secret, self.logged.output)
        self.assertEqual(
            ('http://schemas.dmtf.org/cloud/audit/1.0/event', 'activity',
             'api', 'red', '127.0.0.1'),
            self._told('typeURI', 'eventType', 'observer.name',
                       'initiator.project_id', 'initiator.host.address')[0])

    def test_what_ends_by_itself(self) -> None:
        """The service is the author of the end, with the reason."""
        proof = self._reserve()['reservation']['uuid']
        self.served.clock.ahead += datetime.timedelta(seconds=61)
        sweep.sweep(self.served.engine)
        self.assertEqual(
            ('delete', 'success', 'service', 'ironic-reservations',
             audit_trail.digest(proof), 'expired'),
            self._told('action', 'outcome', 'observer.name', 'initiator.name',
                       'target.id', 'reason.reasonCode')[-1])

    def test_identifiers_are_valid_whoever_did_it_to_what(self) -> None:
        """CADF requires uuids; pycadf warned of other identifiers."""
        user = uuid.uuid4().hex
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            # Users of Keystone, of LDAP behind it, and of a file.
            for who in (user, user * 2, 'ada', ''):
                self._reserve(409 if self._events() else 201, x_roles='member',
                              x_project_id='red', x_user_id=who)
            for host in ('17', 'rack-7'):
                self.ask('DELETE', f'/v1/os-hosts/{host}', 403)
            self.served.engine.audit.record(
                audit_trail.Way.GUARD, 'deny', 'node', 'rack-7')
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
        """pycadf checks each value, which would delay requests."""
        self._reserve()
        self._reserve(409)
        record = self.served.engine.audit.record
        for way in audit_trail.Way:
            record(way, 'update', 'lease', str(uuid.uuid4()))
        for action in ('create', 'update', 'delete', 'allow', 'deny'):
            record(audit_trail.Way.GUARD, action, 'node', 'rack-7', status=403,
                   code='guard.reserved', address='127.0.0.1', name='PUT')
        record(audit_trail.Way.SERVICE, 'delete', 'reservation',
               audit_trail.digest('proof'), code='expired')
        events = self._events()
        self.assertEqual(11, len(events))
        for each in events:
            self.assertEqual(_by_pycadf(each), each)

    def test_token_of_a_calendar(self) -> None:
        """The event names the user of the token, not the token."""
        made = self.ask('POST', '/v1/calendar/token', 201)
        self.ask('DELETE', '/v1/calendar/token', 204)
        self.assertEqual([('create', '201'), ('delete', '204')],
                         self._told('action', 'reason.reasonCode'))
        self._check_targets('calendar_token')
        self.assertNotIn(made['calendar_token']['token'], self.logged.output)

    def test_maintenance_window(self) -> None:
        """A window takes nodes from leases, so its events name the author."""
        self.served.look_outside()
        wanted = {'name': 'firmware', 'nodes': [self.node],
                  'ends_at': '2050-01-01T00:00:00+00:00'}
        self.ask('POST', '/v1/maintenances?dry_run=true', 200, wanted,
                 asking.OPERATOR)
        self.ask('POST', '/v1/maintenances', 403, wanted)
        window = self.ask('POST', '/v1/maintenances', 201, wanted,
                          asking.OPERATOR)['maintenance']['uuid']
        self.ask('DELETE', f'/v1/maintenances/{window}', 204,
                 who=asking.OPERATOR)
        self.assertEqual(
            [('create', 'failure', '403', audit.identifier('unknown')),
             ('create', 'success', '201', window),
             ('delete', 'success', '204', window)],
            self._told('action', 'outcome', 'reason.reasonCode', 'target.id'))
        self._check_targets('maintenance')

    def test_property_of_hosts(self) -> None:
        """The property is the target; no host has its name."""
        self.ask('PATCH', '/v1/os-hosts/properties/rack', 404,
                 {'private': True}, asking.OPERATOR)
        self.assertEqual([('rack',)], self._told('target.name'))
        self._check_targets('host_property')

    def test_whatever_changes_something_is_recorded(self) -> None:
        """Each operation of the description that writes is recorded."""
        described = self.ask('GET', '/openapi.json')
        walked = 0
        for path, operations in described['paths'].items():
            for method in operations.keys() & _CHANGES.keys():
                before = len(self._events())
                world.request(
                    self.served, method.upper(),
                    re.sub('{[^}]+}', str(uuid.uuid4()), path),
                    None if method == 'delete' else {}, **asking.OPERATOR)
                self.assertEqual(
                    [_CHANGES[method]],
                    [each['action'] for each in self._events()[before:]],
                    f'{method} {path}')
                walked += 1
        self.assertGreaterEqual(walked, 14)

    def test_dry_run_that_is_false_is_recorded(self) -> None:
        """A dry run is not recorded, in any spelling; a false one is."""
        self.open_host('host')
        before = len(self._events())
        for query, status, recorded in (
                ('dry_run=true', 200, 0), ('dry%5Frun=TRUE', 200, 0),
                ('dry_run=maybe', 400, 1), ('x=dry_run', 400, 1),
                ('dry_run=false', 201, 1)):
            self.book('01 00', '02 00', status=status, query=f'?{query}')
            events = self._events()[before:]
            self.assertEqual(recorded, len(events), query)
            before += recorded
        self.assertEqual(('create', 'success', '201'), (
            events[0]['action'], events[0]['outcome'],
            events[0]['reason']['reasonCode']))

    def test_nobody_fills_the_log_without_credentials(self) -> None:
        """A 401 is not recorded."""
        self._reserve(401, x_user_id='x')
        self.assertEqual([], self._events())

    def test_switched_off(self) -> None:
        """No event is written."""
        self.served = self.useFixture(world.World(audit__log=False))
        self.node = self.served.ironic.add(owner='red').uuid
        self._reserve()
        self.assertEqual([], self._events())


def _by_pycadf(event: dict[str, Any]) -> dict[str, Any]:
    """Return the event of pycadf for the values of another event."""
    initiator = dict(event['initiator'])
    # Keys that CADF does not define, as in other services.
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
