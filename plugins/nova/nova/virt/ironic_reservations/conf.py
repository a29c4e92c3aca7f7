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

"""Options of [ironic_reservations] in nova.conf."""

from __future__ import annotations

import nova.conf
from oslo_config import cfg

CONF = nova.conf.CONF
GROUP = 'ironic_reservations'

ironic_reservations_opts = [
    cfg.IntOpt('ttl', min=1,
               help='Time, in seconds, for which a node stays reserved for a '
                    'server that is not bound to it in Ironic yet. After '
                    'that, the reservation lasts as long as the server has '
                    'the node. The default is [reservations] default_ttl of '
                    'the reservation service.'),
    cfg.IntOpt('timeout', default=60, min=1,
               help='Time, in seconds, to wait for each answer about a '
                    'reservation.'),
    cfg.IntOpt('retries', default=3, min=0,
               help='Number of times that a request about a reservation is '
                    'sent again if the service cannot be reached or is not '
                    'available. Then the scheduler of Nova tries the next '
                    'node.'),
]

CONF.register_opts(ironic_reservations_opts, GROUP)
