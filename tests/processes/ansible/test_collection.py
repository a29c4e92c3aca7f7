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

"""The Ansible collection, as ansible-core runs it, against a real Ironic."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any
import uuid

import requests
import testtools
import yaml

from tests.inprocess.client import loaded
from tests.real import ironic as real_ironic

_ROOT = pathlib.Path(__file__).parents[3]
_TIMEOUT = 900
_KIND = 'gold'
_MODULES = ('host', 'lease', 'lease_info', 'maintenance', 'reservation')


class _CollectionTest(testtools.TestCase):
    """Playbooks of one play, each task of which is looked at."""

    ironic: real_ironic.RealIronic

    @classmethod
    def setUpClass(cls) -> None:
        """Start Ironic, and lay the collection where Ansible looks."""
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        there = cls.folder / 'ansible_collections' / 'ironic'
        there.mkdir(parents=True)
        (there / 'reservations').symlink_to(_ROOT / 'plugins' / 'ansible')
        cls.ironic = real_ironic.RealIronic()
        cls.ironic.setUp()
        cls.addClassCleanup(cls.ironic.cleanUp)
        cls.nodes = cls.ironic.enroll(2, prefix='gold', resource_class=_KIND)
        # NOTE: what modules import is loaded there; Ansible itself is not.
        cls.python = cls.folder / 'python'
        loaded.commands().write_client(cls.python)
        cls.environment = {
            **{name: value for name, value in os.environ.items()
               if not name.startswith(('OS_', 'ANSIBLE_'))},
            'HOME': str(cls.folder), 'NO_PROXY': '127.0.0.1',
            'ANSIBLE_COLLECTIONS_PATH': str(cls.folder),
            'ANSIBLE_LOCAL_TEMP': str(cls.folder / 'local'),
            'ANSIBLE_REMOTE_TEMP': str(cls.folder / 'remote'),
            'ANSIBLE_NOCOLOR': '1', 'ANSIBLE_LOCALHOST_WARNING': 'false',
            'ANSIBLE_INVENTORY_UNPARSED_WARNING': 'false',
            'LC_ALL': 'C.UTF-8',
            'PYTHONPATH': os.pathsep.join(
                [str(_ROOT), os.environ.get('PYTHONPATH', '')]).rstrip(
                    os.pathsep)}

    def run_command(self, name: str, *words: str) -> str:
        """Run a command of ansible-core; return what it prints."""
        done = subprocess.run(
            [str(pathlib.Path(sys.executable).parent / name), *words],
            env=self.environment, cwd=self.folder, capture_output=True,
            text=True, stdin=subprocess.DEVNULL, timeout=_TIMEOUT)
        self.assertEqual(0, done.returncode, f'{done.stdout}\n{done.stderr}')
        return done.stdout

    def play(self, *steps: tuple[str, dict[str, Any]],
             auth: dict[str, str] | None = None) -> list[dict[str, Any]]:
        """Run tasks, and compare what comes of each.

        :param steps: ``changed``, ``ok`` or ``failed``, after ``check:`` in
            check mode; and a task.
        :param auth: a user and a password, beside the endpoint.
        :returns: what came of each.
        """
        results = self.folder / f'{uuid.uuid4()}.json'
        book = self.folder / 'book.yml'
        tasks = [{**task, 'register': f'task_{place}', 'ignore_errors': True,
                  'check_mode': wanted.startswith('check:'), 'diff': True}
                 for place, (wanted, task) in enumerate(steps)]
        book.write_text(yaml.safe_dump([{
            'hosts': 'localhost', 'gather_facts': False,
            'connection': 'local',
            'vars': {'ansible_python_interpreter': str(self.python)},
            'module_defaults': {'group/ironic.reservations.reservations': {
                'auth_type': 'http_basic' if auth else 'none',
                'auth': {'endpoint': self.ironic.url, **(auth or {})}}},
            'tasks': [*tasks, {
                'name': 'What came of them', 'ansible.builtin.copy': {
                    'dest': str(results), 'content': '{{ [' + ', '.join(
                        task['register'] for task in tasks)
                    + '] | to_json }}'}}]}]))
        told = self.run_command('ansible-playbook', str(book))
        found: list[dict[str, Any]] = json.loads(results.read_text())
        self.assertEqual(
            [wanted.removeprefix('check:') for wanted, _ in steps],
            ['failed' if each.get('failed') else
             'changed' if each['changed'] else 'ok' for each in found], told)
        return found

    def task(self, module: str, **args: Any) -> dict[str, Any]:
        """Return a task."""
        return {'name': module, f'ironic.reservations.{module}': args}


class HostsTest(_CollectionTest):

    def test_hosts(self) -> None:
        """Opened once, changed once, taken back once."""
        node, = self.ironic.enroll(1, prefix='host')
        host = self.task('host', name=node.name, properties={'rack': 'r1'})
        moved = self.task('host', name=node.uuid, reservable=False,
                          properties={'rack': None, 'row': 7})
        gone = self.task('host', name=node.name, state='absent')
        found = self.play(
            ('check:changed', host), ('changed', host), ('ok', host),
            ('check:changed', moved), ('changed', moved), ('ok', moved),
            ('check:changed', gone), ('changed', gone), ('ok', gone))
        self.assertEqual(('7', False), (found[4]['host']['row'],
                                        found[4]['host']['reservable']))
        self.assertNotIn('rack', found[4]['host'])
        self.assertEqual('r1', found[4]['diff']['before']['rack'])

    def test_values_of_properties(self) -> None:
        """Texts as YAML has them; no lists, and no option among them."""
        node, = self.ironic.enroll(1, prefix='texts')
        host = self.task('host', name=node.name, properties={'ssd': True})
        found = self.play(
            ('changed', host), ('ok', host),
            *(('failed', self.task('host', name=node.name, properties=wrong))
              for wrong in ({'disks': ['sda']}, {'reservable': False})))
        self.assertEqual('true', found[0]['host']['ssd'])
        self.assertIn("'disks' is a list", found[2]['msg'])
        self.assertIn('an option of its own', found[3]['msg'])


class ConnectionTest(_CollectionTest):

    def test_connections_that_fail(self) -> None:
        """A sentence for each; an Ironic without reservations is one."""
        bare = self.useFixture(real_ironic.RealIronic(middleware=False))
        wrong = self.play(*(('failed', self.task(
            'host', name='gold-0', state='absent', **connection))
            for connection in (
                {'auth': {'endpoint': 'http://127.0.0.1:1'}}, {'auth': {}},
                {'cloud': 'nowhere'}, {'auth': {'endpoint': bare.url}})))
        self.assertIn('The service cannot be reached', wrong[0]['msg'])
        self.assertIn('set "endpoint" in "auth"', wrong[1]['msg'])
        self.assertIn('nowhere', wrong[2]['msg'])
        for each in wrong:
            self.assertNotIn('Module failed', each['msg'])

    def test_results_are_whole_and_passwords_masked(self) -> None:
        """A user's name is no secret that is masked in a resource class."""
        node = self.nodes[0]
        host = self.task('host', name=node.name)
        made, = self.play(('changed', host), auth={
            'username': _KIND, 'password': 'gold-secret'})
        self.assertEqual((node.name, _KIND), (
            made['host']['name'], made['host']['resource_class']))
        for connection in ({
                'auth_type': 'http_basic', 'auth': {
                    'username': _KIND, 'password': 'secret-a',
                    'endpoint': self.ironic.url}}, {
                'cloud': {
                    'auth_type': 'http_basic', 'auth': {
                        'username': _KIND, 'password': 'secret-a'},
                    'baremetal_endpoint_override': self.ironic.url}}):
            told = self.run_command(
                'ansible', 'localhost', '-c', 'local', '-vvv', '-e',
                f'ansible_python_interpreter={self.python}', '-m',
                'ironic.reservations.lease_info', '-a',
                json.dumps(connection))
            self.assertIn(f'"username": "{_KIND}"', told)
            self.assertIn(self.ironic.url, told)
            self.assertNotIn('secret-a', told)


