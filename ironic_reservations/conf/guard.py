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


"""Options of [guard]."""

from __future__ import annotations

from oslo_config import cfg
from oslo_config import types

from ironic_reservations.conf import times

GROUP = 'guard'
#: The acts on nodes that do not deploy or bind them.
PROTECTED_ACTS = ('maintenance', 'retired', 'delete', 'allocation', 'power',
                  'boot', 'vmedia', 'vif', 'instance_info', 'driver_info',
                  'lessee', 'settings', 'console', 'nmi', 'raid', 'vendor',
                  'undeploy', 'rescue', 'service', 'clean', 'inspect',
                  'abort', 'volume')

OPTS = [
    cfg.StrOpt('require', default='reserved',
               choices=[('reserved', 'a node that is not reserved can be used '
                                     'by everybody, as in Ironic alone'),
                        ('always', 'no node can be deployed, bound or '
                                   'allocated without a reservation')],
               help='Which nodes can be used only with a reservation.'),
    cfg.BoolOpt('instance_uuid_from_service', default=False,
                help='Accept the instance_uuid that a reservation was made '
                     'for as its proof, if the caller has the role service. '
                     'With this, an unmodified Nova deploys on reserved '
                     'nodes. Works with keystone only.'),
    cfg.BoolOpt('proof_by_placement', default=False,
                help='Let a caller with the role service use a leased node '
                     'for an instance that has allocated the resource class '
                     'of that lease on the node in Placement. The Nova '
                     'scheduler makes this allocation for servers of the '
                     "lease's flavor. Placement is asked only if the request "
                     'shows no other proof; while it does not answer, such a '
                     'request is refused with 503. Needs [placement] enabled. '
                     'Works with keystone only.'),
    cfg.BoolOpt('proof_of_any_project', default=False,
                help='Accept a proof from any project. By default, a proof '
                     'that belongs to a project is accepted from that project '
                     'and from callers who may do so by the policy rule '
                     'baremetal:reservation:use_any_proof. Works with '
                     'keystone only; without it there are no projects, and '
                     'every proof is accepted.'),
    cfg.ListOpt('protected_acts', default=list(PROTECTED_ACTS),
                item_type=types.String(choices=list(PROTECTED_ACTS)),
                help='Actions on a reserved or leased node that are allowed '
                     'only to the project that has the node, with its proof, '
                     'and to callers who may do so by the policy rule '
                     'baremetal:reservation:act_without_proof. If an action '
                     'is removed, only Ironic\'s policy applies to it. '
                     'Deploying or rebuilding the node always needs the '
                     'proof. Works with '
                     'keystone only; without it, every caller is an '
                     'administrator.'),
    cfg.ListOpt('open_routes', default=[],
                item_type=types.String(
                    regex=r'^(POST|PUT|PATCH|DELETE|\*) /\S*$'),
                help="Requests of Ironic's API that are unknown to this "
                     'release and pass nevertheless, even if the nodes are '
                     'reserved or leased. Each entry is a method, a space and '
                     'a path, such as "PUT /v1/nodes/*/lockout" or '
                     '"* /v2/**". A "*" is one segment of the path, or any '
                     'method; "**" at the end is all the rest. Requests that '
                     'the guard knows are not affected. By default, unknown '
                     'writes are refused on a reserved or leased node, and if '
                     'they do not name their nodes in a known way.'),
    cfg.IntOpt('in_flight_timeout', default=120, min=5, max=times.CENTURY,
               deprecated_name='passage_timeout',
               help='Time, in seconds, that an admitted request may take. It '
                    'is handed to Ironic in the first half of this time or '
                    'not at all (503), even if its process was stopped in '
                    'between. If no answer of Ironic is recorded in this '
                    'time, the node is promised to nobody until the '
                    'reconciler has determined the outcome; see rpc_timeout.'),
    cfg.IntOpt('rpc_timeout', default=60, min=1, max=times.CENTURY,
               help='Time, in seconds, for which an Ironic conductor may '
                    'work on a request after it was sent. If a request '
                    'ended with 5xx or without an answer, the reconciler '
                    'waits this long before it reads the node. Set it to '
                    'rpc_response_timeout of Ironic, or to [json_rpc] timeout '
                    'if Ironic uses JSON-RPC.'),
    cfg.IntOpt('claim_ttl', default=30, min=5, max=times.CENTURY,
               help='Time, in seconds, for which one process claims the '
                    'determination of unknown outcomes for all processes '
                    'that share the database. If that process dies, another '
                    'one takes over after this time.'),
    cfg.IntOpt('max_body_size', default=64 * 1024 * 1024, min=1024,
               help='The maximum size, in bytes, of a request body that the '
                    'guard must read: a deploy with its configuration drive, '
                    'or a change of a node. Set it to [api] '
                    'max_json_body_size_provision of Ironic.'),
]
