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

"""The acts of a holder are kept in a size that no holder can exceed."""

import datetime
import json

import testtools

from ironic_reservations.model import handovers

_NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
_NODE = handovers.Document({'extra': {}, 'description': None})


class HandoverTest(testtools.TestCase):

    def test_acts_of_the_worst_holder_stay_small(self):
        made = handovers.first('node', 'holder', _NODE, (), _NOON)
        for number in range(300):
            made = made.after((
                f'/extra/{number}', f'/junk-{number}',
                f'/extra/{"x" * 5000}{number}',
                f'target-{"x" * 5000}{number}'), _NOON)
        self.assertLess(len(json.dumps([*made.acts])), 4096)
        self.assertIn('/extra', made.acts)

    def test_maintenance_is_known_by_its_mark(self):
        made = handovers.first('node', 'holder', _NODE, (), _NOON)
        for reason in ('', 'smoke', 'r' * 70000):
            self.assertTrue(made.maintains(made.marked(reason)))
            self.assertFalse(made.maintains(reason))
        self.assertFalse(made.maintains(None))

    def test_act_without_an_answer_is_not_over_for_the_next_one(self):
        made = handovers.first('node', 'holder', _NODE, (), _NOON, False)
        self.assertFalse(made.after((), _NOON).settled)
        self.assertFalse(made.undeployed)
        made = handovers.first('node', 'holder', _NODE, (), _NOON)
        self.assertTrue(made.after((), _NOON).settled)
        self.assertTrue(made.after((), _NOON, False).earlier_settled)

    def test_each_act_has_another_time(self):
        made = handovers.first('node', 'holder', _NODE, (), _NOON)
        self.assertLess(made.settles_at, made.after((), _NOON).settles_at)
