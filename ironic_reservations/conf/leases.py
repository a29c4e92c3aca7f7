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

import re
import urllib.parse

from oslo_config import cfg
from oslo_config import types

from ironic_reservations.conf import times

#: The characters that a header can contain.
_SENDABLE = re.compile(r'[\t\x20-\x7e\x80-\xff]*')

GROUP = 'leases'

OPTS = [
    cfg.StrOpt('hosts', default='opened',
               choices=[('opened', 'The nodes that an operator has opened.'),
                        ('all', 'All nodes, except for nodes that an '
                                'operator has closed, or that closed_nodes '
                                'or closed_traits close.')],
               help='The nodes of Ironic that can be leased.'),
    cfg.ListOpt('closed_nodes', default=[],
                help='Names or UUIDs of nodes that cannot be leased although '
                     'hosts is "all". Leases that have started keep them to '
                     'their end.'),
    cfg.ListOpt('closed_traits', default=[],
                help='Nodes with one of these traits cannot be leased '
                     'although hosts is "all". Leases that have started keep '
                     'them to their end.'),
    cfg.IntOpt('cleaning_time', default=0, min=0, max=times.CENTURY,
               help='Time, in seconds, that is kept free after each lease, '
                    'for cleaning the node, before the next lease. If '
                    'cleaning takes longer, the next lease waits for the '
                    'node.'),
    cfg.IntOpt('before_end_time', default=3600, min=0, max=times.CENTURY,
               help='Time, in seconds, before the end of a lease at which the '
                    'notification lease.event.before_end_lease is sent, if '
                    'the lease does not set before_end_date.'),
    cfg.IntOpt('fix_before', default=86400, min=0, max=times.CENTURY,
               help='Time, in seconds, before its planned start at which a '
                    'lease with open dates ("between") is fixed, if it '
                    'does not set fix_before. Until then it may start '
                    'earlier or later within its window, to make room for '
                    'other leases.'),
    cfg.IntOpt('fix_interval', default=10, min=1, max=times.CENTURY,
               help='Interval, in seconds, at which leases that are due are '
                    'fixed.'),
    cfg.IntOpt('queue_interval', default=10, min=1, max=times.CENTURY,
               help='Interval, in seconds, at which the reconciler looks for '
                    'earlier starts of queued leases.'),
    cfg.BoolOpt('project_limits', default=True,
                help='Whether the limits of projects apply: max_duration, '
                     'max_horizon, extension_notice, max_extensions and the '
                     'options of this section that end with _per_project or '
                     '_per_class, and max_per_project, max_per_class and '
                     'max_lifetime in [reservations]. Callers who may exceed '
                     'limits by policy are not limited. Without keystone, all '
                     'callers are one project, and only options that are set '
                     'explicitly apply, not the defaults.'),
    cfg.ListOpt('tenant_properties', default=[
        'hypervisor_type', 'vcpus', 'cpus', 'memory_mb', 'memory',
        'local_gb', 'disk', 'cpu_info', 'arch', 'cpu_arch', 'resource_class',
        'traits'],
        help='Host properties that projects may use in the properties of '
             'leases and in availability queries, besides the capabilities '
             'that the operator added to hosts and did not make private. All '
             'other properties (hypervisor_hostname, name, node_uuid, owner, '
             'status, id, reservable) can be used by callers who may do so by '
             'the policy rule reservation:host:list_private_properties.'),
    cfg.StrOpt('default_resource_properties', default='',
               help='The resource_properties of each reservation of a new '
                    'lease that has none, and of availability queries '
                    'without any, such as ["!=", "$$node_type", "gpu"], with '
                    '$$ for $. They may use any property, and users see them '
                    'in their leases. A property that a host does not have '
                    'matches no comparison, not even "!=": where compute '
                    'hosts are leased as well, allow these with ["or", ["==", '
                    '"$$hypervisor_type", "compute"], ...].'),
    cfg.IntOpt('max_duration', default=31622400, min=0, max=times.CENTURY,
               help='Maximum duration of a lease, in seconds. The default is '
                    '366 days. 0 sets no limit.'),
    cfg.IntOpt('max_horizon', default=63244800, min=0, max=times.CENTURY,
               help='Maximum time from now until the end of a lease, in '
                    'seconds. The default is 732 days. 0 sets no limit.'),
    cfg.IntOpt('extension_notice', default=0, min=0, max=times.CENTURY,
               help='Time, in seconds, before the end of a lease in which it '
                    'can no longer be extended, if it has started. With 0, it '
                    'can be extended until its end.'),
    cfg.IntOpt('max_extensions', default=0, min=0,
               help='Maximum number of times that a lease can be extended '
                    'after its start. Each change to a later end counts. 0 '
                    'sets no limit.'),
    cfg.BoolOpt('allow_extension_on_closed_hosts', default=False,
                help='Whether a lease that has started can be extended while '
                     'it has a host that was closed to new leases '
                     '("reservable" is false, closed_nodes or closed_traits) '
                     'or is retired in Ironic. By default it keeps such a '
                     'host until the end that was promised, so that the host '
                     'drains.'),
    cfg.IntOpt('owner_notice', default=0, min=0, max=times.CENTURY,
               help='Notice period, in seconds, within which the project that '
                    'owns a node in Ironic can have it back: other projects '
                    'get the node only for leases that end, including '
                    'cleaning_time, within this time from now. It '
                    'must be longer than cleaning_time; otherwise, nodes with '
                    'an owner are leased to their owners only. With 0, owners '
                    'have no precedence.'),
    cfg.IntOpt('max_leases_per_project', default=200, min=0,
               help='Maximum number of future and current leases of a '
                    'project. 0 sets no limit.'),
    cfg.IntOpt('max_hosts_per_project', default=100, min=0,
               help='Maximum number of hosts that a project may have leased '
                    'at the same time. 0 sets no limit.'),
    cfg.IntOpt('max_host_hours_per_project', default=20000, min=0,
               help='Maximum number of future host hours in all leases of a '
                    'project together: ten hosts for a day are 240. 0 sets no '
                    'limit.'),
    cfg.Opt('max_hosts_per_class', type=types.Dict(types.Integer(min=1)),
            default={}, sample_default='gold:4,silver:40',
            help='Maximum number of hosts of a resource class, as Ironic '
                 'names it, that a project may have leased at the same time, '
                 'by class. A reservation counts for each class that its '
                 'properties do not exclude with $resource_class. Classes '
                 'that are not named have no limit of their own.'),
    cfg.Opt('max_host_hours_per_class', type=types.Dict(types.Integer(min=1)),
            default={}, sample_default='gold:500',
            help='Maximum number of future host hours of a resource class in '
                 'all leases of a project together, by class. Counted as for '
                 'max_hosts_per_class.'),
    cfg.IntOpt('max_instances_per_project', default=1000, min=0,
               help='Maximum number of instances that a project may have '
                    'leased at the same time. 0 sets no limit.'),
    cfg.IntOpt('max_instance_hours_per_project', default=200000, min=0,
               help='Maximum number of future instance hours in all leases of '
                    'a project together. 0 sets no limit.'),
    cfg.IntOpt('retention', default=90, min=0, max=times.CENTURY_DAYS,
               help='Number of days after which a lease that is over is '
                    'deleted. One short row for each of its reservations is '
                    'kept as history. 0 keeps leases forever, which makes '
                    'lists of leases long.'),
    cfg.IntOpt('listed', default=7, min=0, max=times.CENTURY_DAYS,
               help='Number of days for which a lease is listed after its '
                    'end, for clients that do not request pages. Clients that '
                    'request pages, with "limit", get all leases.'),
    cfg.StrOpt('end_action', default='undeploy',
               choices=[('undeploy', 'The nodes are undeployed and cleaned.'),
                        ('leave', 'The nodes stay deployed, and the lease is '
                                  'flagged as degraded.')],
               help='What happens to deployed nodes at the end of a lease.'),
    cfg.BoolOpt('clean_unused', default=False,
                help='Whether Ironic cleans a node at the end of a lease even '
                     'if its holder has not acted on it. After an act through '
                     'an API with the middleware "reservations", it is always '
                     'cleaned. Set this if users can '
                     'reach an API of Ironic without the middleware.'),
    cfg.Opt('no_show_after', type=types.Dict(types.Integer(min=1)),
            default={}, sample_default='gold:14400,*:86400',
            help='Time, in seconds, by resource class, after which a lease '
                 'releases a node that could have been deployed for all of '
                 'that time, and was not; "*" stands for all other classes. '
                 'Nodes of classes that are not named are kept until the end '
                 'of the lease. By default, no node is released.'),
    cfg.IntOpt('no_show_warn_before', default=3600, min=0, max=times.CENTURY,
               help='Minimum time, in seconds, between the notification '
                    'lease.no_show_warning and the release of a node. With 0, '
                    'no warning is sent.'),
    cfg.StrOpt('no_show_release', default='node',
               choices=[('node', 'Each node separately; the lease keeps '
                                 'nodes that have been deployed.'),
                        ('lease', 'The whole lease ends, but only if none of '
                                  'its nodes has been deployed.')],
               help='The unit that is released after no_show_after.'),
    cfg.StrOpt('without_reservation', default='replan',
               choices=[('replan', 'The node may be used if all promised '
                                   'leases can still be kept.'),
                        ('allow', 'The node may always be used; a lease that '
                                  'cannot be kept is flagged as degraded.'),
                        ('require', 'A host may only be used with a '
                                    'reservation or a lease.')],
               help='Whether somebody without a lease may use a node that is '
                    'promised to a lease for later.'),
    cfg.URIOpt('enforcement_url', schemes=['http', 'https'],
               help='The URL of an enforcement service, which is asked before '
                    'a lease is made or changed, and informed when a lease is '
                    "over, as with Blazar's external service filter. "
                    'Redirects are not followed. By default, there is none.'),
    cfg.URIOpt('enforcement_commit_url', schemes=['http', 'https'],
               help='The URL to which each granted, changed or ended lease is '
                    'posted after the commit, at least once and in order for '
                    'each lease, so that it can be charged. Redirects are not '
                    'followed. Set it for all processes of this service. By '
                    'default, nothing is posted.'),
    cfg.IntOpt('enforcement_give_up_after', default=30, min=1,
               max=times.CENTURY_DAYS,
               help='Number of days after which an entry that '
                    'enforcement_commit_url has not accepted is given up.'),
    cfg.StrOpt('enforcement_token', secret=True,
               help='The token that is sent to the enforcement service as '
                    'X-Auth-Token, with all requests and commits.'),
    cfg.URIOpt('enforcement_auth_url', schemes=['http', 'https'],
               help='The auth_url in requests to the enforcement service: '
                    'the URL at which that service reaches Keystone. By '
                    'default [ironic] auth_url.'),
    cfg.StrOpt('enforcement_region_name',
               help='The name of the region in requests to the enforcement '
                    'service. By default [ironic] region_name.'),
    cfg.FloatOpt('enforcement_timeout', default=10, min=0.1, max=times.CENTURY,
                 help='Time, in seconds, within which the enforcement service '
                      'must answer. If it does not, the lease is refused; '
                      'a commit is posted again.'),
    cfg.IntOpt('workers', default=8, min=1, max=1024,
               help='Number of leases that a reconciler works on at the same '
                    'time.'),
    cfg.IntOpt('claim_ttl', default=60, min=5, max=times.CENTURY,
               help='Time, in seconds, for which a process claims a lease '
                    'that it works on. It renews the claim while it lives; if '
                    'it dies, another process takes over after this time.'),
    cfg.IntOpt('end_of_gone_project', default=604800, min=0, max=times.CENTURY,
               help='Time, in seconds, after which the leases of a project '
                    'end that was deleted from Keystone. The project has to '
                    'be gone at each check in that time. With 0, leases do '
                    'not end for this reason. Keystone is asked with the user '
                    'of [ironic], who needs the role reader on the system; if '
                    'it does not answer, or does not show projects to that '
                    'user, no lease ends.'),
    cfg.IntOpt('max_backoff', default=300, min=1, max=times.CENTURY,
               help='Maximum time, in seconds, between two attempts at a '
                    'failing step.'),
]


def check(conf: cfg.ConfigOpts) -> None:
    """Check the values that the type of an option cannot check.

    :raises oslo_config.cfg.Error: a value is not valid.
    """
    token = (conf.leases.enforcement_token or '').strip()
    if not _SENDABLE.fullmatch(token):
        # The message omits the value, which is a secret.
        raise cfg.ConfigFileValueError(
            '[leases] enforcement_token has characters that cannot be sent in '
            'a header, such as one that ends a line. Set it to the token '
            'alone.')
    for name in ('enforcement_url', 'enforcement_commit_url'):
        if '@' in urllib.parse.urlsplit(conf.leases[name] or '').netloc:
            raise cfg.ConfigFileValueError(
                f'[leases] {name} contains a user or a password, which would '
                'not be sent. Remove them, and set enforcement_token.')
