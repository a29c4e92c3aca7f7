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

"""Options of [placement]: the holds in Placement."""

from __future__ import annotations

from oslo_config import cfg

from ironic_reservations.conf import times

GROUP = 'placement'
SERVICE_TYPE = 'placement'
# A client waits for the hold; Placement takes milliseconds.
TIMEOUT = 10

OPTS = [
    cfg.BoolOpt('enabled', default=False,
                help='Whether a promised node is also held in Placement, so '
                     'that the Nova scheduler does not use it. Needs a '
                     'Placement that offers at least version 1.29 of its API; '
                     'from version 1.38 on, the holds have their own consumer '
                     'type.'),
    cfg.IntOpt('grace', default=60, min=1, max=times.CENTURY,
               help='Time, in seconds, in addition to the timeout, after '
                    'which a write without an answer is checked. It must be '
                    'longer than the time for which Placement, and the '
                    'proxies in front of it, may work on a request that its '
                    'client has given up.'),
    cfg.StrOpt('on_deploy', default='keep',
               choices=[('keep', 'The hold is kept until the reservation is '
                                 'over.'),
                        ('move', 'The hold is handed to the instance of the '
                                 'reservation, without a gap, and taken back '
                                 'from it when the reservation is over.')],
               help='Use of a hold when the node is deployed with its '
                    'reservation. The allocation of an instance that already '
                    'has the node in Placement, like each instance scheduled '
                    'by Nova, is never changed. Leases keep their holds.'),
    cfg.IntOpt('recover_interval', default=5, min=1, max=times.CENTURY,
               deprecated_name='settle_interval',
               help='Time, in seconds, between two passes in which the '
                    'reconciler releases holds of promises that have ended '
                    'and completes interrupted writes.'),
    cfg.IntOpt('hosts_interval', default=60, min=1, max=times.CENTURY,
               help='Time, in seconds, between two passes in which the '
                    'reconciler looks for changed compute hosts: their '
                    'inventories, their usage by others than leases, and '
                    'their traits. All unchanged hosts together cost at most '
                    'four requests.'),
    cfg.IntOpt('audit_interval', default=300, min=0, max=times.CENTURY,
               help='Time, in seconds, between two audits, in which the '
                    'reconciler compares all nodes with Placement; 0 switches '
                    'them off. All nodes that have not changed since the last '
                    'audit cost two requests, and one for each class.'),
    cfg.BoolOpt('repair', default=True,
                help='Whether these audits repair differences; otherwise, '
                     'differences are only logged and counted.'),
    cfg.IntOpt('claim_ttl', default=30, min=5, max=times.CENTURY,
               help='Time, in seconds, for which one process claims this work '
                    'for all processes that share the database. If '
                    'that process dies, another one takes over after this '
                    'time.'),
]
