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

"""Options of [nova]: flavors of leases, and their servers."""

from __future__ import annotations

from oslo_config import cfg

from ironic_reservations.conf import times

GROUP = 'nova'
SERVICE_TYPE = 'compute'
# Only clients whose requests name a flavor wait for Nova.
TIMEOUT = 30

OPTS = [
    cfg.BoolOpt('enabled', default=False,
                help='Whether each lease has a private flavor in Nova, and '
                     'its servers are deleted at its end; and whether the '
                     'flavors that lease requests name are read from Nova. '
                     'Needs [placement] enabled, a user that may create '
                     'flavors and sees the servers of all projects, and a '
                     'Nova that offers at least version 2.61 of its API.'),
    cfg.StrOpt('slot_class', default='CUSTOM_IRONIC_SLOT',
               regex='^CUSTOM_[A-Z0-9_]{1,248}$',
               help='A resource class of which private flavors request one '
                    'unit, if they request nothing else from the Ironic node '
                    'itself. Without it, the Nova scheduler finds no host. '
                    'The operator adds one unit to each node, and none to a '
                    'compute host, with a provider.yaml of nova-compute.'),
    cfg.StrOpt('lease_slot_class', default='CUSTOM_LEASE_SLOT',
               regex='^CUSTOM_[A-Z0-9_]{1,248}$',
               help='Like slot_class, for the private flavors of leases that '
                    'have compute hosts. The operator adds one unit to each '
                    'node, and to each compute host one for each server of a '
                    'lease that it may have. It must differ from slot_class: '
                    'otherwise a '
                    'flavor that requests only a slot of a node could place a '
                    'server on a compute host, where none of its resources '
                    'would be counted.'),
    cfg.FloatOpt('min_up_ratio', default=0.5, min=0, max=1,
                 help='Minimum ratio of services that Nova shows as up to all '
                      'enabled services, of the compute hosts that are open '
                      'to leases. If fewer are up, the reason is probably a '
                      'common one, such as a restart of RabbitMQ: for '
                      'outage_grace, no more hosts count as down. With 0, '
                      'each host that Nova shows as down counts as down.'),
    cfg.IntOpt('outage_grace', default=1800, min=0, max=times.CENTURY,
               help='Time, in seconds, for which no more hosts count as down '
                    'while fewer than min_up_ratio are up. Afterwards, their '
                    'leases are flagged or moved.'),
]
