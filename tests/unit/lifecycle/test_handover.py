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

from ironic_reservations.lifecycle import correction
from ironic_reservations.lifecycle import handover
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import handovers
from ironic_reservations.model import in_flight
from ironic_reservations.model import mirrored_node

ACT, NO_ACT = in_flight.Act, lease_cycle.NoAct
PHASE = handovers.Phase
_NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
_FIELDS = {'created_at': 'then', 'extra': {}, 'boot_mode': None,
           'power_state': 'power off', 'driver_info': {'password': '******'},
           'properties': {'cpus': 8}, 'raid_config': {}, 'description': None,
           'automated_clean': None}
_PORT = {'uuid': 'p', 'node_uuid': 'node', 'address': '52:54:00:00:00:01',
         'pxe_enabled': True, 'name': None, 'portgroup_uuid': 'g',
         'internal_info': {}, 'updated_at': 'then'}
_GROUP = {'uuid': 'g', 'node_uuid': 'node', 'name': 'bond', 'mode': 'x'}
_DEVICE = {'boot_device': 'pxe', 'persistent': False}
_LENT = handovers.Document(
    _FIELDS, ports={'p': _PORT}, portgroups={'g': _GROUP}, parts={
        'boot_device': _DEVICE, 'bios': {'vt': 'on'}, 'firmware': {}})


