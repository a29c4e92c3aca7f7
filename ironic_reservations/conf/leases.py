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

"""Options of [leases]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

leases_opts = [
    cfg.IntOpt('cleaning_time', default=0, min=0,
               help='How long, in seconds, a node is left to cleaning after '
                    'a lease before it is promised to the next one. A node '
                    'that takes longer is waited for.'),
    cfg.IntOpt('before_end_time', default=3600, min=0,
               help='How long, in seconds, before its end the notification '
                    'lease.event.before_end_lease is sent for a lease that '
                    'names no time for it.'),
    cfg.BoolOpt('project_limits', default=True,
                help='Whether projects are limited: by max_duration, '
                     'max_horizon and the options of this section that end '
                     'with _per_project, and by max_per_project and '
                     'max_lifetime in [reservations]. Callers who '
                     'may exceed limits by policy are not. Without keystone '
                     'all callers are one project, and what holds are the '
                     'options that are set, not the defaults of others.'),
    cfg.ListOpt('tenant_properties', default=[
        'hypervisor_type', 'vcpus', 'cpus', 'memory_mb', 'memory',
        'local_gb', 'disk', 'cpu_info', 'arch', 'cpu_arch', 'resource_class',
        'traits'],
        help='What projects may ask about hosts, in leases and in questions '
             'about what is free, besides the properties that the operator '
             'gave to hosts and did not make private. What else there is '
             '(hypervisor_hostname, name, node_uuid, owner, status, id, '
             'reservable) can be asked about by whom the rule '
             'reservation:host:list_private_properties names.'),
    cfg.IntOpt('max_duration', default=31622400, min=0,
               help='The longest lease, in seconds: 366 days. 0 sets no '
                    'limit.'),
    cfg.IntOpt('max_horizon', default=63244800, min=0,
               help='How far ahead, in seconds, a lease may end: 732 days. 0 '
                    'sets no limit.'),
    cfg.IntOpt('max_leases_per_project', default=200, min=0,
               help='How many leases a project may have that are not over. '
                    '0 sets no limit.'),
    cfg.IntOpt('max_hosts_per_project', default=100, min=0,
               help='How many hosts a project may have leased at any one '
                    'instant. 0 sets no limit.'),
    cfg.IntOpt('max_host_hours_per_project', default=20000, min=0,
               help='How many hours of hosts a project may have ahead of it '
                    'in all of its leases together: ten hosts for a day are '
                    '240. 0 sets no limit.'),
    cfg.IntOpt('max_instances_per_project', default=1000, min=0,
               help='How many instances a project may have leased at any '
                    'one instant. 0 sets no limit.'),
    cfg.IntOpt('max_instance_hours_per_project', default=200000, min=0,
               help='How many hours of instances a project may have ahead '
                    'of it in all of its leases together. 0 sets no '
                    'limit.'),
    cfg.IntOpt('retention', default=90, min=0,
               help='For how many days a lease is kept after it is over. '
                    'Then it is deleted, and what it had is kept in one '
                    'short row for each of its reservations. 0 keeps leases '
                    'for ever, which makes lists of all of them long.'),
    cfg.IntOpt('listed', default=7, min=0,
               help='For how many days after its end a lease is in the list '
                    'that a client gets which does not ask for pages. The '
                    'pages, asked for with "limit", have all leases.'),
    cfg.StrOpt('end_action', default='undeploy',
               choices=[('undeploy', 'The nodes are undeployed and cleaned.'),
                        ('leave', 'What is deployed stays, and the lease is '
                                  'flagged as degraded.')],
               help='What happens at the end of a lease to its nodes that '
                    'are deployed.'),
    cfg.StrOpt('without_reservation', default='replan',
               choices=[('replan', 'The node may be used if every lease that '
                                   'has been promised can be kept.'),
                        ('allow', 'The node may always be used; leases that '
                                  'cannot be kept are flagged as degraded.'),
                        ('require', 'A host may be used with a reservation '
                                    'or a lease only.')],
               help='What happens when somebody without a lease uses a node '
                    'that is promised to one for later.'),
    cfg.URIOpt('enforcement_url', schemes=['http', 'https'],
               help='The address of a service that is asked before a lease '
                    'is made or changed, and told when one is over, as the '
                    'external service filter of Blazar asks it. Redirects '
                    'are not followed. Nobody is asked by default.'),
    cfg.StrOpt('enforcement_token', secret=True,
               help='What is sent to that service as X-Auth-Token.'),
    cfg.FloatOpt('enforcement_timeout', default=10, min=0.1,
                 help='How long, in seconds, that service may take. One '
                      'that does not answer refuses.'),
    cfg.IntOpt('workers', default=8, min=1,
               help='How many leases a reconciler works on at once.'),
    cfg.IntOpt('claim_ttl', default=60, min=5,
               help='For how long, in seconds, a lease is left to the '
                    'process that works on it. While that process lives it '
                    'keeps the lease; when it dies, another one takes over '
                    'after this time.'),
    cfg.IntOpt('max_backoff', default=300, min=1,
               help='The longest time, in seconds, between two attempts at '
                    'a step that fails.'),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Make the options known to a configuration object."""
    conf.register_opts(leases_opts, 'leases')


def list_opts() -> list[tuple[str, Sequence[Any]]]:
    """List the options for oslo-config-generator."""
    return [('leases', leases_opts)]
