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

"""Options of [ironic]: the connection of the project to Ironic."""

from __future__ import annotations

from oslo_config import cfg

from ironic_reservations.conf import times

GROUP = 'ironic'
SERVICE_TYPE = 'baremetal'
# An Ironic that never answers must not block a worker for ever.
TIMEOUT = 60

OPTS = [
    cfg.StrOpt('confirm', default='always',
               choices=[('always', 'read a node from Ironic right before it '
                                   'is claimed'),
                        ('mirror', 'use the state at the last poll: faster, '
                                   'but changes since then are not seen')],
               help='Whether the mirrored state of a node is confirmed with '
                    'Ironic before the node is claimed.'),
    cfg.IntOpt('poll_interval', default=5, min=1, max=times.CENTURY,
               help='Time, in seconds, between two polls of Ironic for '
                    'changed nodes.'),
    cfg.IntOpt('full_poll_interval', default=60, min=1, max=times.CENTURY,
               help='Time, in seconds, between two polls of Ironic for all '
                    'nodes. Only these polls find deleted nodes.'),
    cfg.IntOpt('claim_ttl', default=30, min=5, max=times.CENTURY,
               help='Time, in seconds, for which one process claims polling '
                    'and sweeping for all processes that share the '
                    'database. If that process dies, another one takes over '
                    'after this time.'),
]
