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

"""The client of Nova, against an endpoint that answers as Nova does."""

from collections.abc import Callable
import dataclasses
from typing import Any
from unittest import mock

import testtools

from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.clouds import nova
from tests import answering
from tests import small_nova
from tests import world

Outcome = nova.Outcome
FLAVOR = nova.Flavor('f1', 'reservation:f1', 2, 4096, 10, 5, 512)


class TestCase(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.there = self.useFixture(small_nova.SmallNova())
        # NOTE: over HTTP, which the other tests leave out.
        self.client = nova.Nova(self.there.over_http(), authenticated=False)

    def made(self) -> None:
        """Make a flavor."""
        self.assertTrue(self.client.create_flavor(FLAVOR).done)


class TestFlavors(TestCase):

    def test_flavor_is_made_private_and_read_back(self) -> None:
        self.assertIsNone(self.client.flavor('f1'))
        self.assertIsNone(self.client.projects_of('f1'))
        self.made()
        self.assertEqual(FLAVOR, self.client.flavor('f1'))
        self.assertEqual(frozenset(), self.client.projects_of('f1'))

    def test_what_is_no_id_leads_nowhere_else(self) -> None:
        """To the list, to the versions, or to servers."""
        self.made()
        server = self.there.boot('f1')
        for ident in ('detail', '..', '.', '', f'../servers/{server}',
                      'f1?', 'f1#', 'f1/', '%66%31', 'f1\n', 'x' * 256):
            self.assertIsNone(self.client.flavor(ident), ident)

    def test_id_with_a_space_is_one(self) -> None:
        spaced = dataclasses.replace(FLAVOR, id='f 1')
        self.assertTrue(self.client.create_flavor(spaced).done)
        self.client.add_access('f 1', 'p')
        self.assertEqual(spaced, self.client.flavor('f 1'))
        self.assertEqual({'p'}, self.client.projects_of('f 1'))

    def test_public_flavor_has_no_list_of_projects(self) -> None:
        self.there.flavor('f2', 'two')
        self.assertIsNone(self.client.projects_of('f2'))

    def test_all_pages_of_flavors_are_read(self) -> None:
        made = [nova.Flavor(f'f{number}', f'name {number}', 1, 1, 0)
                for number in range(5)]
        for flavor in made:
            self.client.create_flavor(flavor)
        self.assertEqual(made, list(self.client.flavors()))

    def test_second_one_of_that_id_is_told_from_the_first(self) -> None:
        self.made()
        self.assertIs(Outcome.EXISTS,
                      self.client.create_flavor(FLAVOR).outcome)

    def test_extra_specs_are_added_to_those_that_are_there(self) -> None:
        self.made()
        self.there.flavors['f1'].extra_specs['mine'] = '1'
        self.assertTrue(self.client.write_extra_specs(
            'f1', {'resources:VCPU': '0'}).done)
        found = self.client.flavor('f1')
        assert found is not None
        self.assertEqual({'mine': '1', 'resources:VCPU': '0'},
                         found.extra_specs)

    def test_access_is_given_once_and_taken_once(self) -> None:
        self.made()
        for change, first, again in (
                (self.client.add_access, Outcome.DONE, Outcome.EXISTS),
                (self.client.remove_access, Outcome.DONE, Outcome.GONE)):
            self.assertIs(first, change('f1', 'p').outcome)
            self.assertIs(again, change('f1', 'p').outcome)
            self.assertEqual(
                {'p'} if change == self.client.add_access else set(),
                self.client.projects_of('f1'))

    def test_flavor_is_deleted_once(self) -> None:
        self.made()
        self.assertIs(Outcome.DONE, self.client.delete_flavor('f1').outcome)
        self.assertIs(Outcome.GONE, self.client.delete_flavor('f1').outcome)
        self.assertIs(Outcome.GONE,
                      self.client.add_access('f1', 'p').outcome)

    def test_what_nova_does_not_take_is_told_with_its_reason(self) -> None:
        answer = self.client.create_flavor(nova.Flavor('x', 'x', 0, 1, 1))
        self.assertIs(Outcome.REFUSED, answer.outcome)
        self.assertIn('Invalid input', answer.said)


class TestServers(TestCase):

    def test_all_pages_are_read_and_filtered(self) -> None:
        mine = {self.there.boot('f1', f'p{number}') for number in range(5)}
        other = self.there.boot('f2', host='host-2')
        self.assertEqual(mine, {each.uuid for each
                                in self.client.servers(flavor='f1')})
        self.assertEqual([other], [each.uuid for each
                                   in self.client.servers(host='host-2')])
        self.assertEqual([], list(self.client.servers(flavor='f3')))

    def test_server_is_read_and_deleted(self) -> None:
        uuid = self.there.boot('f1')
        found = self.client.server(uuid)
        assert found is not None
        self.assertEqual((uuid, 'ACTIVE', 'project', 'host-1', False), (
            found.uuid, found.status, found.project_id, found.host,
            found.going))
        self.there.deleting = True
        self.assertTrue(self.client.delete_server(uuid).done)
        found = self.client.server(uuid)
        assert found is not None
        self.assertTrue(found.going)
        self.there.vanish()
        self.assertIsNone(self.client.server(uuid))
        self.assertIs(Outcome.GONE, self.client.delete_server(uuid).outcome)

    def test_server_that_is_kept_is_deleted_for_good(self) -> None:
        uuid = self.there.boot('f1')
        self.there.keeps = True
        self.client.delete_server(uuid)
        found = self.client.server(uuid)
        assert found is not None
        self.assertTrue(found.kept)
        self.assertTrue(self.client.force_delete_server(uuid).done)
        self.assertIsNone(self.client.server(uuid))

    def test_all_pages_of_resizes_are_read_and_one_is_confirmed(self) -> None:
        self.made()
        servers = {self.there.resize(server, 'plain'): server
                   for server in [self.there.boot('f1') for _ in range(5)]}
        self.assertEqual(servers, {
            each.uuid: each.server
            for each in self.client.migrations(status='finished')})
        self.assertEqual([], list(self.client.migrations(
            status='reverting')))
        server = min(servers.values())
        self.assertTrue(self.client.server(server).resized)
        self.assertTrue(self.client.confirm_resize(server).done)
        self.assertFalse(self.client.server(server).resized)
        self.assertIs(Outcome.AGAIN,
                      self.client.confirm_resize(server).outcome)

    def test_newest_of_the_failed_migrations_are_read(self) -> None:
        """All that Nova had were read, of years, for each unknown consumer."""
        for _ in range(9):
            self.there.migrations[world.new_uuid()] = small_nova.Migration(
                'server', 'plain', nova.FAILED)
        with mock.patch.object(nova, 'MOST_FAILED', 4):
            self.assertEqual(4, len([*self.client.failed_migrations()]))
        # The small Nova has two on a page.
        self.assertEqual(2, len(self.there.asked))

    def test_hypervisor_is_up_or_down_and_enabled_or_disabled(self) -> None:
        there = {('up', 'enabled'): (True, True),
                 ('down', 'enabled'): (False, True),
                 ('up', 'disabled'): (True, False),
                 ('down', 'disabled'): (False, False)}
        self.there.hypervisors = {
            f'host-{number}': each for number, each in enumerate(there)}
        self.assertEqual([*there.values()], [
            (each.up, each.enabled) for each in self.client.hypervisors()])
        self.assertFalse(self.client.hypervisor('host-1').up)
        self.assertIsNone(self.client.hypervisor('host-7'))

    def test_server_in_the_middle_of_something_is_tried_again(self) -> None:
        uuid = self.there.boot('f1')
        self.there.busy = {uuid}
        self.assertIs(Outcome.AGAIN,
                      self.client.delete_server(uuid).outcome)


class TestTrouble(TestCase):

    def test_read_says_what_the_operator_is_to_look_at(self) -> None:
        for status, word in ((401, 'credentials'), (403, 'credentials'),
                             (404, 'address'), (406, '2.61'),
                             (500, 'tried again'), (503, 'tried again')):
            self.there.answer = status
            for read in (lambda: self.client.flavor('f1'),
                         lambda: list(self.client.servers()),
                         lambda: self.client.server('s')):
                raised = self.assertRaises(errors.NovaUnavailable, read)
                self.assertIn(word, str(raised))
                self.assertIn('[nova]', str(raised))

    def test_write_whose_outcome_is_unknown_is_not_sent_again(self) -> None:
        for status, outcome in ((500, Outcome.UNCERTAIN),
                                (503, Outcome.UNCERTAIN),
                                (401, Outcome.REFUSED),
                                (403, Outcome.REFUSED),
                                (404, Outcome.REFUSED)):
            self.there.answer = status
            self.there.asked.clear()
            self.assertIs(outcome,
                          self.client.create_flavor(FLAVOR).outcome)
            self.assertEqual(['POST /v2.1/flavors'], self.there.asked)

    def test_nobody_there_is_unknown_or_unavailable(self) -> None:
        conf = project_conf.load(config_files=[])
        conf.set_override('endpoint_override', 'http://127.0.0.1:1', 'nova')
        client = nova.Nova.over_http(conf)
        self.assertRaises(errors.NovaUnavailable, client.flavor, 'f1')
        self.assertIs(Outcome.UNCERTAIN,
                      client.create_flavor(FLAVOR).outcome)

    def test_configured_endpoint_is_asked(self) -> None:
        conf = project_conf.load(config_files=[])
        conf.set_override('endpoint_override', self.there.endpoint, 'nova')
        self.there.boot('f1')
        self.assertEqual(1, len(list(nova.Nova.over_http(conf).servers())))

    def test_it_is_off_unless_both_are_switched_on(self) -> None:
        for placement, enabled in ((False, False), (True, False),
                                   (False, True), (True, True)):
            conf = project_conf.load(config_files=[])
            conf.set_override('connection', 'sqlite://', 'database')
            conf.set_override('enabled', placement, 'placement')
            conf.set_override('enabled', enabled, 'nova')
            engine = build.engine(conf)
            self.assertEqual(placement and enabled, engine.nova is not None)


_FLAVOR = {'id': 'f', 'name': 'f', 'vcpus': 1, 'ram': 1, 'disk': 0,
           'OS-FLV-EXT-DATA:ephemeral': 0, 'swap': '',
           'os-flavor-access:is_public': True, 'extra_specs': {'a': 'b'}}
_SERVER = {'id': 's', 'status': 'ACTIVE', 'tenant_id': 'p',
           'scheduler_hints': {'reservation': 'r'},
           'flavor': {'vcpus': 1, 'extra_specs': {'a': 'b'}}}
_HYPERVISOR = {'id': 'h', 'state': 'up', 'status': 'enabled'}
_MIGRATION = {'uuid': 'm', 'instance_uuid': 's', 'source_node': None,
              'dest_node': 'd'}
_LINKS = [{'rel': 'next', 'href': 'unused'}]
_Read = Callable[[nova.Nova], object]
#: Each read: how, a good document, and paths of keys that it needs.
_READS: dict[str, tuple[_Read, dict[str, Any], tuple[str, ...]]] = {
    'flavor': (lambda client: client.flavor('f'), {'flavor': _FLAVOR},
               ('flavor', 'flavor/id', 'flavor/vcpus', 'flavor/ram',
                'flavor/os-flavor-access:is_public', 'flavor/extra_specs',
                'flavor/extra_specs/a')),
    'flavors': (lambda client: [*client.flavors()], {'flavors': [_FLAVOR]},
                ('flavors', 'flavors/name', 'flavors/disk')),
    'projects_of': (lambda client: client.projects_of('f'),
                    {'flavor_access': [{'tenant_id': 'p'}]},
                    ('flavor_access', 'flavor_access/tenant_id')),
    'servers': (lambda client: [*client.servers()], {'servers': [_SERVER]},
                ('servers', 'servers/id', 'servers/flavor')),
    'server': (lambda client: client.server('s'), {'server': _SERVER},
               ('server', 'server/id', 'server/status', 'server/flavor',
                'server/flavor/vcpus', 'server/flavor/extra_specs/a')),
    'hint': (lambda client: client.hint('s', 'reservation'),
             {'server': _SERVER}, ('server', 'server/tenant_id')),
    'hypervisors': (lambda client: [*client.hypervisors()],
                    {'hypervisors': [_HYPERVISOR]},
                    ('hypervisors', 'hypervisors/state')),
    'hypervisor': (lambda client: client.hypervisor('h'),
                   {'hypervisor': _HYPERVISOR},
                   ('hypervisor', 'hypervisor/id', 'hypervisor/status')),
    'migrations': (lambda client: [*client.migrations()],
                   {'migrations': [_MIGRATION]},
                   ('migrations', 'migrations/uuid',
                    'migrations/instance_uuid')),
    'failed_migrations': (lambda client: [*client.failed_migrations()],
                          {'migrations': [_MIGRATION]}, ('migrations',)),
}
_WRITES: dict[str, Callable[[nova.Nova], nova.Answer]] = {
    'create_flavor': lambda client: client.create_flavor(FLAVOR),
    'write_extra_specs': lambda client: client.write_extra_specs(
        'f', {'a': 'b'}),
    'delete_flavor': lambda client: client.delete_flavor('f'),
    'add_access': lambda client: client.add_access('f', 'p'),
    'remove_access': lambda client: client.remove_access('f', 'p'),
    'confirm_resize': lambda client: client.confirm_resize('s'),
    'delete_server': lambda client: client.delete_server('s'),
    'force_delete_server': lambda client: client.force_delete_server('s'),
}
#: What is not Nova's 404, 409 or 406.
_NO_ERRORS = (*answering.NO_DOCUMENTS, {'message': 'no Route matched'},
              *({name: cause} for name in (
                  'itemNotFound', 'conflictingRequest', 'computeFault')
                for cause in (None, 5, 'x', [], {}, {'code': 418},
                              {'code': '404', 'message': 'x'},
                              {'code': 404}, {'message': 'x'},
                              {'code': 404, 'message': None})))


class TestMalformedAnswers(testtools.TestCase):
    """They were KeyErrors, or servers and flavors that are not there."""

    def setUp(self) -> None:
        super().setUp()
        self.there = answering.Answering()
        self.client = nova.Nova(self.there, authenticated=False)

    def unavailable(self, read: _Read) -> str:
        """Return what is said of an answer, besides whose it is."""
        raised = self.assertRaises(errors.NovaUnavailable, read, self.client)
        self.assertIn('Nova', str(raised))
        self.assertIn('[nova]', str(raised))
        return str(raised)

    def test_each_read_of_what_nova_does_not_answer(self) -> None:
        for name, (read, good, _) in _READS.items():
            for self.there.document in answering.NO_DOCUMENTS:
                said = self.unavailable(read)
                self.assertIn('200', said, name)
                self.assertRegex(said, 'its answer (is|has no)')
            self.there.document = good
            self.assertTrue(read(self.client), name)

    def test_each_key_that_a_read_needs(self) -> None:
        for read, good, needed in _READS.values():
            for path in needed:
                key = path.rpartition('/')[2]
                for self.there.document in answering.spoiled(
                        good, path, needed=key != 'a'):
                    self.assertIn(f'"{key}"', self.unavailable(read))

    def test_hints_are_an_object_or_null(self) -> None:
        read = _READS['hint'][0]
        for document in answering.spoiled({'server': _SERVER},
                                          'server/scheduler_hints'):
            self.there.document = document
            if document['server'].get('scheduler_hints', '') is None:
                self.assertIsNone(read(self.client))
            else:
                self.assertIn('"scheduler_hints"', self.unavailable(read))

    def test_error_of_a_proxy_is_no_missing_thing(self) -> None:
        for self.there.status in (404, 406, 400, 409):
            for self.there.document in _NO_ERRORS:
                for read, _, _ in _READS.values():
                    self.assertIn(str(self.there.status)
                                  if read not in _LISTS else '',
                                  self.unavailable(read))

    def test_error_of_nova_is_a_missing_thing(self) -> None:
        self.there.status, self.there.document = 404, {
            'itemNotFound': {'code': 404, 'message': 'It is not there.'}}
        for read, _, _ in _READS.values():
            if read in _LISTS:
                self.unavailable(read)
            else:
                self.assertIsNone(read(self.client))

    def test_write_that_a_proxy_answers_is_not_done(self) -> None:
        for status, outcome in ((200, Outcome.UNCERTAIN),
                                (409, Outcome.UNCERTAIN),
                                (404, Outcome.REFUSED),
                                (400, Outcome.REFUSED)):
            self.there.status = status
            for name, write in _WRITES.items():
                for self.there.document in _NO_ERRORS:
                    answer = write(self.client)
                    self.assertIs(outcome, answer.outcome, name)
                    self.assertIn(f'Nova answered {status}', answer.said)

    def test_page_that_repeats_is_no_list(self) -> None:
        """It was read again and again, for ever."""
        for name in ('flavors', 'servers', 'hypervisors', 'migrations'):
            read, good, _ = _READS[name]
            self.there.document = {**good, f'{name}_links': _LINKS}
            self.there.asked = 0
            self.assertIn('twice', self.unavailable(read))
            self.assertEqual(2, self.there.asked)
            for links in (5, 'x', {'x': 1}, True):
                self.there.document = {**good, f'{name}_links': links}
                self.assertIn(f'{name}_links', self.unavailable(read))

    def test_answer_that_is_nested_too_deeply_is_none(self) -> None:
        with mock.patch('requests.Response.json', side_effect=RecursionError):
            for read, _, _ in _READS.values():
                self.unavailable(read)

    def test_token_that_is_malformed_is_no_error_of_ours(self) -> None:
        """keystoneauth raises what it meets in it."""
        for exc in (KeyError('expires_at'), TypeError(), AttributeError()):
            with mock.patch.object(self.there, 'request', side_effect=exc):
                for read, _, _ in _READS.values():
                    self.unavailable(read)
                for write in _WRITES.values():
                    self.assertIs(Outcome.UNCERTAIN,
                                  write(self.client).outcome)


_LISTS = tuple(_READS[name][0] for name in (
    'flavors', 'servers', 'hypervisors', 'migrations', 'failed_migrations'))
