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


"""The version header, and the clients' support of new versions."""

from __future__ import annotations

import pathlib
import re

import testtools

from ironic_reservations.api import versions as api_versions
from ironic_reservations_client import versions

ROOT = pathlib.Path(__file__).parents[3]


class VersionsTest(testtools.TestCase):
    """Small rules that could be forgotten."""

    def test_clients_know_the_newest_version(self):
        """A new version of the API must be added to the clients, too."""
        self.assertEqual(api_versions.text(api_versions.MAXIMUM),
                         versions.LATEST)

    def test_pages_have_each_version(self):
        """A new version needs a row in the guide, and in the reference."""
        for page in ('doc/source/user/versions.rst',
                     'api-ref/source/versions.inc'):
            self.assertEqual(
                [api_versions.text(minor) for minor, _
                 in api_versions.HISTORY],
                re.findall(r'^   \* - (\d+\.\d+)$',
                           (ROOT / page).read_text(), re.MULTILINE), page)

    def test_the_service_reads_what_clients_write(self):
        """The header may name other services as well."""
        for beside in (None, '', 'baremetal 1.80', 'baremetal 1.80,compute 2',
                       'Baremetal-Reservation 1.0'):
            self.assertEqual(2, api_versions.OWN.requested(
                versions.header('1.2', beside)))

    def test_lower(self):
        """Only our version is lowered."""
        for served, expected in (
                ('baremetal-reservation 1.2', '1.2'),
                ('baremetal 1.1, baremetal-reservation 1.2', '1.2'),
                ('baremetal-reservation 1.6', None),
                ('baremetal-reservation 1.10', None),
                ('baremetal 1.1', None), ('baremetal-reservation', None),
                ('baremetal-reservation x', None), ('', None)):
            self.assertEqual(expected, versions.lower(
                {versions.MAXIMUM_HEADER: served}, '1.6'), served)
        self.assertIsNone(versions.lower({}, '1.6'))

    def test_too_new(self):
        """Only if no version of the service is one of the client."""
        for served, expected in (
                ('baremetal-reservation 1.0', False),
                (f'baremetal-reservation {versions.LATEST}', False),
                ('baremetal-reservation 1.99', True),
                ('baremetal 9.0, baremetal-reservation 2.0', True),
                ('baremetal 9.0', False), ('baremetal-reservation x', False),
                ('', False)):
            self.assertIs(expected, versions.too_new(
                {versions.MINIMUM_HEADER: served}), served)
        self.assertEqual(api_versions.MINIMUM_HEADER, versions.MINIMUM_HEADER)
