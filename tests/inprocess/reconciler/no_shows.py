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

"""A lease whose nodes nobody deploys, and the passes that look at them."""

import datetime

from ironic_reservations import errors
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.features.no_show import no_show
from ironic_reservations.features.usage import usage
from ironic_reservations.lifecycle import admit
from tests import leasing
from tests import world
from tests.inprocess.reconciler import leases

WARNING = 'lease.no_show_warning'
#: Two passes may be half an hour apart.
PASSES = {'ironic__full_poll_interval': 900}
APART = datetime.timedelta(minutes=29)


class Passes(leases.TestCase):
    """What the reconcilers do from time to time, unless one says not to."""

    def one_pass(self):
        """Look at Ironic, and at the nodes; nothing if it does not answer."""
        try:
            self.leasing.refresh()
        except errors.IronicUnavailable:
            return
        usage.record_deployments(self.engine)
        no_show.wake(self.engine)

    def pass_until(self, hours):
        """Let time go by, with passes that are not too far apart."""
        clock = self.world.clock
        while clock.now + APART < leasing.at(hours):
            clock.now += APART
            self.one_pass()
            self.work()
        self.at(hours)

    def run_at(self, hours):
        """Do what the reconcilers do until an hour, and all that is left."""
        self.pass_until(hours)
        for _ in range(4):
            self.one_pass()
            self.world.clock.advance(1)
            self.work()


class TestCase(Passes):
    """A lease from one until nine; two hours to deploy, told an hour before.
    """

    options = {'leases__no_show_after': {'gold': 7200, '*': 360000},
               'leases__no_show_warn_before': 3600, **PASSES}
    count = 2

    def setUp(self):
        super().setUp()
        self.nodes = self.leasing.hosts(3, resource_class='gold')
        self.made = self.leasing.create(1, 9, leasing.wish(self.count))
        self.at(1)
        self.work()
        self.proof = self.made.reservations[0].id
        self.mine = sorted(self.leasing.nodes(self.made))
        self.one_pass()
        self.heard.told.clear()

    def deploy(self, node, succeeds=True):
        through = admission.admit(self.engine, node, self.proof)
        if succeeds:
            self.ironic.deploy(node, world.new_uuid())
        admission.close(self.engine, through, succeeds)

    def undeploy(self, node):
        through = admission.admit(self.engine, node, self.proof,
                                act=admit.Act.FREE)
        self.ironic.free(node)
        admission.close(self.engine, through, True)

    def told(self, event):
        return [(lease, reason) for name, lease, reason in self.heard.told
                if name == event]

    def released(self):
        return sorted(set(self.mine) - self.leasing.nodes(self.made))
