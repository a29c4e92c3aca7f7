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


"""The commands, each run as the shell runs it."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import pathlib
import types

import fixtures
from ironicclient import exc

from ironic_reservations import errors as api_errors
from ironic_reservations_client import errors
from ironic_reservations_client import fields
from ironic_reservations_client import host
from ironic_reservations_client import lease
from ironic_reservations_client import maintenance as windows
from ironic_reservations_client import nodes
from ironic_reservations_client import resources
from ironic_reservations_client.osc import calendar
from ironic_reservations_client.osc import host as host_commands
from ironic_reservations_client.osc import host_import
from ironic_reservations_client.osc import lease as leases_osc
from ironic_reservations_client.osc import limits
from ironic_reservations_client.osc import maintenance
from ironic_reservations_client.osc import reservation
from ironic_reservations_client.osc import usage
from ironic_reservations_client.sdk import leases
from tests.unit.client import base
from tests.unit.client import fake
from tests.unit.client import zones


class CommandsTest(base.ClientTestCase):
    """The typed words, the sent requests and the output."""

    def run_command(self, command: type, *args: str,
                    out: io.StringIO | None = None, **ironic: str) -> str:
        """Run a command, and return its output; ``told`` has its errors."""
        out, self.told = out or io.StringIO(), io.StringIO()
        app = types.SimpleNamespace(
            stdout=out, client_manager=types.SimpleNamespace(
                baremetal=self.ironic(**ironic)))
        with (contextlib.redirect_stdout(out),
              contextlib.redirect_stderr(self.told)):
            instance = command(app, None)
            parser = instance.get_parser('baremetal reservation')
            instance.run(parser.parse_args(args))
        return out.getvalue()

    def json_of(self, command: type, *args: str) -> object:
        """Run a command with ``-f json``, and return its parsed output."""
        return json.loads(self.run_command(command, *args, '-f', 'json'))

    def table_of(self, command: type, *args: str) -> list[list[str]]:
        """Run a command, and return the cells of its table."""
        return [[cell.strip() for cell in line.strip('|').split('|')]
                for line in self.run_command(command, *args).splitlines()
                if line.startswith('|')]

    def create(self, *args: str) -> dict:
        """Make a reservation."""
        return self.json_of(reservation.CreateReservation, *args)

    def test_create_resolves_names(self):
        """The order stays; a UUID causes no request."""
        shown = self.create('two', self.one, '--instance', base.INSTANCE,
                            '--ttl', '90')
        self.assertEqual(
            {'node_uuid': [self.two, self.one], 'ttl': 90,
             'instance_uuid': base.INSTANCE},
            self.service.sent('POST')[0]['body'])
        self.assertEqual(self.two, shown['node_uuid'])
        self.assertEqual(1, len(self.service.sent('GET', '/v1/nodes')))

    def test_create_by_class_and_trait(self):
        """The request has no list of nodes."""
        self.create('--resource-class', 'gold', '--trait', 'A', '--trait',
                    'B', '--instance', base.INSTANCE, '--uuid', base.UNKNOWN,
                    '--expires-at', '2031-01-01T00:00:00Z')
        self.assertEqual(
            {'resource_class': 'gold', 'traits': ['A', 'B'],
             'instance_uuid': base.INSTANCE, 'uuid': base.UNKNOWN,
             'expires_at': '2031-01-01T00:00:00+00:00'},
            self.service.sent('POST')[0]['body'])

    def test_times_of_reservations_are_typed_like_others(self):
        """They had a format of their own, and no zone with --local."""
        self.useFixture(zones.Zone('Asia/Tokyo'))
        held = self.create('one')['uuid']
        local = ('--local', '--expires-at', '2031-01-01 09:00')
        for typed, sent in (
                (local, '2031-01-01T00:00:00+00:00'),
                (('--expires-at', '2031-01-01T00:00Z'),
                 '2031-01-01T00:00:00+00:00'),
                (('--ttl', '600'), 600), (('--ttl', '10m'), 600)):
            self.json_of(reservation.RenewReservation, held, *typed)
            self.assertEqual(
                sent, self.service.sent('PATCH')[-1]['body'][0]['value'])
        self.create('two', *local)
        self.assertEqual('2031-01-01T00:00:00+00:00',
                         self.service.sent('POST')[-1]['body']['expires_at'])
        self.json_of(reservation.RenewReservation, held, '--expires-at',
                     '+10m')
        ends = datetime.datetime.fromisoformat(
            self.service.sent('PATCH')[-1]['body'][0]['value'])
        left = ends - datetime.datetime.now(datetime.UTC)
        self.assertTrue(540 < left.total_seconds() <= 600)

    def test_a_name_is_no_reservation(self):
        """The error says how to find the reservation of a node."""
        self.service.answers = [api_errors.ReservationNotFound(
            "There is no reservation 'one': that is not a UUID.")] * 2
        error = self.assertRaises(
            errors.NotFound, self.run_command, reservation.ShowReservation,
            'one')
        self.assertIn('UUID. "reservation list --node" finds', str(error))
        self.assertNotIn('--node', error.refusal.sentence)
        error = self.assertRaises(
            exc.ClientException, self.run_command,
            reservation.DeleteReservation, 'one')
        self.assertIn('UUID. "reservation list --node" finds', str(error))

    def test_an_empty_id_does_not_stop_other_deletions(self):
        """The others are deleted, and the sentence comes at the end."""
        made = self.create('one')
        error = self.assertRaises(
            exc.ClientException, self.run_command,
            reservation.DeleteReservation, '', made['uuid'])
        self.assertEqual('Failed to delete reservation: The id of the '
                         'reservation is missing.', str(error))
        self.assertEqual({}, self.service.reservations)

    def test_the_standalone_service_has_no_nodes(self):
        """Its 404 for a node spoke of a path that nobody had typed."""
        self.service.has_nodes = False
        for command, *args in (
                (reservation.CreateReservation, 'one'),
                (reservation.ListReservations, '--node', 'one'),
                (host_import.ImportHosts, '--all')):
            error = self.assertRaises(errors.NoNodes, self.run_command,
                                      command, *args)
            self.assertIn('has no nodes: use the UUIDs', str(error))
        self.assertEqual(self.one, self.create(self.one)['node_uuid'])

    def test_the_standalone_service_shows_leases_of_many_nodes(self):
        """From 16 nodes on, its 404 for the list of nodes was an error."""
        self.service.has_nodes = False
        for number in (15, 16):
            self.assertEqual({}, nodes.read(
                self.ironic(), [str(each) for each in range(number)]))

    def test_the_standalone_service_opens_hosts_by_name(self):
        """It knows the names of nodes, which the command cannot look up."""
        self.service.has_nodes = False
        self.json_of(host_import.ImportHosts, 'one', self.two)
        self.assertEqual([{'name': 'one'}, {'name': self.two}], [
            each['body'] for each in self.service.sent('POST', '/os-hosts')])

    def test_import_leaves_the_properties_of_hosts(self):
        """They were dropped silently."""
        self.service.hosts = [
            {'id': '1', 'name': 'one', 'node_uuid': self.one, 'rack': 'r1'},
            {'id': '2', 'name': 'two', 'node_uuid': self.two, 'rack': 'r2'}]
        counts = self.json_of(host_import.ImportHosts, 'one', 'two',
                              '--property', 'rack=r1')
        self.assertEqual(2, counts['hosts_already'])
        self.assertIn('1 node was a host already and keeps its properties: '
                      'two. Use "reservation host set',
                      self.told.getvalue())

    def test_a_property_with_the_name_of_the_resource(self):
        """It was taken for the host, and no host was listed."""
        host = {name: None for name in resources.HOST.columns(
            fields.Shown.LONG) if name != 'properties'}
        self.service.hosts = [{**host, 'id': '1', 'name': 'one', 'host': 'h'}]
        row, = self.json_of(host_commands.ListHosts, '--long')
        self.assertEqual({'host': 'h'}, row['properties'])
        found, = leases.hosts(self.connection())
        self.assertEqual('h', found['host'])

    def test_create_for_a_flavor(self):
        """The flavor is as the command of the compute service prints it."""
        specs = {'resources:CUSTOM_GOLD': '1', 'resources:VCPU': '0'}
        printed = {
            'OS-FLV-DISABLED:disabled': False,
            'OS-FLV-EXT-DATA:ephemeral': 0, 'access_project_ids': None,
            'description': None, 'disk': 500, 'id': '7', 'name': 'bm.gold',
            'os-flavor-access:is_public': True, 'properties': specs,
            'ram': 16384, 'rxtx_factor': 1.0, 'swap': 0, 'vcpus': 8}
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'f')
        path.write_text(json.dumps(printed))
        self.create('--flavor-file', str(path), '--instance', base.INSTANCE)
        sent = self.service.sent('POST')[0]['body']
        self.assertEqual(
            {'OS-FLV-DISABLED:disabled': False,
             'OS-FLV-EXT-DATA:ephemeral': 0, 'disk': 500, 'id': '7',
             'name': 'bm.gold', 'os-flavor-access:is_public': True,
             'extra_specs': specs, 'ram': 16384, 'rxtx_factor': 1.0,
             'swap': 0, 'vcpus': 8}, sent['flavor'])
        printed['properties'] = "resources:CUSTOM_GOLD='1', resources:VCPU='0'"
        self.useFixture(fixtures.MonkeyPatch(
            'sys.stdin', io.StringIO(json.dumps(printed))))
        self.create('--flavor-file', '-')
        self.assertEqual(
            sent['flavor'], self.service.sent('POST')[1]['body']['flavor'])

    def test_create_for_what_is_no_flavor(self):
        """No request is sent."""
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'f')
        for text, reason in (
                (None, 'cannot be read: No such file or directory.'),
                ('{', 'is not JSON ('), ('[]', 'is not the output of'),
                ('7', 'is not the output of')):
            if text is not None:
                path.write_text(text)
            error = self.assertRaises(exc.CommandError, self.create,
                                      '--flavor-file', str(path))
            self.assertIn(f'--flavor-file: {path} {reason}', str(error))
        self.assertEqual([], self.service.requests)

    def test_create_without_any_wish(self):
        """No request is sent."""
        self.assertRaises(exc.CommandError, self.create)
        self.assertEqual([], self.service.requests)

    def test_create_of_an_unknown_name(self):
        """No reservation is made; the hint was missing."""
        error = self.assertRaises(exc.NotFound, self.create, 'one', 'three')
        self.assertIn('Node three could not be found', str(error))
        self.assertIn('"baremetal node list"', str(error))

    def test_sort_with_and_without_a_time(self):
        """A reservation in use has no expiry: that was a TypeError."""
        for name in ('one', 'two'):
            self.create(name)
        first, second = self.service.reservations.values()
        second['expires_at'] = None
        for direction, order in (('asc', [second, first]),
                                 ('desc', [first, second])):
            rows = self.json_of(reservation.ListReservations, '--sort',
                                f'state,expires_at:{direction}')
            self.assertEqual([each['uuid'] for each in order],
                             [row['uuid'] for row in rows])

    def test_leases_sort_like_reservations(self):
        """The option was said to be ambiguous."""
        rows = [{**dict.fromkeys(resources.LEASE.columns(
            fields.Shown.LONG)), 'id': name, 'name': name,
            'reservations': []} for name in 'abc']
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_reservations_client.lease.LeaseManager._list',
            lambda *args, **more: [lease.Lease(None, each, loaded=True)
                                   for each in rows]))
        self.assertEqual('cba', ''.join(
            row['name'] for row in self.json_of(
                leases_osc.ListLeases, '--sort', 'status,name:desc')))
        for typed, told in (
                ('nodes', "'nodes' is no field to sort by. Use id, name, "),
                ('name:up', "'up' is no direction to sort by. Use asc, d")):
            error = self.assertRaises(exc.CommandError, self.json_of,
                                      leases_osc.ListLeases, '--sort', typed)
            self.assertIn(told, str(error))

    def test_other_lists_sort_like_reservations(self):
        """Hosts and windows had only --sort-column."""
        for command, resource in (
                (host_commands.ListHosts, host.Host),
                (maintenance.ListMaintenances, windows.Maintenance)):
            columns = resource.describes.columns(fields.Shown.LONG)
            key = columns[0]
            self.useFixture(fixtures.MonkeyPatch(
                'ironic_reservations_client.resource.Collection._list',
                lambda *args, kind=resource, names=columns, **more: [
                    kind(None, {**dict.fromkeys(names), 'nodes': [],
                                names[0]: each, 'name': 'same'}, loaded=True)
                    for each in 'abc']))
            for more in ((), ('--long',)):
                self.assertEqual(['c', 'b', 'a'], [
                    row[key] for row in self.json_of(
                        command, '--sort', f'name,{key}:desc', *more)])
            error = self.assertRaises(exc.CommandError, self.json_of, command,
                                      '--sort', 'nodes')
            self.assertIn("'nodes' is no field to sort by", str(error))

    def test_no_service_at_the_endpoint(self):
        """Programs get the same text as JSON; it was urllib3's."""
        out = io.StringIO()
        error = self.assertRaises(
            errors.NotReachable, self.run_command,
            reservation.ListReservations, '-f', 'json', out=out,
            endpoint=self.nobody())
        self.assertEqual(
            f'No answer from {self.nobody()}/v1/reservations: Connection '
            'refused. Check the endpoint (OS_ENDPOINT, OS_AUTH_URL or '
            'clouds.yaml), and whether the service runs.', str(error))
        wrong = self.assertRaises(
            errors.NotReachable, self.run_command,
            reservation.ListReservations, endpoint='nonsense')
        self.assertIn('No answer from nonsense/v1/reservations: Invalid URL',
                      str(wrong))
        self.assertEqual(str(error),
                         json.loads(out.getvalue())['error']['detail'])
        self.assertEqual({}, self.service.reservations)

    def test_create_waits_for_the_same_instance(self):
        """A new instance in each retry would leave reservations behind."""
        self.service.answers = [fake.refused(self.one)] * 2
        self.create('one', '--wait', '30')
        instances = {r['body']['instance_uuid']
                     for r in self.service.sent('POST')}
        self.assertEqual((3, 1), (len(self.service.sent('POST')),
                                  len(instances)))

    def test_list(self):
        """The list has five columns; more with --long, others with --fields.
        """
        held = self.create('one')
        rows = self.json_of(reservation.ListReservations)
        self.assertEqual([{name: held[name] for name in reservation.FIELDS}],
                         rows)
        rows = self.json_of(reservation.ListReservations, '--long')
        self.assertEqual([held], rows)
        rows = self.json_of(reservation.ListReservations,
                            '--fields', 'state', 'uuid')
        self.assertEqual([{'state': 'reserved', 'uuid': held['uuid']}], rows)
        self.assertEqual('state,uuid',
                         self.service.requests[-1]['query']['fields'])
        plain = self.run_command(reservation.ListReservations,
                                 '-f', 'value', '-c', 'uuid')
        self.assertEqual(held['uuid'] + '\n', plain)

    def test_list_filters(self):
        """The name of a node is accepted."""
        self.create('one', '--instance', base.INSTANCE)
        held = self.create('two', '--instance', base.OTHER_INSTANCE)
        for args in (('--node', 'two'), ('--node', self.two),
                     ('--instance', base.OTHER_INSTANCE)):
            rows = self.json_of(reservation.ListReservations, *args)
            self.assertEqual([held['uuid']], [row['uuid'] for row in rows])
        self.json_of(reservation.ListReservations, '--project', 'p',
                     '--limit', '5', '--marker', held['uuid'])
        self.assertEqual(
            {'project': 'p', 'limit': '5', 'marker': held['uuid']},
            self.service.requests[-1]['query'])
        self.assertRaises(exc.CommandError, self.run_command,
                          reservation.ListReservations, '--limit', '-1')

    def test_list_sorts(self):
        """The server sorts by the first key, the client by the others."""
        for name in ('one', 'two'):
            self.create(name)
        uuids = sorted(self.service.reservations)
        rows = self.json_of(reservation.ListReservations,
                            '--sort', 'uuid:desc')
        self.assertEqual(uuids[::-1], [row['uuid'] for row in rows])
        self.assertEqual({'sort_key': 'uuid', 'sort_dir': 'desc'},
                         self.service.requests[-1]['query'])
        rows = self.json_of(
            reservation.ListReservations, '--sort', 'state,uuid:desc',
            '--fields', 'uuid')
        self.assertEqual(uuids[::-1], [row['uuid'] for row in rows])

    def test_show(self):
        """The output is whole, or in part."""
        held = self.create('one')
        self.assertEqual(held, self.json_of(
            reservation.ShowReservation, held['uuid']))
        self.assertEqual({'state': 'reserved'}, self.json_of(
            reservation.ShowReservation, held['uuid'], '--fields', 'state'))

    def test_limits(self):
        """There is one row for each, also for another project."""
        self.assertEqual([
            {'limit': 'max_leases_per_project', 'used': 3, 'allowed': 200,
             'unit': 'leases', 'resource_class': None},
            {'limit': 'max_duration', 'used': None, 'allowed': None,
             'unit': 'seconds', 'resource_class': None},
            {'limit': 'max_horizon', 'used': None, 'allowed': 31622400,
             'unit': 'seconds', 'resource_class': None}],
            self.json_of(limits.ListLimits))
        self.assertEqual({}, self.service.requests[-1]['query'])
        self.json_of(limits.ListLimits, '--project', 'blue')
        self.assertEqual({'project': 'blue'},
                         self.service.requests[-1]['query'])

    def test_a_missing_middleware_was_an_old_service(self):
        """The error named a version of the API, and not the endpoint."""
        self.service.served = False
        for command in (limits.ListLimits, usage.ListUsage,
                        maintenance.ListMaintenances, calendar.ShowCalendar):
            error = self.assertRaises(errors.NotServed, self.run_command,
                                      command)
            self.assertIn(self.service.url, str(error))
            self.assertIn('middleware "reservations"', str(error))

    def test_usage(self):
        """There is one row for each day or other group."""
        self.assertEqual([
            {'day': '2026-03-01', 'project_id': 'red',
             'resource_class': 'gold', 'promised': 24.0, 'bound': 12.0,
             'deployed': 8.0, 'unused': 4.0}],
            self.json_of(usage.ListUsage))
        self.assertEqual({'by': 'day,project,class'},
                         self.service.requests[-1]['query'])
        self.assertEqual([
            {'resource_class': 'gold', 'promised': 24.0,
             'bound': 12.0, 'deployed': 8.0,
             'unused': 4.0}], self.json_of(
                usage.ListUsage, '--by', 'class', '--first-day',
                '2026-03-01', '--last-day', '2026-03-31', '--all-projects'))
        self.assertEqual(
            {'by': 'class', 'first_day': '2026-03-01',
             'last_day': '2026-03-31', 'all_projects': 'true'},
            self.service.requests[-1]['query'])

    def test_usage_in_a_table_is_rounded(self):
        """The table has hundredths, and titles that name the unit."""
        self.service.promised = 36.521971
        lines = self.table_of(usage.ListUsage, '--by', 'class')
        self.assertEqual(
            ['Class', 'Promised host hours', 'Bound host hours',
             'Deployed host hours', 'Unused host hours'], lines[0])
        self.assertEqual(['gold', '36.52', '12.00', '8.00', '4.00'], lines[1])
        csv = self.run_command(usage.ListUsage, '--by', 'class', '-f', 'csv')
        self.assertIn('"gold",36.521971,12.0,8.0,4.0', csv)

    def test_usage_of_no_project(self):
        """Without Keystone there are no projects; programs get null."""
        self.service.project = None
        by = ('--by', 'project')
        self.assertEqual('-', self.table_of(usage.ListUsage, *by)[1][0])
        csv = self.run_command(usage.ListUsage, *by, '-f', 'csv')
        self.assertIn('\n"",24.0,', csv)

    def test_limits_in_a_table(self):
        """An unlimited value says so, and times have the typed form."""
        self.assertEqual([
            ['Limit', 'Used', 'Allowed', 'Unit', 'Resource class'],
            ['max_leases_per_project', '3', '200', 'leases', '-'],
            ['max_duration', '-', 'unlimited', 'time', '-'],
            ['max_horizon', '-', '366d', 'time', '-']],
            self.table_of(limits.ListLimits))

    def test_renew(self):
        """One of the two times is required."""
        held = self.create('one')
        when = '2031-01-01T00:00:00+00:00'
        shown = self.json_of(reservation.RenewReservation, held['uuid'],
                             '--expires-at', when)
        self.assertEqual(when, shown['expires_at'])
        self.json_of(reservation.RenewReservation, held['uuid'],
                     '--ttl', '60')
        self.assertEqual([{'op': 'replace', 'path': '/ttl', 'value': 60}],
                         self.service.sent('PATCH')[-1]['body'])
        self.assertRaises(SystemExit, self.run_command,
                          reservation.RenewReservation, held['uuid'])

    def test_deploy(self):
        """The node is active; programs can parse the output."""
        held = self.create('one', '--instance', base.INSTANCE)
        shown = self.json_of(
            reservation.DeployReservation, held['uuid'], '--wait', '10',
            '--config-drive', '{"meta_data": {"a": 1}}',
            '--deploy-steps', '[{"step": "x"}]')
        self.assertEqual(self.one, shown['node_uuid'])
        self.assertEqual('active', shown['provision_state'])
        self.assertIn('one: active\n', self.told.getvalue())
        put, = self.service.sent('PUT')
        self.assertEqual(
            (held['uuid'], {'meta_data': {'a': 1}}, [{'step': 'x'}]),
            (put['proof'], put['body']['configdrive'],
             put['body']['deploy_steps']))

    def test_deploy_can_be_repeated(self):
        """Ironic refuses a second deploy of an active node."""
        held = self.create('one')
        for _ in range(2):
            shown = self.json_of(reservation.DeployReservation,
                                 held['uuid'], '--wait', '10')
            self.assertEqual('active', shown['provision_state'])
        self.assertEqual(1, len(self.service.sent('PUT')))

    def test_refused_deploy_of_one_node_is_that_refusal(self):
        """With its code, for programs; nothing is waited for."""
        held = self.create('one')
        # The guard, which knows UUIDs, does not know this one.
        self.service.reservations[held['uuid']]['node_uuid'] = 'two'
        refused = self.assertRaises(
            errors.Forbidden, self.run_command, reservation.DeployReservation,
            held['uuid'], '--wait', '10')
        self.assertEqual('reservation.proof_required', refused.code)
        self.assertEqual('', self.told.getvalue())

    def test_another_node_is_not_of_the_reservation(self):
        """The refusal names the node that is."""
        held = self.create('one')
        error = self.assertRaises(
            exc.CommandError, self.run_command,
            reservation.DeployReservation, held['uuid'], '--node', 'two')
        self.assertEqual(
            f'Node two does not belong to the reservation {held["uuid"]}, '
            'which has one.', str(error))
        self.assertEqual([], self.service.sent('PUT'))

    def test_deploy_of_all_nodes_of_a_reservation(self):
        """--all was ignored; a reservation has one node."""
        held = self.create('one')
        error = self.assertRaises(
            exc.CommandError, self.run_command,
            reservation.DeployReservation, held['uuid'], '--all')
        self.assertIn('--all is for leases', str(error))
        self.assertEqual([], self.service.sent('PUT'))
