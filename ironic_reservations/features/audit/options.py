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

"""Options of [audit]: the record of changes and their authors."""

from __future__ import annotations

from oslo_config import cfg

GROUP = 'audit'

OPTS = [
    cfg.BoolOpt('log', default=True,
                help='Write audit events to the log as one line of JSON each, '
                     'with the logger ironic_reservations.audit and the level '
                     'INFO.'),
    cfg.BoolOpt('notifications', default=False,
                help='Send audit events as notifications "audit.reservation". '
                     'This needs a driver in [oslo_messaging_notifications].'),
]
