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

"""Each kind of notice has a template, and is in the operator's guide."""

from __future__ import annotations

import datetime
import pathlib
import re
import string

import testtools
import yaml

from ironic_reservations import conf
from ironic_reservations.features.notices import notice_text
from ironic_reservations.model import notices

ROOT = pathlib.Path(__file__).parents[2]
TEMPLATES = ROOT / 'ironic_reservations/features/notices/templates'
PAGE = ROOT / 'doc' / 'source' / 'admin' / 'notices.rst'
#: Files that are not templates of notices.
AROUND = ('entry', 'digest')


class TestKinds(testtools.TestCase):

    def test_each_has_a_template(self):
        self.assertEqual(
            sorted([*(kind.value for kind in notices.Kind), *AROUND]),
            sorted(path.stem for path in TEMPLATES.iterdir()))

    def test_each_has_a_row_in_the_guide(self):
        table = PAGE.read_text().partition('The notifications on')[0]
        self.assertEqual(
            {kind.value for kind in notices.Kind},
            set(re.findall(r'^   \* - ``(\w+)``$', table, re.MULTILINE)))

    def test_each_is_in_the_history_of_the_api(self):
        """Each is in the OpenAPI description, and in the reference of the API.
        """
        kinds = {kind.value for kind in notices.Kind}
        api = yaml.safe_load((
            ROOT / 'ironic_reservations' / 'api' / 'openapi.yaml').read_text())
        entry = api['components']['schemas']['LeaseHappening']
        self.assertEqual(kinds, set(entry['properties']['notice']['enum']))
        reference = yaml.safe_load((
            ROOT / 'api-ref/source/parameters-leases.yaml').read_text())
        self.assertEqual(kinds, set(re.findall(
            r'``(\w+)``', reference['history_notice']['description'])))

    def test_each_channel_and_outcome_is_in_the_history_of_the_api(self):
        """A new one is a new version, with a line in the OpenAPI description.
        """
        api = yaml.safe_load((
            ROOT / 'ironic_reservations' / 'api' / 'openapi.yaml').read_text())
        sent = api['components']['schemas']['LeaseHappening']['properties'][
            'sent']['items']['properties']
        self.assertEqual([each.value for each in notices.Channel],
                         sent['channel']['enum'])
        self.assertEqual([*(each.value for each in notices.Outcome), None],
                         sent['outcome']['enum'])

    def test_guide_has_each_placeholder(self):
        page = PAGE.read_text()
        used = {name for path in TEMPLATES.iterdir() for name in
                string.Template(path.read_text()).get_identifiers()}
        self.assertEqual(set(), {
            name for name in used if f'``${name}``' not in page})


class TestText(testtools.TestCase):

    def test_times_are_for_people(self):
        """Times have whole seconds; programs read exact ones in ``data``."""
        payload = {'id': 'one', 'timestamp': '2026-03-02T09:30:12.120394'
                                             '+00:00',
                   'data': {'name': 'training', 'lease_id': 'l',
                            'start_date': '2026-03-02T09:00:00+00:00',
                            'end_date': '2026-03-06T17:00:01.473772+00:00'}}
        notice = notices.Notice(
            'row', 'one', notices.Channel.MAIL, 'anna', notices.Kind.STARTED,
            'l', None, 'anna', payload, datetime.datetime.now(datetime.UTC))
        written = notice_text.entry(conf.load(), notice)
        self.assertIn('until 2026-03-06 17:00:01 UTC.', written)
        self.assertIn('from 2026-03-02 09:00 UTC to 2026-03-06 17:00:01 UTC',
                      written)
        self.assertIn('Notice one of 2026-03-02 09:30:12 UTC.', written)