class LeasesTest(_CollectionTest):

    def test_leases(self) -> None:
        """Made, grown, refused with reasons, read and ended."""
        window = {'start_date': '2050-01-01 10:00',
                  'end_date': '2050-01-01 12:00'}
        lease = self.task('lease', name='training', **window, reservations=[
            {'min': 1, 'resource_class': _KIND}])
        grown = self.task('lease', name='training', start_date='now',
                          end_date='2050-01-01T14:00:00+01:00',
                          reservations=[{'min': 2}])
        other = self.task('lease', name='other', **window, reservations=[
            {'min': 1, 'resource_class': _KIND}])
        gone = self.task('lease', name='training', state='absent')
        running = self.task('lease', name='now', duration='1h', wait=True,
                            reservations=[{'min': 1,
                                           'resource_class': _KIND}])
        found = self.play(
            *(('changed', self.task('host', name=node.name))
              for node in self.nodes),
            ('check:changed', lease), ('changed', lease), ('ok', lease),
            ('check:changed', grown), ('changed', grown), ('ok', grown),
            ('failed', other), ('check:failed', other),
            ('ok', self.task('lease_info', name='training',
                             status=['PENDING'])),
            ('check:changed', gone), ('changed', gone), ('ok', gone),
            ('changed', running), ('ok', running))
        made, larger = found[3]['lease'], found[6]['lease']
        self.assertEqual([{'leases': [], 'others': 0}] * 2,
                         [found[place]['moves'] for place in (2, 5)])
        self.assertNotIn('moves', found[3])
        self.assertEqual((made['id'], '2050-01-01T13:00:00.000000', 2), (
            larger['id'], larger['end_date'],
            len(larger['reservations'][0]['nodes'])))
        for refused in found[8:10]:
            self.assertEqual(
                ('lease.refused', 'shortage'),
                (refused['code'], refused['reasons'][0]['code']))
            self.assertIn('later', [each['kind'] for each in
                                    refused['offers']])
        self.assertEqual([made['id']],
                         [each['id'] for each in found[10]['leases']])
        self.assertEqual('ACTIVE', found[-1]['lease']['status'])
        self.check_inventory(found[-1]['lease'])

    def test_times_from_now(self) -> None:
        """A task with them changes nothing when it is run again."""
        node, = self.ironic.enroll(1, prefix='soon', resource_class='soon')
        lease = {'name': 'soon', 'reservations': [
            {'min': 1, 'resource_class': 'soon'}]}
        later = self.task('lease', start_date='+2h', end_date='+4h', **lease)
        found = self.play(
            ('changed', self.task('host', name=node.name)),
            ('changed', later), ('ok', later), ('check:ok', later),
            ('ok', self.task('lease', duration='3h', start_date='+1h',
                             **lease)))
        self.assertEqual(found[1]['lease']['start_date'],
                         found[2]['lease']['start_date'])
        late, = self.play(('failed', self.task(
            'lease', wait=True, timeout=1, **lease)))
        self.assertEqual(found[1]['lease']['id'], late['lease']['id'])

    def test_reservations_that_cannot_be_had(self) -> None:
        """Sizes of instances for hosts, and another class of a lease."""
        node, = self.ironic.enroll(1, prefix='odd', resource_class='odd')
        mixed = [self.task('lease', name='mixed', duration='1h',
                           reservations=[wrong]) for wrong in (
            {'min': 1, 'vcpus': 8}, {'min': 1, 'amount': 2, 'vcpus': 8})]
        odd, other = (self.task('lease', name='odd', duration='1h',
                                reservations=[{'min': 1,
                                               'resource_class': kind}])
                      for kind in ('odd', 'even'))
        found = self.play(('changed', self.task('host', name=node.name)),
                          *(('failed', each) for each in mixed),
                          ('changed', odd), ('ok', odd), ('ok', other))
        self.assertIn('"vcpus" is for instances', found[1]['msg'])
        self.assertIn('use one of them', found[2]['msg'])
        self.assertNotIn('warnings', found[4])
        self.assertIn('cannot be changed', found[5]['warnings'][0])
        wrong, = self.play(('failed', self.task('lease_info',
                                                status=['active'])))
        self.assertIn('PENDING', wrong['msg'])

    def check_inventory(self, lease: dict[str, Any]) -> None:
        """Read the inventory while a lease is active."""
        file = self.folder / 'my.lease.yml'
        file.write_text(yaml.safe_dump({
            'plugin': 'ironic.reservations.lease', 'auth_type': 'none',
            'auth': {'endpoint': self.ironic.url}, 'leases': ['now'],
            'compose': {'ansible_host': "node.name ~ '.example.org'"},
            'keyed_groups': [{'key': 'node.resource_class',
                              'prefix': 'class'}]}))
        found = json.loads(self.run_command(
            'ansible-inventory', '-i', str(file), '--list'),
            # NOTE: so texts are marked that are no templates.
            object_hook=lambda each: each.get('__ansible_unsafe', each))
        reservation, = lease['reservations']
        uuid_, = [node['uuid'] for node in reservation['nodes']]
        node = next(each for each in self.nodes if each.uuid == uuid_)
        self.assertEqual([node.name], found['lease_now']['hosts'])
        self.assertEqual([node.name], found[f'class_{_KIND}']['hosts'])
        known = found['_meta']['hostvars'][node.name]
        self.assertEqual(
            (f'{node.name}.example.org', reservation['id'], lease['id']),
            (known['ansible_host'], known['reservation_id'],
             known['lease']['id']))
        # An inventory without a node that is gone is better than none.
        requests.delete(f'{self.ironic.url}/v1/nodes/{uuid_}', headers={
            'OpenStack-API-Version': 'baremetal latest'},
            timeout=60).raise_for_status()
        self.assertNotIn('lease_now', json.loads(self.run_command(
            'ansible-inventory', '-i', str(file), '--list')))



