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

"""Our options are read under a prefix of our own, and no others.

OS_DATABASE__CONNECTION, which sets Ironic's database, also set ours if both
ran in one process; so did 28 more variables.
"""

from __future__ import annotations

import pathlib
import re

from hypothesis import given
from hypothesis import strategies as st
from oslo_config import cfg
from oslo_policy import opts as policy_opts

from ironic_reservations import conf as project_conf
from ironic_reservations.conf import environment
from ironic_reservations.conf import known
from tests import examples
from tests.unit.conf import configured

_ROOT = pathlib.Path(__file__).parents[3] / 'ironic_reservations'


class OfIronicTest(configured.EnvironmentTestCase):

    def test_database_of_ironic_is_not_ours(self):
        self.set(OS_DATABASE__CONNECTION='sqlite:///of-ironic')
        ironic = cfg.ConfigOpts()
        ironic.register_opt(cfg.StrOpt('connection'), 'database')
        ironic([])
        self.assertEqual('sqlite:///of-ironic', ironic.database.connection)
        self.assertIsNone(self.load().database.connection)

    def test_no_option_is_read_under_the_prefix_of_others(self):
        conf = self.load()
        for group, option in known.own():
            with self.subTest(group=group, option=option.dest):
                if _has(conf, group, option):
                    self.set(**{f'OS_{group.upper()}__{option.dest.upper()}':
                                'of Ironic'})
        before = _values(conf)
        self.assertGreater(len(before), 150)
        self.assertEqual(before, _values(self.load()))

    def test_nothing_else_makes_a_configuration(self):
        """A configuration without the class reads all variables again."""
        made = {str(path.relative_to(_ROOT)): len(found)
                for path in sorted(_ROOT.rglob('*.py'))
                if (found := re.findall(r'\bcfg\.ConfigOpts\(\)',
                                        path.read_text()))}
        # The guard replaces the configuration of an Ironic that runs
        # elsewhere, without options; a check reads that of Ironic as Ironic
        # does.
        self.assertEqual({'cmd/mistakes.py': 1, 'guard/middleware.py': 1},
                         made)

    def test_other_oslo_config_is_refused_and_not_read_past(self):
        class Other(environment.OwnConfigOpts):
            """An object that reads the environment under another name."""

            def __setattr__(self, name, value):
                super().__setattr__(name.replace('_env_driver', '_other'),
                                    value)
        self.assertIn('oslo.config',
                      str(self.assertRaises(RuntimeError, Other)))


class OursTest(configured.EnvironmentTestCase):

    def test_variable_comes_before_the_file(self):
        self.set(IRONIC_RESERVATIONS_RESERVATIONS__DEFAULT_TTL='60')
        conf = self.load('[reservations]\ndefault_ttl = 70\n')
        self.assertEqual(60, conf.reservations.default_ttl)

    def test_section_of_no_name_is_called_default(self):
        self.set(IRONIC_RESERVATIONS_DEFAULT__STATE_PATH='/srv')
        self.assertEqual('/srv', self.load().state_path)

    def test_options_that_come_later_are_read(self):
        """Libraries register their options when they are used."""
        self.set(IRONIC_RESERVATIONS_OSLO_POLICY__POLICY_FILE='of-ours.yaml')
        conf = self.load()
        policy_opts._register(conf)
        self.assertEqual('of-ours.yaml', conf.oslo_policy.policy_file)

    def test_list_is_separated_by_commas(self):
        self.set(IRONIC_RESERVATIONS_IRONIC__VALID_INTERFACES='public, admin')
        self.assertEqual(['public', 'admin'],
                         self.load().ironic.valid_interfaces)

    def test_option_that_a_file_has_on_several_lines_is_no_list_of_letters(
            self):
        """oslo.config takes 'a,b' for a, a comma and b."""
        self.set(IRONIC_RESERVATIONS_OSLO_POLICY__POLICY_DIRS='one, two')
        conf = self.load()
        policy_opts._register(conf)
        self.assertEqual(['one', 'two'], conf.oslo_policy.policy_dirs)

    @examples.settings(100)
    @given(st.text(st.sampled_from('$\\{}_abc.%@ '), max_size=9))
    def test_value_is_taken_as_it_is(self, password):
        """A dollar in a password named another option, and stopped the start.
        """
        self.set(IRONIC_RESERVATIONS_LEASES__ENFORCEMENT_TOKEN=password)
        self.assertEqual(password.strip() or None,
                         self.load().leases.enforcement_token)

    def test_space_round_a_value_is_left_out_as_in_a_file(self):
        """Stored secrets often end with a line end."""
        self.set(IRONIC_RESERVATIONS_LEASES__ENFORCEMENT_TOKEN=' t0ken\n')
        self.assertEqual('t0ken', self.load().leases.enforcement_token)

    def test_empty_variable_hides_nothing(self):
        """A lost connection became SQLite, whatever the file contained."""
        self.set(IRONIC_RESERVATIONS_DATABASE__CONNECTION='',
                 IRONIC_RESERVATIONS_API__PORT=' ')
        conf = self.load('[database]\nconnection = sqlite:////ours\n')
        self.assertEqual('sqlite:////ours', conf.database.connection)
        self.assertEqual(6386, conf.api.port)
        self.assertEqual(
            ['The environment variable IRONIC_RESERVATIONS_API__PORT is empty '
             'and is ignored. Set the option in the configuration file if it '
             'is to be empty.',
             'The environment variable '
             'IRONIC_RESERVATIONS_DATABASE__CONNECTION is empty and is '
             'ignored. Set the option in the configuration file if it is to '
             'be empty.'], self.warnings)