class HandoverTest(testtools.TestCase):

    def _next(self, acts, phase=PHASE.LENT, dirty=True, now=None, vifs=(),
              lent=_LENT, below=None, **node):
        """Return the next step for a node, with its fields as they are now.

        :param below: the parts and ports of its document now.
        """
        made = dataclasses.replace(handovers.first(
            'node', 'holder', lent, acts, _NOON),
            phase=phase, dirty=dirty)
        known = mirrored_node.Node('node', **node)
        return handover.next_step(
            lease_cycle.at_end(known, 'undeploy'), known, made,
            dataclasses.replace(lent, node={**_FIELDS, **(now or {})},
                                vifs=vifs, **(below or {})))

    def assert_kept(self, words, *known, **more):
        """The node waits for the operator, who is told why."""
        step = self._next(*known, **more)
        self.assertEqual((NO_ACT.WAIT, True), (step.act, step.flag))
        self.assertIn(words, step.why)

    def assert_released(self, *known, **more):
        self.assertIs(NO_ACT.RELEASE, self._next(*known, **more).act)

    def test_port_was_left_bound_in_neutron(self):
        """Ironic unbinds it only if the node is available or deployed."""
        def paths(*known, **more):
            step = self._next(['vif'], *known, vifs=('his',), **more)
            return step.act, [each.path for each in step.corrections]
        detached = (NO_ACT.AGAIN, ['vifs/his'])
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
        self.assert_released(['/extra/a'], PHASE.PROVIDED)
        self.assert_released([], dirty=False)

    def test_unknown_value_keeps_no_instance_running(self):
        """One refused setting kept the node deployed for ever."""
        now = {'boot_mode': 'uefi'}
        self.assertIs(ACT.UNDEPLOY, self._next(
            ['boot_mode'], now=now, provision_state='active').act)
        self.assertIs(ACT.MANAGE, self._next(['boot_mode'], now=now).act)
        self.assert_kept('boot_mode', ['boot_mode'], PHASE.PROVIDED, now=now)
        self.assert_released(['boot_mode'], PHASE.PROVIDED, now=now,
                             maintenance=True)

    def test_boot_mode_is_set_back(self):
        lent = dataclasses.replace(_LENT, node={
            **_FIELDS, 'boot_mode': 'bios', 'secure_boot': False})
        step = self._next(
            ['boot_mode', 'secure_boot'], PHASE.MANAGED, lent=lent,
            provision_state='manageable',
            now={'boot_mode': 'uefi', 'secure_boot': True})
        self.assertEqual(
            [('states/boot_mode', {'target': 'bios'}),
             ('states/secure_boot', {'target': False})],
            [(each.path, each.body) for each in step.corrections])

    def test_boot_device_stayed_as_its_holder_set_it(self):
        """It is set once: Ironic sets it itself when it cleans."""
        step = self._next(
            ['boot_device'], PHASE.MANAGED, provision_state='manageable',
            below={'parts': {'boot_device': {'boot_device': 'cdrom'}}})
        self.assertEqual([('PUT', 'management/boot_device', _DEVICE,
                           'boot_device')],
                         [(each.method, each.path, each.body, each.cleared)
                          for each in step.corrections])
        self.assert_released(['boot_device'], PHASE.PROVIDED)

    def test_boot_device_that_nobody_knew_keeps_the_node(self):
        lent = dataclasses.replace(_LENT, parts={'boot_device': None})
        self.assert_kept('boot device', ['boot_device'], PHASE.PROVIDED,
                         lent=lent)

    def _ports(self, acts, ports, groups):
        step = self._next(acts, PHASE.MANAGED, provision_state='manageable',
                          below={'ports': ports, 'portgroups': groups})
        return [(each.method, each.path) for each in step.corrections]

    def test_ports_stayed_as_their_holder_left_them(self):
        """Groups are there before ports are put into them."""
        self.assertEqual([], self._ports(['ports'], {'p': {
            **_PORT, 'updated_at': 'now', 'internal_info': {'a': 1}}},
            {'g': _GROUP}))
        self.assertEqual([('POST', '/v1/portgroups'), ('POST', '/v1/ports')],
                         self._ports(['portgroups'], {}, {}))
        self.assertEqual(
            [('DELETE', '/v1/ports/q'), ('PATCH', '/v1/portgroups/g'),
             ('PATCH', '/v1/ports/p'), ('DELETE', '/v1/portgroups/h')],
            self._ports(['ports'],
                        {'p': {**_PORT, 'name': 'his', 'pxe_enabled': False,
                               'portgroup_uuid': None}, 'q': _PORT},
                        {'g': {**_GROUP, 'mode': 'his'}, 'h': _GROUP}))

    def test_fields_of_a_port_are_put_back(self):
        step = self._next(
            ['ports'], PHASE.MANAGED, provision_state='manageable', below={
                'ports': {'p': {**_PORT, 'name': 'his', 'pxe_enabled': False,
                                'portgroup_uuid': None}}})
        self.assertEqual([[
            {'op': 'remove', 'path': '/name'},
            {'op': 'add', 'path': '/portgroup_uuid', 'value': 'g'},
            {'op': 'replace', 'path': '/pxe_enabled', 'value': True}]],
            [each.body for each in step.corrections])

    def test_ports_of_the_operator_stay(self):
        self.assertEqual([], self._ports(['power'], {}, {}))

    def test_ports_are_put_back_before_the_node_is_cleaned(self):
        """Also if an undeploy has cleaned it before: it boots from them."""
        self.assertIs(ACT.MANAGE, self._next(
            ['ports'], PHASE.UNDEPLOYED, dirty=False,
            below={'ports': {}}).act)

    def test_what_does_not_stay_is_not_cleaned_for_ever(self):
        """It was put back and cleaned, again and again."""
        now = {'properties': {'cpus': 1}}
        for phase in (PHASE.LENT, PHASE.UNDEPLOYED):
            self.assertIs(ACT.MANAGE, self._next(
                ['/properties'], phase, dirty=False, now=now).act)
        self.assert_kept('its properties did not stay', ['/properties'],
                         PHASE.PROVIDED, now=now)
        self.assert_released(['/properties'], PHASE.PROVIDED, now=now,
                             maintenance=True)

    def test_node_out_of_use_with_an_instance_is_cleaned(self):
        """Its holder had bound one, and the next one got it as it was."""
        out_of_use = {'provision_state': 'manageable', 'instance_uuid': 'his'}
        self.assertIs(NO_ACT.AGAIN, self._next(
            ['manage', '/description'], now={'description': 'his'},
            **out_of_use).act)
        self.assertIs(ACT.PROVIDE, self._next(['manage'], **out_of_use).act)
        self.assertIs(ACT.CLEAR_INSTANCE, self._next(
            ['manage'], PHASE.PROVIDED, provision_state='available',
            instance_uuid='his').act)

    def test_network_data_that_were_empty_are_removed(self):
        """Ironic refuses to write them so, and the node was never free."""
        lent = dataclasses.replace(_LENT, node={**_FIELDS, 'network_data': {}})
        step = self._next(['/network_data'], PHASE.MANAGED, lent=lent,
                          provision_state='manageable',
                          now={'network_data': {'links': []}})
        self.assertEqual([[{'op': 'remove', 'path': '/network_data'}]],
                         [each.body for each in step.corrections])

    def test_field_that_was_not_set_is_removed(self):
        """Ironic answers 500 to a description of null, and the lease waited.

        So it does where automated_clean is removed.
        """
        for name, expected in (
                ('description', {'op': 'remove', 'path': '/description'}),
                ('automated_clean', {'op': 'replace', 'value': None,
                                     'path': '/automated_clean'})):
            step = self._next([f'/{name}'], PHASE.MANAGED, now={name: 'his'},
                              provision_state='manageable')
            self.assertEqual([[expected]],
                             [each.body for each in step.corrections])

    def test_field_that_ironic_shows_empty_is_as_it_was(self):
        lent = dataclasses.replace(_LENT, node={**_FIELDS,
                                                'network_data': None})
        self.assert_released(['/network_data'], PHASE.PROVIDED, lent=lent,
                             now={'network_data': {}})

    def test_what_an_inspection_found_stayed(self):
        """A holder could have one begun, and tell it anything."""
        step = self._next(
            ['manage', 'inspect'], PHASE.MANAGED,
            provision_state='manageable', now={'properties': {'cpus': 1}},
            below={'ports': {'p': _PORT, 'q': _PORT}})
        self.assertEqual(
            [('PATCH', ''), ('DELETE', '/v1/ports/q')],
            [(each.method, each.path) for each in step.corrections])

    def test_steps_that_changed_the_machine_keep_it(self):
        """BIOS settings, firmware and RAID stayed as they had left them."""
        for what, now, parts in (
                ('BIOS', {}, {'bios': {'vt': 'off'}}),
                ('firmware', {}, {'firmware': {'bmc': '2'}}),
                ('RAID', {'raid_config': {'a': 1}}, {})):
            self.assert_kept(
                what, ['clean', 'steps'], PHASE.PROVIDED, now=now,
                below={'parts': {**_LENT.parts, **parts}})
        self.assert_released(['clean', 'steps'], PHASE.PROVIDED)

    def test_steps_that_left_traces_in_the_bmc_freed_the_node(self):
        """Raw IPMI can add a user; no document of Ironic shows it."""
        for act in (handovers.UNKNOWN_STEPS, handovers.steps_of('firmware')):
            self.assert_kept('steps of its holder may have changed', [
                'manage', 'clean', handovers.STEPS, act], PHASE.PROVIDED)
        for act in map(handovers.steps_of, ('bios', 'raid')):
            self.assert_released(['clean', handovers.STEPS, act],
                                 PHASE.PROVIDED)

    def test_target_of_the_raid_stayed(self):
        step = self._next(['raid'], PHASE.PROVIDED,
                          now={'target_raid_config': {'logical_disks': []}})
        self.assertEqual([('states/raid', {})], [
            (each.path, each.body) for each in step.corrections])

    def test_unknown_call_of_a_vendor_keeps_the_node(self):
        step = self._next(['vendor_passthru'], PHASE.PROVIDED)
        self.assertEqual((NO_ACT.WAIT, True), (step.act, step.flag))

    def test_error_of_ironic_is_of_what_it_does_later(self):
        now = dataclasses.replace(_LENT, node={
            **_FIELDS, 'last_error': 'Failed to change secure_boot state'})
        at_once, later = (correction.Correction('x', 'PUT', 'x', later=later)
                          for later in (False, True))
        self.assertIn('secure_boot', handover.failed((at_once, later), now))
        self.assertIsNone(handover.failed((at_once,), now))
        self.assertIsNone(handover.failed((later,), _LENT))

    def test_secret_is_not_written_as_ironic_shows_it(self):
        step = self._next(['/driver_info/password'], PHASE.PROVIDED,
                          now={'driver_info': {'password': '*' * 6 + 'x'}})
        self.assertEqual((NO_ACT.WAIT, ()), (step.act, step.corrections))
        self.assertIn('secret', step.why)

    def test_retired_node_is_left_to_the_operator(self):
        """Ironic never provides such a node, and its lease waited for ever."""
        for phase in (PHASE.MANAGED, PHASE.PROVIDED):
            self.assert_released(['power'], phase, retired=True,
                                 provision_state='manageable')

    def test_maintenance_keeps_only_what_is_to_be_done(self):
        self.assertIs(NO_ACT.WAIT, self._next(['power'], maintenance=True).act)
        self.assert_released(['power'], PHASE.PROVIDED, maintenance=True)
        self.assert_released(['power'], dirty=False, maintenance=True)
        step = self._next(['/extra/a'], dirty=False, maintenance=True,
                          now={'extra': {'a': 1}})
        self.assertEqual((NO_ACT.AGAIN, 1), (step.act, len(step.corrections)))

    def test_node_that_was_made_anew_keeps_what_it_has(self):
        step = self._next(['/extra/a'], PHASE.PROVIDED, now={
            'created_at': 'now', 'extra': {'a': 1}})
        self.assertEqual((NO_ACT.RELEASE, ()), (step.act, step.corrections))

    def test_volumes_of_a_node_made_anew_were_taken_for_the_holders(self):
        """The operator who enrolled the node had made them.

        An act of the holder after that would have replaced the document.
        """
        for act in ('/extra/a', 'volume'):
            step = self._next([act], PHASE.MANAGED, provision_state=(
                'manageable'), now={'created_at': 'now'}, below={
                    'targets': {'u': {'node_uuid': 'node'}}})
            self.assertEqual((), step.corrections)

    def test_keys_with_slashes_are_put_back(self):
        step = self._next(['/extra/a~1b~0c'], PHASE.PROVIDED,
                          now={'extra': {'a/b~c': 1}})
        self.assertEqual([[{'op': 'remove', 'path': '/extra/a~1b~0c'}]],
                         [each.body for each in step.corrections])

    def test_cleaning_that_fails_is_tried_once(self):
        failed = {'provision_state': 'clean failed'}
        self.assertIs(ACT.MANAGE, self._next(['clean'], **failed).act)
        step = self._next(['clean'], PHASE.PROVIDED, **failed)
        self.assertEqual((NO_ACT.WAIT, PHASE.FAILED, True),
                         (step.act, step.phase, step.flag))
        self.assert_released(['clean'], PHASE.FAILED,
                             provision_state='manageable')

    def test_hold_of_the_holder_is_aborted(self):
        for state in ('clean hold', 'inspect wait'):
            self.assertIs(ACT.ABORT, self._next(
                ['manage', 'clean'], provision_state=state).act, state)

    def test_operator_who_manages_it_keeps_it(self):
        self.assert_released(['power'], provision_state='manageable')