class OpenDatesTest(_CollectionTest):

    def test_open_dates(self) -> None:
        """Planned in the window, which is changed once; then they are set."""
        node, = self.ironic.enroll(1, prefix='any', resource_class='any')
        common = {'name': 'anytime', 'reservations': [
            {'min': 1, 'resource_class': 'any'}]}
        loose = self.task('lease', **common, duration='3d', fix_before='1d',
                          between=['2050-01-01 00:00', '2050-01-20 00:00'])
        later = self.task('lease', **common, duration='4d', between=[
            '2050-01-01T01:00:00+01:00', '2050-01-30 00:00'])
        again = self.task('lease', **common, duration='4d', fix_before='2d',
                          between=['+1d', '2050-02-28 00:00'])
        dated = self.task('lease', **common, end_date='2050-01-04 12:00')
        short = self.task('lease', **common, duration='40d', between=[
            '2050-01-01 00:00', '2050-01-30 00:00'])
        wrong = [self.task('lease', **common, **more) for more in (
            {'between': ['2050-01-01 00:00'], 'duration': '1d'},
            {'between': ['2050-01-01 00:00', '2050-01-30 00:00'],
             'duration': '1d', 'start_date': '2050-01-02 00:00'},
            {'between': ['2050-01-01 00:00', '2050-01-30 00:00']},
            {'fix_before': '1d', 'duration': '1d'},
            {'between': ['2050-01-01 00:00', '2050-01-30 00:00'],
             'duration': '3'})]
        found = self.play(
            ('changed', self.task('host', name=node.name)),
            ('check:changed', loose), ('changed', loose), ('ok', loose),
            ('check:changed', later), ('changed', later), ('ok', later),
            ('changed', again), ('ok', again),
            ('failed', short), *(('failed', each) for each in wrong),
            ('changed', dated), ('ok', dated),
            ('changed', self.task('lease', name='anytime', state='absent')))
        made, larger, moved, at = (found[place]['lease']
                                   for place in (2, 5, 7, 15))
        self.assertEqual(
            (['2050-01-01T00:00:00.000000', '2050-01-20T00:00:00.000000'],
             259200, 86400, False),
            tuple(made[key] for key in ('between', 'duration', 'fix_before',
                                        'fixed')))
        self.assertEqual(
            (made['id'], '2050-01-30T00:00:00.000000', 345600, 86400),
            (larger['id'], larger['between'][1], larger['duration'],
             larger['fix_before']))
        self.assertEqual((larger['between'], 172800),
                         (moved['between'], moved['fix_before']))
        self.assertEqual('2050-01-30T00:00:00.000000',
                         found[5]['diff']['after']['between'][1])
        self.assertEqual(('2050-01-04T12:00:00.000000', None),
                         (at['end_date'], at['between']))
        self.assertIn("'3' has no unit. Write 3s (seconds)",
                      found[14]['msg'])
        self.assertEqual('request.invalid_value', found[9]['code'])


