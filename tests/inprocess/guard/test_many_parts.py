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

"""A node with many children, which its owner may enroll at will."""

from ironic_reservations import errors
from tests.inprocess.guard import asked

_POWER = ('PUT', ('states', 'power'), {'target': 'power off'})


class ManyPartsTestCase(asked.TestCase):

    def test_power_of_a_node_read_its_children_one_by_one(self) -> None:
        counts = []
        for _ in range(2):
            self.world.enrol(4, parent_node=self.node)
            with self.world.statements() as sent:
                self.assertEqual(202, self.ask(_POWER).status)
            counts.append(len(sent))
        self.assertEqual(counts[0], counts[1], sent)

    def test_child_that_somebody_has_is_found_among_many(self) -> None:
        held, *_ = self.world.enrol(4)
        self.world.reserve(held, project_id='tenant')
        for uuid in (held, *self.world.enrol(3)):
            self.world.ironic.change(uuid, parent_node=self.node)
        self.world.refresh()
        self.assertRaises(errors.ProofRequired, self.ask, _POWER)
