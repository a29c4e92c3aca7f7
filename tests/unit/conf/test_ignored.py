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

"""A variable with our prefix that sets nothing is reported with the reason."""

from __future__ import annotations

import pathlib

from ironic_reservations.conf import known
from tests.unit.conf import configured

_GENERATOR = (pathlib.Path(__file__).parents[3] / 'tools' / 'config'
              / 'ironic-reservations-config-generator.conf')


class IgnoredTest(configured.EnvironmentTestCase):

    def ignored(self, name, value='7', text=''):
        self.warnings.clear()
        self.set(**{name: value})
        self.load(text)
        self.set(**{name: None})
        return ' '.join(self.warnings)

    def test_option_that_is_meant_is_named(self):
        for wrong, right in (
                ('DATABASE_CONNECTION', 'DATABASE__CONNECTION'),
                ('DATABASE__CONECTION', 'DATABASE__CONNECTION'),
                ('API___PORT', 'API__PORT'),
                ('KEYSTONE_AUTHTOKEN_PASWORD',
                 'KEYSTONE_AUTHTOKEN__PASSWORD'),
                ('GUARD__PASSAGE_TIMEOUT', 'GUARD__IN_FLIGHT_TIMEOUT'),
                ('PLACEMENT__SETTLE_INTERVAL',
                 'PLACEMENT__RECOVER_INTERVAL')):
            self.assertEqual(
                f'The environment variable IRONIC_RESERVATIONS_{wrong} is '
                'ignored, since it names no option. Is '
                f'IRONIC_RESERVATIONS_{right} meant?',
                self.ignored(f'IRONIC_RESERVATIONS_{wrong}'))

    def test_where_nothing_is_like_it_the_form_is_told(self):
        self.assertEqual(
            'The environment variable IRONIC_RESERVATIONS_X__Y is ignored, '
            'since it names no option. The name of one is '
            'IRONIC_RESERVATIONS_<SECTION>__<OPTION>, in upper case.',
            self.ignored('IRONIC_RESERVATIONS_X__Y'))

    def test_value_is_never_told(self):
        """It may be a secret in a variable with a misspelt name."""
        self.assertNotIn('s3cret', self.ignored(
            'IRONIC_RESERVATIONS_IRONIC__PASWORD', 's3cret'))

    def test_options_of_libraries_are_no_mistakes(self):
        for name in ('DEFAULT__DEBUG', 'DEFAULT__TRANSPORT_URL',
                     'KEYSTONE_AUTHTOKEN__WWW_AUTHENTICATE_URI',
                     'OSLO_POLICY__POLICY_FILE',
                     'OSLO_MESSAGING_NOTIFICATIONS__DRIVER',
                     'OSLO_MESSAGING_RABBIT__SSL', 'IRONIC__AUTH_URL',
                     'HEALTHCHECK__BACKENDS'):
            self.assertEqual('', self.ignored(f'IRONIC_RESERVATIONS_{name}'),
                             name)

    def test_options_depend_on_how_a_service_is_signed_in_to(self):
        name = 'IRONIC_RESERVATIONS_IRONIC__APPLICATION_CREDENTIAL_SECRET'
        self.assertIn('names no option', self.ignored(name))
        self.assertEqual('', self.ignored(
            name, text='[ironic]\nauth_type = v3applicationcredential\n'))

    def test_variables_of_others_that_begin_alike_are_left_alone(self):
        self.assertEqual('', self.ignored('IRONIC_RESERVATIONS_HOME'))

    def test_all_that_the_sample_has_is_known(self):
        text = _GENERATOR.read_text()
        self.assertEqual(
            {f'namespace = {name}'
             for name in ('ironic_reservations', *known.LIBRARIES)},
            {line for line in text.splitlines()
             if line.startswith('namespace')})
