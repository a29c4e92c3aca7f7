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

"""Options of [notices] for all messages that are sent from the outbox."""

from __future__ import annotations

from oslo_config import cfg

from ironic_reservations.conf import times

GROUP = 'notices'

OPTS = [
    cfg.IntOpt('max_backoff', default=900, min=1, max=times.CENTURY,
               help='Maximum time, in seconds, between two attempts to send a '
                    'notice.'),
    cfg.IntOpt('give_up_after', default=3, min=1, max=times.CENTURY_DAYS,
               help='Number of days after which a notice that could not be '
                    'sent is given up.'),
    cfg.IntOpt('retention', default=7, min=1, max=times.CENTURY_DAYS,
               help='Number of days for which notices that have been sent or '
                    'given up are kept in the database.'),
    cfg.IntOpt('claim_ttl', default=60, min=5, max=times.CENTURY,
               help='Time, in seconds, in addition to the time-outs, for '
                    'which a process claims notices that it sends. If that '
                    'process dies, another one sends them after this time.'),
]
