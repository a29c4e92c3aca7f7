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

"""Options of [reservations]."""

from __future__ import annotations

from oslo_config import cfg
from oslo_config import types

from ironic_reservations.conf import times

GROUP = 'reservations'

OPTS = [
    cfg.IntOpt('default_ttl', default=600, min=1, max=times.CENTURY,
               help='Duration of a reservation, in seconds, if the request '
                    'sets no end.'),
    cfg.IntOpt('min_ttl', default=10, min=1, max=times.CENTURY,
               help='Minimum duration of a reservation, in seconds, that a '
                    'request may ask for.'),
    cfg.IntOpt('max_ttl', default=86400, min=1, max=times.CENTURY,
               help='Maximum duration of a reservation, in seconds, counted '
                    'from the request that makes or renews it.'),
    cfg.IntOpt('max_per_project', default=100, min=0,
               help='Maximum number of unused reservations that a project may '
                    'have. 0 sets no limit. Applies if [leases] '
                    'project_limits is set, to callers who may not exceed '
                    'limits by policy.'),
    cfg.Opt('max_per_class', type=types.Dict(types.Integer(min=1)),
            default={}, sample_default='gold:2',
            help='Maximum number of unused reservations of nodes of a '
                 'resource class, as Ironic names it, that a project may '
                 'have, by class. Nodes of a class whose limit is reached are '
                 'skipped. Classes that are not named have no limit of their '
                 'own. Applies to the same callers as max_per_project.'),
    cfg.IntOpt('max_lifetime', default=604800, min=0, max=times.CENTURY,
               help='Maximum time, in seconds, from the creation of an unused '
                    'reservation to its end, with all renewals. 0 sets no '
                    'limit. Applies to the same callers as max_per_project.'),
    cfg.BoolOpt('end_on_maintenance', default=False,
                help='End an unused reservation when its node goes into '
                     'maintenance, is retired or becomes a part of another '
                     'node. By default the reservation '
                     'is suspended: it keeps its end, and the node is '
                     'promised to nobody else. With this option, everybody '
                     'who may set maintenance can take nodes from '
                     'reservations, and so can Ironic itself after a power '
                     'fault.'),
    cfg.IntOpt('sweep_interval', default=10, min=1, max=times.CENTURY,
               help='Time, in seconds, between two deletions of expired '
                    'reservations. An expired reservation is void from its '
                    'end on, even before its row is deleted.'),
]