class ReservationsTest(_CollectionTest):

    def test_reservations(self) -> None:
        """Made once for an instance, refused to others, given back once."""
        instance = str(uuid.uuid4())
        node, = self.ironic.enroll(1, prefix='free')
        held = self.task('reservation', instance_uuid=instance, ttl=600,
                         nodes=[node.name])
        renewed = self.task('reservation', instance_uuid=instance, ttl=900,
                            renew=True)
        theirs = self.task('reservation', instance_uuid=str(uuid.uuid4()),
                           nodes=[node.name])
        back = self.task('reservation', instance_uuid=instance,
                         state='absent')
        found = self.play(
            ('check:changed', held), ('changed', held), ('ok', held),
            ('failed', theirs), ('changed', renewed),
            ('check:changed', back), ('changed', back), ('ok', back))
        self.assertEqual(node.uuid, found[1]['reservation']['node_uuid'])
        self.assertEqual('reservation.no_node_available', found[3]['code'])
        wrong = self.play(
            ('failed', self.task('reservation', instance_uuid=instance,
                                 renew=True)),
            ('check:failed', self.task('reservation', nodes=['nowhere'],
                                       instance_uuid=instance)))
        self.assertIn('ttl', wrong[0]['msg'])
        self.assertIn('nowhere', wrong[1]['msg'])
        self.assertLess(found[1]['reservation']['expires_at'],
                        found[4]['reservation']['expires_at'])


