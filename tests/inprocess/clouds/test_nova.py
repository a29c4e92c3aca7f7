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

from __future__ import annotations

import dataclasses
from unittest import mock

import testtools

from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.clouds import nova
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
