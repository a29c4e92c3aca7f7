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

"""Options of [database]: those of oslo.db, and time limits."""

from __future__ import annotations

from oslo_config import cfg

from ironic_reservations.conf import times

GROUP = 'database'

OPTS = [
    cfg.StrOpt('upgrade', default='by_command',
               choices=[('by_command', 'only ironic-reservations-dbsync '
                                       'changes the tables'),
                        ('on_start', 'each process upgrades the tables at '
                                     'its start: one does it, and the others '
                                     'wait')],
               help='When the tables are created and upgraded in MariaDB or '
                    'PostgreSQL. In SQLite, this is done at each start. With '
                    'on_start, a process does not start while the database '
                    'does not answer.'),
    cfg.IntOpt('connect_timeout', default=5, min=1, max=times.CENTURY,
               help='Time, in seconds, within which a connection must be '
                    'made. This and the following time-outs do not apply to '
                    'SQLite.'),
    cfg.IntOpt('lock_timeout', default=5, min=1, max=times.CENTURY,
               help='Time, in seconds, that a transaction waits for a lock of '
                    'another one. It is then repeated, for 15 seconds in all; '
                    'after that, the request is refused with 503 '
                    '(reservation.contention).'),
    cfg.IntOpt('statement_timeout', default=30, min=2, max=times.CENTURY,
               help='Maximum duration of a statement, in seconds. It must be '
                    'longer than lock_timeout. Schema changes are not '
                    'limited.'),
    cfg.IntOpt('idle_in_transaction_timeout', default=5, min=1,
               max=times.CENTURY,
               help='Time, in seconds, after which the server ends an idle '
                    'transaction. If a host loses its power, its rows stay '
                    'locked for this long. The service never waits for '
                    'anything but the database while a transaction is '
                    'open.'),
    cfg.FloatOpt('max_clock_skew', default=5, min=0, max=times.CENTURY,
                 help='Maximum difference, in seconds, between the clock of '
                      'this host and that of the database. Only the clock of '
                      'the database decides whether a promise is still valid. '
                      'A host with a larger difference answers 503 '
                      '(service.clock_skewed) to each request that depends on '
                      'the time, and its reconciler stops, until its clock is '
                      'corrected. 0 switches this check off.'),
]
