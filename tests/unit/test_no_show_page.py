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

"""The example of the page on unused nodes is a valid configuration."""

import pathlib
import textwrap

import fixtures
import testtools

from ironic_reservations import conf as project_conf
from ironic_reservations.features.no_show import no_show

PAGE = (pathlib.Path(__file__).parents[2] / 'doc' / 'source' / 'admin'
        / 'no-show.rst')


class TestPage(testtools.TestCase):

    def test_configuration_is_what_the_page_says(self):
        _, _, after = PAGE.read_text('utf-8').partition(
            '.. code-block:: ini\n')
        block = textwrap.dedent(after.partition('\n\nHere')[0])
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'a.conf')
        path.write_text(block, 'utf-8')
        terms = no_show.terms(project_conf.load(config_files=[str(path)]))
        self.assertEqual((4 * 3600, 24 * 3600, 24 * 3600), (
            terms.time('gold'), terms.time('tin'),
            terms.time(None)))
        self.assertEqual((3600, False), (terms.warn_before, terms.whole))

    def test_it_is_off_by_default(self):
        self.assertFalse(project_conf.load(
            config_files=[]).leases.no_show_after)
