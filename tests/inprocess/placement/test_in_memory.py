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

from oslo_policy import policy
import testtools

from ironic_reservations import conf as project_conf
from tests.inprocess.placement import in_memory


class TestInMemory(testtools.TestCase):

    def test_defaults_of_policies_are_left_as_they_were(self):
        """Tests of who may what came after it in the same process, and failed.
        """
        def enforced():
            conf = project_conf.load(config_files=[])
            policy.Enforcer(conf)
            return conf.oslo_policy.enforce_new_defaults
        self.assertTrue(enforced())
        with in_memory.InMemory():
            pass
        self.assertTrue(enforced())