class InvalidTest(configured.EnvironmentTestCase):
    """oslo.config finds it only when the value is read, during a request.
    """

    def test_variable_is_named(self):
        self.set(IRONIC_RESERVATIONS_API__PORT='many')
        for text in ('', '[api]\nport = 7\n'):
            self.assertEqual(
                '[api] port (environment variable '
                'IRONIC_RESERVATIONS_API__PORT) is not valid: invalid literal '
                "for int() with base 10: 'many'", self.refused(text))

    def test_line_of_the_file_is_named(self):
        self.assertEqual(
            f'[api] port ({self.file}, line 4) is not valid: invalid literal '
            "for int() with base 10: 'many'",
            self.refused('[guard]\n[api]\nport = 1\nport = many\n'))

    def test_all_values_that_are_wrong_are_named_at_once(self):
        """Only the first was."""
        self.set(IRONIC_RESERVATIONS_API__THREADS='few')
        lines = self.refused('[api]\nport = many\n[database]\n'
                             'connection = none\n').splitlines()
        self.assertEqual(
            {'[api] port', '[api] threads', '[database] connection'},
            {line.partition(' (')[0] for line in lines})

    def test_float_that_is_no_number_is_refused(self):
        """Every clock was within a limit of "nan"."""
        self.assertEqual(
            f'[database] max_clock_skew ({self.file}, line 2) is not valid: '
            'it is not a number',
            self.refused('[database]\nmax_clock_skew = nan\n'))

    def test_former_name_is_found_as_well(self):
        self.assertIn(f'[guard] in_flight_timeout ({self.file}, line 2)',
                      self.refused('[guard]\npassage_timeout = ever\n'))

    def test_option_that_is_not_there_is_named(self):
        """A password with a dollar was only called a secret."""
        for option, text in (
                ('[database] connection',
                 '[database]\nconnection = mysql://u:$nowhere@h/x\n'),
                ('[DEFAULT] state_path',
                 '[DEFAULT]\nstate_path = /$nowhere\n')):
            self.assertEqual(
                f'{option} ({self.file}, line 2) is not valid: "$" refers to '
                'another option in a file, and there is none of that name; '
                'write "$$" for "$"', self.refused(text))

    def test_password_in_the_url_is_encoded(self):
        """The driver asked for a host that was a part of the password."""
        for password in ('s3cr@et', '@', 'a@b@c', 'a@b/c'):
            said = self.refused('[database]\nconnection = mysql+pymysql://'
                                f'u:{password}@host/x\n')
            self.assertIn('is not valid: the characters @ :', said)
            self.assertNotIn('s3cr', said)
        self.load('[database]\nconnection = mysql+pymysql://u:%40@host/x'
                  '?ssl_ca=/etc/ca@home.pem\n')
        self.load('[database]\nconnection = sqlite:////a@b/c@d.sqlite\n')

    def test_url_without_a_database_is_refused(self):
        """The commands ended with an AssertionError."""
        for end in ('', '/', '/?charset=utf8mb4'):
            self.assertIn('is not valid: it names no database', self.refused(
                f'[database]\nconnection = mysql+pymysql://u@host{end}\n'))

    def test_database_of_another_kind_is_refused(self):
        """SQLAlchemy had no plugin, or pip was to install a driver."""
        for scheme in ('postgres', 'oracle', 'mssql+pyodbc'):
            self.assertIn(
                f'"{scheme.partition("+")[0]}" is none of the databases',
                self.refused(f'[database]\nconnection = {scheme}://u:p@h/x\n'))

    def test_sqlite_that_each_process_has_for_itself_is_refused(self):
        """All checks passed, and each process promised the same nodes."""
        for path in ('', '/', '/:memory:', '/b.sqlite', '/var/lib/b.sqlite',
                     '/file:b?mode=memory&cache=shared&uri=true'):
            said = self.refused(f'[database]\nconnection = sqlite://{path}\n')
            self.assertIn('sqlite:////var/lib/', said)
            self.assertIn('its path is not absolute', said)
        self.assertIn('[DEFAULT] state_path', self.refused(
            '[DEFAULT]\nstate_path = state\n'))

    def test_file_in_another_encoding_is_named(self):
        """Neither the file nor UTF-8 was named."""
        self.file.write_bytes(b'[DEFAULT]\nstate_path = /gr\xfcn\n')
        said = str(self.assertRaises(
            cfg.Error, project_conf.load, config_files=[str(self.file)]))
        self.assertIn(f'{self.file}: it is not in UTF-8', said)
        said = str(self.assertRaises(
            cfg.Error, project_conf.load, ['--config-file', str(self.file)]))
        self.assertIn(f'{self.file}: it is not in UTF-8', said)

    def test_text_that_is_no_url_is_named_without_its_password(self):
        said = self.refused('[database]\nconnection = mysql//u:s3cret@h/x\n')
        self.assertIn(f'[database] connection ({self.file}, line 2) is not '
                      'valid: it is no URL', said)
        self.assertNotIn('s3cret', said)


def _has(conf, group, option):
    return option.dest in (conf if group == known.DEFAULT else
                           conf[group] if group in conf else ())


def _values(conf):
    return {(group, option.dest):
            (conf if group == known.DEFAULT else conf[group])[option.dest]
            for group, option in known.own() if _has(conf, group, option)}
