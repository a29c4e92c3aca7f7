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

"""Each usual mistake is planted, and the command finds it."""

from collections.abc import Callable
import contextlib
import datetime
import io
import json
import os
import pathlib

import fixtures
import sqlalchemy as sa
import testtools

from ironic_reservations import clock
from ironic_reservations.cmd import dbsync
from ironic_reservations.cmd import manage
from ironic_reservations.cmd import status
from ironic_reservations.db import connection
from ironic_reservations.db import nodes
from ironic_reservations.model import mirrored_node
from tests.inprocess.api import world
from tests.real import databases
from tests.real import ironic
from tools import free_ports

_NODE = '11111111-0000-0000-0000-000000000001'
_WARNING, _FAILURE = 1, 2
_GUARDED = '[DEFAULT]\nauth_strategy = noauth\n[api]\nmiddleware = '

#: Name of a mistake: the check that finds it, its result, a part of what it
#: says, the lines of our file, and Ironic's file.
_IN_FILES: dict[str, tuple[str, int, str, str, str]] = {
    'the database does not answer': (
        'Database schema', _FAILURE, "No such file or directory: '/nowhere/",
        '[database]\nconnection = sqlite:////nowhere/at/all.sqlite', ''),
    'a driver that is not installed': (
        'Database schema', _FAILURE, "No module named 'asyncmy'. Install",
        '[database]\nconnection = mysql+asyncmy://u@127.0.0.1:1/x', ''),
    'a driver that waits for ever': (
        'Database driver', _WARNING, 'nothing limits the wait',
        '[database]\nconnection = postgresql+pg8000://u@127.0.0.1:1/x', ''),
    'an option that does not exist': (
        'Options in files', _WARNING, 'Is [guard] require meant?',
        '[guard]\nrequires = always', ''),
    'a section that does not exist': (
        'Options in files', _WARNING, 'Is [guard] require meant?',
        '[guards]\nrequire = always', ''),
    'a parameter that the driver does not have': (
        'Database schema', _FAILURE, "unexpected keyword argument 'socket'",
        '[database]\nconnection = mysql+pymysql://u@127.0.0.1/x?socket=/run',
        ''),
    'a character set that the driver does not have': (
        'Database schema', _FAILURE, 'does not take a parameter of the URL',
        '[database]\nconnection = mysql+pymysql://u@127.0.0.1/x?charset=utf',
        ''),
    'a policy file in JSON': (
        'Policy file format', _FAILURE, 'is JSON',
        '[oslo_policy]\npolicy_file = {folder}/policy.json', ''),
    'no section of Keystone': (
        'Identity of callers', _FAILURE, '[keystone_authtoken]',
        '[DEFAULT]\nauth_strategy = keystone', ''),
    'no file of users': (
        'Identity of callers', _FAILURE, 'htpasswd',
        '[DEFAULT]\nauth_strategy = http_basic\n'
        'http_basic_auth_user_file = /nowhere/htpasswd', ''),
    'proof by a Placement that is off': (
        'Option values', _FAILURE, '[placement] enabled',
        '[guard]\nproof_by_placement = true', ''),
    'statements shorter than locks': (
        'Option values', _FAILURE, 'statement_timeout',
        '[database]\nlock_timeout = 30', ''),
    'a default beyond its limit': (
        'Option values', _FAILURE, 'default_ttl',
        '[reservations]\nmax_ttl = 300', ''),
    'hard requests on all threads': (
        'Option values', _FAILURE, 'max_hard_requests',
        '[api]\nthreads = 4', ''),
    'webhooks without a key': (
        'Option values', _FAILURE, 'webhook_secret_file',
        '[notices]\nwebhook_urls = https://hooks.example/', ''),
    'webhooks to hosts that are not allowed': (
        'Option values', _FAILURE, 'hooks.example',
        '[notices]\nwebhook_urls = https://hooks.example/x\n'
        'webhook_secret_file = /secret\n'
        'webhook_allowed_hosts = other.example', ''),
    'mail without a sender': (
        'Option values', _FAILURE, 'mail_from',
        '[notices]\nmail_host = mail.example', ''),
    'notice of owners that is too short': (
        'Option values', _FAILURE, 'owner_notice',
        '[leases]\nowner_notice = 60\ncleaning_time = 60', ''),
    'Ironic without the guard': (
        'Guard in Ironic', _WARNING, 'does not name "reservations"',
        '', _GUARDED + 'other'),
    'the guard behind another middleware': (
        'Guard in Ironic', _WARNING, 'is not the first',
        '', _GUARDED + 'other,reservations'),
    'no user at an Ironic with Keystone': (
        'Guard in Ironic', _FAILURE, 'names no user',
        '', '[api]\nmiddleware = reservations'),
    "Ironic's database": (
        'Separate database', _FAILURE, 'names the database of Ironic', '',
        '[database]\nconnection = sqlite:///{folder}/reservations.sqlite'),
    'an Ironic that cannot be reached': (
        'Service user', _FAILURE, 'cannot be reached',
        '[ironic]\nauth_type = none\nendpoint_override = http://{nobody}',
        ''),
}


