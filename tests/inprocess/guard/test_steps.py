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

"""Steps and boot modes that a holder names, by what they leave behind."""

from typing import Any

import testtools

from ironic_reservations.guard import node_acts
from ironic_reservations.model import handovers

_UNKNOWN = handovers.UNKNOWN_STEPS


def _steps(*named: str) -> list[dict[str, str]]:
    return [dict(zip(('interface', 'step'), each.split('.'), strict=True))
            for each in named]


class StepsTestCase(testtools.TestCase):

    def assert_acts(self, *expected: str, **body: Any) -> None:
        self.assertEqual(
            ('clean', handovers.STEPS, *expected),
            node_acts.of_provision('clean', {'target': 'clean', **body}))

    def test_steps_that_may_change_anything(self) -> None:
        """Nobody knew of the user that a raw command had added to a BMC."""
        for name in ('vendor.send_raw', 'management.clear_secure_boot_keys',
                     'management.reset_secure_boot_keys_to_default',
                     'management.known_good_state', 'vendor.deploy',
                     'management.update_firmware', 'deploy.of_another_image',
                     'power.of_a_driver', 'of.nothing'):
            for key in ('clean_steps', 'deploy_steps', 'service_steps'):
                self.assert_acts(_UNKNOWN, **{
                    key: _steps('deploy.erase_devices', name)})
        self.assert_acts(_UNKNOWN, runbook='of somebody')
        for odd in (None, 'send_raw', ['send_raw'], {}, {'step': ['a']}):
            self.assert_acts(_UNKNOWN, clean_steps=[odd])

    def test_steps_whose_effects_ironic_shows(self) -> None:
        self.assert_acts(
            'steps:bios', 'steps:firmware', 'steps:raid', clean_steps=_steps(
                'bios.factory_reset', 'firmware.update',
                'raid.delete_configuration', 'raid.create_configuration'))

    def test_steps_that_leave_nothing(self) -> None:
        self.assert_acts(clean_steps=_steps(
            'deploy.erase_devices', 'deploy.erase_devices_metadata',
            'power.reboot', 'deploy.power_on'))
        self.assert_acts(clean_steps=[])
        self.assert_acts(clean_steps=None, runbook=None)

    def test_steps_on_the_children_of_a_node(self) -> None:
        """Ironic showed the settings of the parent only, which are as before.
        """
        for name in ('bios.factory_reset', 'firmware.update',
                     'deploy.write_image', 'raid.delete_configuration'):
            (step,) = _steps(name)
            self.assert_acts(_UNKNOWN, clean_steps=[
                {**step, 'execute_on_child_nodes': True}])
        self.assert_acts(clean_steps=[
            {'interface': 'power', 'step': 'power_on',
             'execute_on_child_nodes': True}])

    def test_names_of_these_acts_are_kept(self) -> None:
        """A longer name is no act of a handover."""
        for name in (_UNKNOWN, handovers.steps_of('firmware')):
            self.assertLessEqual(len(name), 32)
            self.assertIn(name, node_acts.OF_LESSEES)


class BootModesTestCase(testtools.TestCase):
    """Ironic leaves a machine in the boot mode of its last deploy."""

    def acts(self, path: str, value: Any) -> set[str]:
        """Return the acts on the boot by a PATCH of instance_info."""
        return {'boot_mode', 'secure_boot'} & node_acts.recorded([{
            'op': 'add', 'path': f'/instance_info{path}', 'value': value}])

    def test_each_spelling_of_a_boot_mode(self) -> None:
        for path, value in (
                ('', {'capabilities': {'boot_mode': 'bios'}}),
                ('', {'deploy_boot_mode': 'bios'}),
                ('/capabilities', {'secure_boot': 'true'}),
                ('/capabilities', '{"boot_mode": "bios"}'),
                ('/capabilities', r'{"\u0062oot_mode": "bios"}'),
                ('/capabilities/boot_mode', 'bios'),
                ('//capabilities', {'boot_mode': 'bios'}),
                ('/deploy_boot_mode', 'bios')):
            self.assertEqual({'boot_mode', 'secure_boot'},
                             self.acts(path, value), f'{path} {value}')

    def test_path_without_a_field_was_an_unexpected_error(self) -> None:
        for path in ('', '/', '//'):
            self.assertEqual({'/'}, node_acts.recorded([{
                'op': 'add', 'path': path, 'value': 'boot_mode'}]))

    def test_other_fields_of_a_deploy(self) -> None:
        for path, value in (
                ('', {'capabilities': {'boot_option': 'local'},
                      'configdrive': 'boot_mode\\'}),
                ('', {}), ('', []), ('/configdrive', 'boot_mode'),
                ('/capabilities', {'boot_option': 'local'})):
            self.assertEqual(set(), self.acts(path, value), f'{path} {value}')