class MaintenanceTest(_CollectionTest):

    def test_maintenance(self) -> None:
        """Booked once, refused with reasons, ended once."""
        node, = self.ironic.enroll(1, prefix='worn')
        window = {'name': 'firmware', 'nodes': [node.name],
                  'ends_at': '2050-01-01 12:00'}
        booked = self.task('maintenance', wait=True, **window)
        other = self.task('maintenance', **{**window, 'name': 'other'})
        gone = self.task('maintenance', name='firmware', state='absent',
                         wait=True)
        soon = self.task('maintenance', name='fan', nodes=[node.name],
                         starts_at='+1h', ends_at='+3h')
        found = self.play(
            ('check:changed', booked), ('changed', booked), ('ok', booked),
            ('check:failed', other), ('failed', other),
            ('check:changed', gone), ('changed', gone), ('ok', gone),
            ('changed', soon), ('ok', soon),
            ('failed', self.task('maintenance', name='none', ends_at='now',
                                 nodes=[node.name])))
        self.assertIn('"now" cannot be used', found[10]['msg'])
        starts, ends = (
            datetime.datetime.fromisoformat(found[8]['maintenance'][name])
            for name in ('starts_at', 'ends_at'))
        self.assertEqual(datetime.timedelta(hours=2), ends - starts)
        self.assertEqual(['active'], [
            each['state'] for each in found[1]['maintenance']['nodes']])
        for refused in found[3:5]:
            self.assertEqual(('maintenance.refused', 'maintenance'), (
                refused['code'], refused['reasons'][0]['code']))


class DocumentationTest(_CollectionTest):

    def test_documentation(self) -> None:
        """Ansible can show it, with the options of the connection."""
        for kind, names in (('module', _MODULES), ('inventory', ('lease',))):
            shown = json.loads(self.run_command(
                'ansible-doc', '--json', '-t', kind,
                *(f'ironic.reservations.{name}' for name in names)))
            self.assertEqual({f'ironic.reservations.{name}'
                              for name in names}, shown.keys())
            for each in shown.values():
                self.assertIn('auth_type', each['doc']['options'])
                self.assertIsNotNone(each['examples'])
