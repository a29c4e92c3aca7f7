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

"""Flavors of all kinds, and how Nova reads them."""

from hypothesis import strategies as st

from ironic_reservations.model import flavors

amounts = (st.integers(0, 5).map(str)
           | st.sampled_from(('-1', 'one', '1.0', '', ' 1 ', '+1', '1_0')))
classes = st.sampled_from(('VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU',
                           'CUSTOM_GOLD', 'CUSTOM_gold-1', 'gold', ''))
suffixes = st.sampled_from(('', '1', '2', '_net', 'A-b'))
traits = st.sampled_from(('CUSTOM_A', 'HW_CPU_X86_VMX', 'custom-a'))
pairs = (st.tuples(st.builds('resources{}:{}'.format, suffixes, classes),
                   amounts)
         | st.tuples(st.builds('trait{}:{}'.format, suffixes, traits),
                     st.sampled_from(('required', 'forbidden', 'maybe')))
         | st.tuples(st.just('group_policy'),
                     st.sampled_from(('none', 'isolate', 'any'))))
FLAVORS = st.builds(
    flavors.Flavor, vcpus=st.integers(0, 4), ram_mb=st.integers(0, 4),
    disk_gb=st.integers(0, 4), ephemeral_gb=st.integers(0, 2),
    swap_mb=st.sampled_from((0, 1, 1024, 1025)),
    extra_specs=st.lists(pairs, max_size=6).map(dict),
    boots_from_volume=st.booleans())


def as_nova(request):
    """Return a request in the form of nova_flavors."""
    return {group.suffix: (dict(group.resources), group.required,
                           group.forbidden) for group in request.groups}
