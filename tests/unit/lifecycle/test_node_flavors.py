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

"""A flavor as Nova shows it, and the nodes that match it."""

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.model import flavors
from ironic_reservations.model import node_flavors

NO_SIZES = {'resources:VCPU': '0', 'resources:MEMORY_MB': '0',
            'resources:DISK_GB': '0'}
GOLD = {**NO_SIZES, 'resources:CUSTOM_GOLD': '1'}


def shown(specs=None, **fields):
    """Return a flavor as Nova's API shows it."""
    return {
        'id': '7', 'name': 'bm.gold', 'vcpus': 4, 'ram': 8192, 'disk': 40,
        'OS-FLV-EXT-DATA:ephemeral': 0, 'swap': 0, 'rxtx_factor': 1.0,
        'OS-FLV-DISABLED:disabled': False, 'description': None,
        'os-flavor-access:is_public': True, 'links': [],
        'extra_specs': GOLD if specs is None else specs, **fields}


#: Each line: extra specs that are added to those of GOLD, and the result: a
#: request, or the key that is refused. How each key is read is in the tests of
#: the model's flavors.
TABLE = {
    'a class and zeros': ({}, node_flavors.FlavorRequest('CUSTOM_GOLD')),
    'a class without zeros adds to the sizes':
        ({'resources:VCPU': None}, 'resources:VCPU'),
    'an override of a size':
        ({'resources:MEMORY_MB': '2'}, 'resources:MEMORY_MB'),
    'a zero in a group removes the size':
        ({'resources:VCPU': None,
          'resources1:VCPU': '0'}, node_flavors.FlavorRequest('CUSTOM_GOLD')),
    'a class in a group': ({
        'resources:CUSTOM_GOLD': None, 'resources_bm:CUSTOM_GOLD': '1',
        'trait_bm:CUSTOM_A': 'required'
    }, node_flavors.FlavorRequest('CUSTOM_GOLD', frozenset({'CUSTOM_A'}))),
    'an empty request': ({'resources:CUSTOM_GOLD': '0'}, ''),
    'a required trait': ({'trait:CUSTOM_A': 'required'},
                         node_flavors.FlavorRequest('CUSTOM_GOLD',
                                                    frozenset({'CUSTOM_A'}))),
    'a forbidden trait':
        ({'trait:CUSTOM_A': 'forbidden'},
         node_flavors.FlavorRequest('CUSTOM_GOLD',
                                    forbidden=frozenset({'CUSTOM_A'}))),
    'secure boot is a trait':
        ({'os:secure_boot': 'required'},
         node_flavors.FlavorRequest(
             'CUSTOM_GOLD', frozenset({'COMPUTE_SECURITY_UEFI_SECURE_BOOT'}))),
    'two classes': ({'resources:CUSTOM_IRON': '1'}, 'resources:CUSTOM_IRON'),
    'two of a class':
        ({'resources:CUSTOM_GOLD': '2'}, 'resources:CUSTOM_GOLD'),
    'another resource beside': ({'resources:VGPU': '1'}, 'resources:VGPU'),
    'dedicated processors':
        ({'resources:VCPU': None,
          'hw:cpu_policy': 'dedicated'}, 'resources:PCPU'),
    'capabilities are no matter of placement':
        ({'capabilities:boot_mode': 'uefi'},
         node_flavors.FlavorRequest('CUSTOM_GOLD')),
}


class TestWishes(testtools.TestCase):

    def refused(self, key, document):
        error = self.assertRaises(flavors.FlavorRefused,
                                  node_flavors.requested, document)
        self.assertEqual(key, error.key)
        self.assertIn(key.strip(), str(error))

    def test_each_line_of_the_table(self):
        for name, (added, expected) in TABLE.items():
            specs = {key: value for key, value in {**GOLD, **added}.items()
                     if value is not None}
            if isinstance(expected, str):
                self.refused(expected, shown(specs))
            else:
                self.assertEqual(expected,
                                 node_flavors.requested(shown(specs)), name)

    def test_flavor_needs_its_sizes_and_extra_specs_and_no_more(self):
        least = {'vcpus': 1, 'ram': 1, 'disk': 0, 'extra_specs': GOLD}
        self.assertEqual('CUSTOM_GOLD',
                         node_flavors.requested(least).class_name)
        for key in least:
            self.refused(key, {name: value for name, value in least.items()
                               if name != key})

    def test_key_that_no_flavor_has(self):
        self.refused('cpus', shown(cpus=4))
        self.refused('properties', shown(properties=GOLD))

    def test_sizes_are_whole_numbers(self):
        for key in ('vcpus', 'ram', 'disk', 'OS-FLV-EXT-DATA:ephemeral',
                    'swap'):
            for value in (-1, 1.0, '4', True, None, 2 ** 31, []):
                self.refused(key, shown(**{key: value}))
        self.assertEqual('CUSTOM_GOLD',
                         node_flavors.requested(shown(swap='')).class_name)

    def test_extra_specs_are_strings(self):
        self.refused('extra_specs', shown([]))
        self.refused('extra_specs', shown({str(n): '' for n in range(129)}))
        for value in (1, None, ['1'], 'x' * 256):
            self.refused('resources:VCPU',
                         shown({**GOLD, 'resources:VCPU': value}))
        self.refused('x' * 255, shown({**GOLD, 'x' * 256: ''}))

    @hypothesis.given(st.just({}) | st.dictionaries(
        st.sampled_from([*shown(), 'other']),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text()
        | st.dictionaries(st.text() | st.sampled_from([*GOLD]), st.text())))
    def test_whatever_comes_is_read_or_refused_by_name(self, document):
        try:
            wish = node_flavors.requested(document)
        except flavors.FlavorRefused as refused:
            self.assertTrue(str(refused))
            self.assertIsInstance(refused.key, str)
            return
        self.assertRegex(wish.class_name, r'\ACUSTOM_[A-Z0-9_]+\Z')
