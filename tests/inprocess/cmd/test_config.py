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

"""The command shows each option, its source, and its default value."""

import contextlib
import io
import json
import pathlib

import fixtures
import testtools

from ironic_reservations.cmd import status

_TEXT = """\
[DEFAULT]
transport_url = rabbit://me:s3cret@one:5672,me:s3cret@two:5672/
[database]
# connection = sqlite:///not-this
connection = mysql+pymysql://me:s3cret@db/ours?ssl_key=s3cret
[api]
port = 6385
public_endpoint = https://me:s3cret@api.example.com/
[api]
port : 6387
[ironic]
auth_type = v3applicationcredential
application_credential_secret = s3cret
valid_interfaces = public,
  admin
[guard]
passage_timeout = 7
[oslo_messaging_notifications]
driver = messagingv2
driver = log
"""


class ConfigTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.file = self.folder / 'ours.conf'

    def set(self, **variables):
        for name, value in variables.items():
            self.useFixture(fixtures.EnvironmentVariable(name, value))

    def run_command(self, text, *arguments):
        """Return the exit status and the output of the command."""
        self.file.write_text(text)
        printed, told = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), \
                contextlib.redirect_stderr(told):
            code = status.main(['--config-file', str(self.file), *arguments])
        return code, printed.getvalue(), told.getvalue()

    def test_each_option_has_its_source(self):
        self.set(IRONIC_RESERVATIONS_API__PORT='7000',
                 IRONIC_RESERVATIONS_API__METRICS='no',
                 IRONIC_RESERVATIONS_LEASES__ENFORCEMENT_TOKEN='s3cret',
                 OS_API__HOST='192.0.2.1')
        code, printed, told = self.run_command(_TEXT, 'config')
        self.assertEqual((0, ''), (code, told))
        at = f'    {self.file}, line'
        self.assertEqual([
            '[DEFAULT] transport_url = ***', f'{at} 2',
            '[api] metrics = false',
            '    IRONIC_RESERVATIONS_API__METRICS',
            '[api] port = 7000',
            '    IRONIC_RESERVATIONS_API__PORT, instead of '
            f'{self.file}, line 10',
            '[api] public_endpoint = https://me:***@api.example.com/',
            f'{at} 8',
            '[database] connection = mysql+pymysql://me:***@db/ours',
            f'{at} 5',
            '[guard] in_flight_timeout = 7', f'{at} 17',
            '[ironic] application_credential_secret = ***', f'{at} 13',
            '[ironic] auth_type = v3applicationcredential', f'{at} 12',
            '[ironic] valid_interfaces = public,admin', f'{at} 14',
            '[leases] enforcement_token = ***',
            '    IRONIC_RESERVATIONS_LEASES__ENFORCEMENT_TOKEN',
            '[oslo_messaging_notifications] driver = messagingv2,log',
            f'{at} 20', f'Files: {self.file}'], printed.splitlines())

    def test_no_secret_is_printed_whatever_its_form(self):
        for url in ('mysql://me:s3cret@db/ours', 'mysql://me:s3/cret@db/ours',
                    'mysql://me:s3@cret@db/ours', 'mysql://me:s3#cret@db/x',
                    'mysql://db/ours?password=s3cret', 's3cret',
                    'sqlite:///ours?key=s3cret'):
            for arguments in (('config',), ('config', '--json')):
                _, printed, _ = self.run_command(
                    f'[database]\nconnection = {url}\n', *arguments)
                self.assertNotIn('cret', printed, url)

    def test_program_reads_the_same(self):
        self.set(IRONIC_RESERVATIONS_API__PORT='7000',
                 IRONIC_RESERVATIONS_NOWHERE__PORT='7000')
        code, printed, _ = self.run_command(
            '[api]\nport = 1\n[guard]\nrequire = always\n', 'config',
            '--json')
        shown = json.loads(printed)
        self.assertEqual(0, code)
        self.assertEqual([str(self.file)], shown['files'])
        self.assertEqual(
            [{'section': 'api', 'option': 'port', 'value': 7000,
              'source': 'IRONIC_RESERVATIONS_API__PORT',
              'instead_of': f'{self.file}, line 2'},
             {'section': 'guard', 'option': 'require', 'value': 'always',
              'source': f'{self.file}, line 4', 'instead_of': None}],
            shown['options'])
        self.assertIn('IRONIC_RESERVATIONS_NOWHERE__PORT',
                      shown['ignored'][0])

    def test_folder_of_files_is_read_in_its_order(self):
        folder = self.folder / 'conf.d'
        folder.mkdir()
        for number in (1, 2):
            (folder / f'{number}.conf').write_text(f'[api]\nport={number}\n')
        self.file.write_text('')
        _, printed, _ = self.run_command('', '--config-dir', str(folder),
                                         'config')
        self.assertEqual(
            ['[api] port = 2', f'    {folder}/2.conf, line 2'],
            printed.splitlines()[:2])

    def test_nothing_is_set(self):
        self.assertEqual(
            (0, f'No option is set; each has its default.\nFiles: '
                f'{self.file}\n', ''), self.run_command('', 'config'))

    def test_variable_that_is_ignored_is_told(self):
        self.set(IRONIC_RESERVATIONS_DATABASE_CONNECTION='sqlite:///s3cret')
        _, _, told = self.run_command('', 'config')
        self.assertEqual(
            'The environment variable '
            'IRONIC_RESERVATIONS_DATABASE_CONNECTION is ignored, since it '
            'names no option. Is IRONIC_RESERVATIONS_DATABASE__CONNECTION '
            'meant?\n', told)

    def test_check_before_an_upgrade_warns_of_it(self):
        self.set(IRONIC_RESERVATIONS_DATABASE_CONNECTION='sqlite:///x')
        text = f'[DEFAULT]\nstate_path = {self.folder}\n'
        _, printed, _ = self.run_command(text, 'upgrade', 'check', '--json')
        check = json.loads(printed)['checks'][0]
        self.assertEqual(('Environment variables', 1),
                         (check['check'], check['result']))
        self.assertIn('Is IRONIC_RESERVATIONS_DATABASE__CONNECTION meant?',
                      check['details'])
        self.set(IRONIC_RESERVATIONS_DATABASE_CONNECTION=None)
        _, printed, _ = self.run_command(text, 'upgrade', 'check', '--json')
        self.assertEqual(0, json.loads(printed)['checks'][0]['result'])

    def test_value_that_is_not_valid_is_named_with_its_line(self):
        code, printed, told = self.run_command('[api]\nport = x\n', 'config')
        self.assertEqual((255, ''), (code, printed))
        self.assertIn(f'[api] port ({self.file}, line 2)', told)

    def test_file_may_be_named_with_an_equals_sign(self):
        """With the equals sign, the check read the default file silently."""
        self.file.write_text('[api]\nport = 7\n')
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status.main([f'--config-file={self.file}', 'config'])
        self.assertIn('[api] port = 7\n', printed.getvalue())