class InstalledTestCase(testtools.TestCase):
    """An installation without mistakes, on SQLite."""

    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.file = self.folder / 'ours.conf'
        self.theirs = self.folder / 'ironic.conf'
        self.theirs.write_text(_GUARDED + 'reservations\n')
        self.nobody = f'127.0.0.1:{free_ports.free_port()}'
        (self.folder / 'policy.json').write_text('{}')
        self.write()
        self.assertEqual(0, self.run_command(dbsync.main, 'upgrade')[0])

    def write(self, text: str = '') -> None:
        """Write the file of options."""
        self.file.write_text(f'[DEFAULT]\nstate_path = {self.folder}\n'
                             + self.filled(text) + '\n')
        self.file.chmod(0o640)

    def filled(self, text: str) -> str:
        """Return a text with the names of this test in it."""
        return text.replace('{folder}', str(self.folder)).replace(
            '{nobody}', self.nobody)

    def run_command(self, main: Callable[[list[str]], int],
                    *arguments: str) -> tuple[int, str]:
        """Return the exit status and the output of a command."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            code = main(['--config-file', str(self.file), *arguments])
        return code, printed.getvalue()

    def check(self) -> dict[str, tuple[int, str]]:
        """Return each check that has not succeeded."""
        code, printed = self.run_command(
            status.main, '--ironic-config', str(self.theirs), 'upgrade',
            'check', '--json')
        found = {check['check']: (check['result'], check['details'])
                 for check in json.loads(printed)['checks']
                 if check['result']}
        self.assertEqual(max([0, *(result for result, _ in found.values())]),
                         code)
        return found

    def found(self, name: str, result: int, part: str) -> None:
        """Check that a check says so."""
        found = self.check()
        self.assertEqual([result], [one for check, (one, _) in found.items()
                                    if check == name], found)
        self.assertIn(part, found[name][1])

    def know_a_node(self) -> None:
        """Write a node into the mirror."""
        database = connection.Database(world.configuration(str(self.folder)))
        with database.write() as opened:
            nodes.insert_node(opened, mirrored_node.Node(_NODE),
                              clock.utc_now())
        database.close()


class MistakesTest(InstalledTestCase):

    def test_nothing_is_found_where_nothing_is_wrong(self) -> None:
        self.assertEqual({}, self.check())

    def test_each_is_found_in_the_files(self) -> None:
        for mistake, (name, result, part, ours, theirs) in _IN_FILES.items():
            with self.subTest(mistake=mistake):
                self.write(ours)
                self.theirs.write_text(self.filled(theirs) or
                                       _GUARDED + 'reservations\n')
                self.found(name, result, part)

    def test_database_without_tables(self) -> None:
        file = self.folder / 'reservations.sqlite'
        file.unlink()
        file.touch(0o600)
        self.found('Database schema', _FAILURE, 'dbsync upgrade')

    def test_database_that_only_answers_queries(self) -> None:
        """The address led to a replica, and each check succeeded."""
        url = sa.make_url(self.useFixture(databases.Database(
            'postgresql')).url)
        section = '[database]\nconnection = '
        self.write(section + url.render_as_string())
        self.assertEqual(0, self.run_command(dbsync.main, 'upgrade')[0])
        self.write(section + url.update_query_dict({
            'options': '-c default_transaction_read_only=on'
        }).render_as_string())
        self.found('Database schema', _FAILURE, 'read-only transaction')

    def test_checks_create_no_database_file(self) -> None:
        """The file belonged to root, so that the service did not start."""
        (self.folder / 'reservations.sqlite').unlink()
        before = sorted(self.folder.iterdir())
        self.found('Database schema', _FAILURE, 'as the user of the service')
        self.assertEqual(['Database schema'], list(self.check()))
        self.assertEqual((0, 'empty\n'),
                         self.run_command(dbsync.main, 'version'))
        self.assertEqual(before, sorted(self.folder.iterdir()))

    def test_check_that_cannot_run_fails_alone(self) -> None:
        """A missing file of certificates ended all checks, with a traceback.
        """
        with fixtures.MonkeyPatch(
                'ironic_reservations.db.nodes.count', lambda opened: 1 / 0):
            self.assertEqual({'Reconciler': (
                _FAILURE, 'The check could not run: ZeroDivisionError: '
                'division by zero')}, self.check())

    def test_user_that_cannot_be_loaded(self) -> None:
        """Of an unknown kind, or without its options: a traceback."""
        for text, part in (
                ('auth_type = nonsense', 'nonsense could not be found'),
                ('auth_type = password', 'not given: auth_url')):
            self.write(f'[ironic]\n{text}')
            self.found('Service user', _FAILURE,
                       '[ironic] in ironic-reservations.conf describes no')
            self.found('Service user', _FAILURE, part)
            self.assertIn(part, self.managed(2, 'audit'))

    def test_password_with_a_dollar_is_named_and_not_shown(self) -> None:
        self.write('[ironic]\nauth_type = http_basic\nusername = ours\n'
                   'password = a$ecret')
        for code, said in ((255, self.refused(status.main, 255, 'config')),
                           (2, self.managed(2, 'audit'))):
            self.assertIn(f'[ironic] password ({self.file}, line 6) is not '
                          'valid: "$" refers to another option', said, code)
            self.assertNotIn('ecret', said)

    def test_certificates_that_are_missing(self) -> None:
        self.write('[ironic]\nauth_type = none\nendpoint_override = '
                   'https://{nobody}\ncafile = /nowhere/ca.pem')
        self.found('Service user', _FAILURE, '/nowhere/ca.pem. Check the '
                   'address')

    def test_ironic_that_does_not_answer_is_named(self) -> None:
        self.write('[ironic]\nauth_type = none\n'
                   'endpoint_override = http://{nobody}')
        self.found('Service user', _FAILURE, f'http://{self.nobody}/v1/nodes')

    def test_cause_of_a_database_that_fails(self) -> None:
        """The operator was told to tell the operator."""
        self.write('[database]\nconnection = '
                   'mysql+pymysql://u:s3cret@{nobody}/x')
        for command in ('restored', 'purge', 'audit'):
            said = self.managed(2, command)
            self.assertIn("Can't connect", said, command)
            self.assertIn('those of [database] connection', said)
            self.assertNotIn('s3cret', said)

    def test_tables_that_are_missing(self) -> None:
        file = self.folder / 'reservations.sqlite'
        file.unlink()
        for command in ('restored', 'audit'):
            self.assertIn('Run "ironic-reservations-dbsync upgrade"',
                          self.managed(2, command))

    def refused(self, main: Callable[[list[str]], int], code: int,
                *arguments: str) -> str:
        """Return the errors of a command that fails."""
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(code, self.run_command(main, *arguments)[0])
        self.assertNotIn('Traceback', said.getvalue())
        return said.getvalue()

    def managed(self, code: int, *arguments: str) -> str:
        """Return the errors of ironic-reservations-manage."""
        return self.refused(manage.main, code, *arguments)

    def test_database_file_that_the_user_of_the_check_may_not_see(
            self) -> None:
        def denied(file: pathlib.Path) -> list[pathlib.Path]:
            raise PermissionError(13, 'Permission denied', str(file))

        # Root, who may run the tests, may see each file.
        with fixtures.MonkeyPatch('ironic_reservations.db.sqlite_file.'
                                  'read_by_others', denied):
            self.found('Database file', _FAILURE, 'as the user of the service')

    def test_database_file_that_the_user_of_the_check_may_not_write(
            self) -> None:
        """All checks passed, and the service could not write."""
        file = self.folder / 'reservations.sqlite'
        real = os.access

        # Root, who may run the tests, may write to each file.
        with fixtures.MonkeyPatch('os.access', lambda path, mode: (
                pathlib.Path(path) != file and real(path, mode))):
            self.found('Database file', _FAILURE, f'not write to {file}')

    def test_user_of_http_basic_inside_ironic_needs_no_endpoint(self) -> None:
        self.write('[ironic]\nauth_type = http_basic\nusername = ours\n'
                   'password = s3cret')
        self.assertEqual({}, self.check())

    def test_database_file_that_all_may_read(self) -> None:
        (self.folder / 'reservations.sqlite').chmod(0o644)
        self.found('Database file', _WARNING, 'chmod 600')

    def test_file_with_a_secret_that_all_may_read(self) -> None:
        self.write('[ironic]\npassword = s3cret')
        self.file.chmod(0o644)
        self.found('File modes', _WARNING, f'chmod 0640 {self.file}')

    def test_file_without_secrets_may_be_read(self) -> None:
        self.file.chmod(0o644)
        self.assertEqual({}, self.check())

    def test_variable_that_sets_nothing(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable(
            'IRONIC_RESERVATIONS_API_PORT', '1'))
        self.found('Environment variables', _WARNING, 'API__PORT meant?')

    def test_clock_that_is_off(self) -> None:
        for ahead, result in ((3, _WARNING), (-60, _FAILURE)):
            off = datetime.timedelta(seconds=ahead)
            real = clock.utc_now
            with fixtures.MonkeyPatch(
                    'ironic_reservations.clock.utc_now',
                    lambda off=off, real=real: real() + off):
                self.found('Clock', result, 'Run NTP')

    def test_database_that_does_not_return_the_time(self) -> None:
        """The check succeeded."""
        with fixtures.MonkeyPatch(
                'ironic_reservations.db.clock.DatabaseClock.known',
                lambda *arguments: None):
            self.found('Clock', _FAILURE, 'does not return the time')

    def test_no_process_follows_the_nodes(self) -> None:
        self.know_a_node()
        self.found('Reconciler', _WARNING, 'No process mirrors')


class ServiceUserTest(InstalledTestCase):
    """The user at a real Ironic."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic = self.useFixture(ironic.RealIronic(
            users={'ours': 'right'}, middleware=False))

    def user(self, password: str) -> None:
        """Name the user in the file."""
        self.write('[ironic]\nauth_type = http_basic\nusername = ours\n'
                   f'password = {password}\n'
                   f'endpoint_override = {self.ironic.url}')

    def test_wrong_password_and_a_user_who_sees_no_nodes(self) -> None:
        self.user('wrong')
        self.found('Service user', _FAILURE, 'credentials')
        self.user('right')
        self.assertEqual({}, self.check())
        self.know_a_node()
        self.found('Service user', _FAILURE, 'shows no nodes')
