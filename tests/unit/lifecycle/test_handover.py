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

"""The return of a node on which its holder has acted."""

import dataclasses
import datetime

import testtools

from ironic_reservations.lifecycle import handover
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import handovers
from ironic_reservations.model import mirrored_node

ACT, PHASE = lease_cycle.Act, handovers.Phase
_NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
_FIELDS = {'created_at': 'then', 'extra': {}, 'boot_mode': None,
           'power_state': 'power off', 'driver_info': {'password': '******'}}


class HandoverTest(testtools.TestCase):

    def _next(self, acts, phase=PHASE.LENT, dirty=True, now=None, vifs=(),
              **node):
        """Return the next step for a node, with its fields as they are now."""
        lent = handovers.Document(_FIELDS)
        made = dataclasses.replace(handovers.first(
            'node', 'holder', lent, acts, _NOON),
            phase=phase, dirty=dirty)
        known = mirrored_node.Node('node', **node)
        return handover.next_step(
            lease_cycle.at_end(known, 'undeploy'), known, made,
            handovers.Document({**_FIELDS, **(now or {})}, vifs))

    def test_port_was_left_bound_in_neutron(self):
        """Ironic unbinds it only if the node is available or deployed."""
        def paths(*known, **more):
            step = self._next(['vif'], *known, vifs=('his',), **more)
            return step.act, [each.path for each in step.corrections]
        detached = (ACT.AGAIN, ['vifs/his'])
        self.assertEqual(detached, paths())
        self.assertEqual(detached, paths(now={'power_state': 'power on'}))
        managed = {'provision_state': 'manageable'}
        self.assertEqual((ACT.PROVIDE, []), paths(PHASE.MANAGED, **managed))
        self.assertEqual(detached, paths(PHASE.PROVIDED))
        # These nodes are not made available again.
        self.assertEqual(detached, paths(**managed))
        self.assertEqual(detached, paths(PHASE.MANAGED, retired=True,
                                         **managed))

    def test_node_that_was_acted_on_is_cleaned_before_its_release(self):
        """Any correction may remain; an untouched node stays as it is."""
        for now in ({}, {'extra': {'a': 1}}):
            step = self._next(['/extra/a'], now=now)
            self.assertEqual((ACT.MANAGE, PHASE.MANAGED),
                             (step.act, step.phase))
        self.assertIs(ACT.RELEASE, self._next(
            ['/extra/a'], PHASE.PROVIDED).act)
        self.assertIs(ACT.RELEASE, self._next([], dirty=False).act)

    def test_unknown_value_keeps_no_instance_running(self):
        """One refused setting kept the node deployed for ever."""
        now = {'boot_mode': 'uefi'}
        self.assertIs(ACT.UNDEPLOY, self._next(
            ['boot_mode'], now=now, provision_state='active').act)
        self.assertIs(ACT.MANAGE, self._next(['boot_mode'], now=now).act)
        step = self._next(['boot_mode'], PHASE.PROVIDED, now=now)
        self.assertEqual((ACT.WAIT, True), (step.act, step.flag))
        self.assertIn('boot_mode', step.why)
        self.assertIs(ACT.RELEASE, self._next(
            ['boot_mode'], PHASE.PROVIDED, now=now, maintenance=True).act)

    def test_secret_is_not_written_as_ironic_shows_it(self):
        step = self._next(['/driver_info/password'], PHASE.PROVIDED,
                          now={'driver_info': {'password': '*' * 6 + 'x'}})
        self.assertEqual((ACT.WAIT, ()), (step.act, step.corrections))
        self.assertIn('secret', step.why)

    def test_retired_node_is_left_to_the_operator(self):
        """Ironic never provides such a node, and its lease waited for ever."""
        for phase in (PHASE.MANAGED, PHASE.PROVIDED):
            self.assertIs(ACT.RELEASE, self._next(
                ['power'], phase, provision_state='manageable',
                retired=True).act)

    def test_maintenance_keeps_only_what_is_to_be_done(self):
        self.assertIs(ACT.WAIT, self._next(['power'], maintenance=True).act)
        self.assertIs(ACT.RELEASE, self._next(
            ['power'], PHASE.PROVIDED, maintenance=True).act)
        self.assertIs(ACT.RELEASE, self._next(
            ['power'], dirty=False, maintenance=True).act)
        step = self._next(['/extra/a'], dirty=False, maintenance=True,
                          now={'extra': {'a': 1}})
        self.assertEqual((ACT.AGAIN, 1), (step.act, len(step.corrections)))

    def test_node_that_was_made_anew_keeps_what_it_has(self):
        step = self._next(['/extra/a'], PHASE.PROVIDED, now={
            'created_at': 'now', 'extra': {'a': 1}})
        self.assertEqual((ACT.RELEASE, ()), (step.act, step.corrections))

    def test_keys_with_slashes_are_put_back(self):
        step = self._next(['/extra/a~1b~0c'], PHASE.PROVIDED,
                          now={'extra': {'a/b~c': 1}})
        self.assertEqual([[{'op': 'remove', 'path': '/extra/a~1b~0c'}]],
                         [each.body for each in step.corrections])

    def test_cleaning_that_fails_is_tried_once(self):
        failed = {'provision_state': 'clean failed'}
        self.assertIs(ACT.MANAGE, self._next(['clean'], **failed).act)
        step = self._next(['clean'], PHASE.PROVIDED, **failed)
        self.assertEqual((ACT.WAIT, PHASE.FAILED, True),
                         (step.act, step.phase, step.flag))
        self.assertIs(ACT.RELEASE, self._next(
            ['clean'], PHASE.FAILED, provision_state='manageable').act)

    def test_hold_of_the_holder_is_aborted(self):
        for state in ('clean hold', 'inspect wait'):
            self.assertIs(ACT.ABORT, self._next(
                ['manage', 'clean'], provision_state=state).act, state)

    def test_operator_who_manages_it_keeps_it(self):
        self.assertIs(ACT.RELEASE, self._next(
            ['power'], provision_state='manageable').act)
