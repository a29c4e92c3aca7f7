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

from __future__ import annotations

import re

from oslo_config import cfg
from oslo_db import options as db_options

from ironic_reservations.conf import known
from tests.unit.conf import configured


class DefaultsTest(configured.EnvironmentTestCase):

    def test_each_default_is_valid(self):
        """Unset options are not checked otherwise."""
        conf = self.load()
        for group, option in known.own():
            values = conf if group == known.DEFAULT else (
                conf[group] if group in conf else ())
            if option.dest in values:
                with self.subTest(group=group, option=option.dest):
                    values[option.dest]

    def test_no_time_leaves_the_calendar(self):
        """Leases that were kept for a million days stopped each sweep."""
        endless = [f'[{group}] {option.name}'
                   for group, option in known.own()
                   if isinstance(option, cfg.IntOpt | cfg.FloatOpt)
                   and option.type.max is None
                   and not option.name.endswith('retry-delay')
                   and option not in db_options.database_opts
                   and re.search('seconds|days', option.help or '')]
        self.assertEqual([], endless)
        self.set(IRONIC_RESERVATIONS_LEASES__RETENTION='1000000')
        refused = self.assertRaises(cfg.ConfigFileValueError, self.load)
        self.assertIn('[leases] retention', str(refused))
