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

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg
from oslo_config import types

GROUP = 'guard'
#: What is done to nodes by requests that do not take them for use.
PROTECTED_ACTS = ('maintenance', 'retired', 'delete', 'allocation', 'power',
                  'boot', 'vmedia', 'vif', 'instance_info', 'driver_info',
                  'console', 'nmi', 'raid', 'vendor')

guard_opts = [
    cfg.StrOpt('require', default='reserved',
               choices=[('reserved', 'a node that nobody reserved is free '
                                     'for all, as in Ironic alone'),
                        ('always', 'nobody deploys, binds or allocates a '
                                   'node without a reservation')],
               help='Which nodes a reservation is needed for.'),
    cfg.BoolOpt('instance_uuid_from_service', default=False,
                help='Take the instance_uuid that a reservation was made '
                     'for as its proof where the caller has the role '
                     'service. With this, Nova deploys on reserved nodes '
                     'without being changed. Works with keystone only.'),
    cfg.BoolOpt('proof_by_placement', default=False,
                help='Let a caller with the role service use a leased node '
                     'for an instance that has the class of that lease on '
                     'the node in Placement, as the scheduler of Nova writes '
                     'it for servers of the flavor of the lease. Placement '
                     'is asked where nothing else is shown; while it does '
                     'not answer, such a request is refused with 503. Needs '
                     '[placement] enabled. Works with keystone only.'),
    cfg.BoolOpt('proof_of_any_project', default=False,
                help='Let a proof count whoever shows it. By default, that of '
                     'a project counts in its own hands and in those of whom '
                     'the rule baremetal:reservation:use_any_proof names. '
                     'Works with keystone only; otherwise there are no '
                     'projects, and any proof counts.'),
    cfg.ListOpt('protected_acts', default=list(PROTECTED_ACTS),
                item_type=types.String(choices=list(PROTECTED_ACTS)),
                help='What is not done to a node that is reserved or leased '
                     'but by the project that has it, with its proof, or by '
                     'whom the rule baremetal:reservation:act_without_proof '
                     'names. Take out what others shall be allowed. To '
                     'deploy the node always needs the proof. Works with '
                     'keystone only; otherwise everybody is an '
                     'administrator.'),
    cfg.IntOpt('passage_timeout', default=120, min=5,
               help='For how long, in seconds, a request that was let '
                    'through may be under way. It is handed to Ironic in the '
                    'first half of this time or not at all (503), however '
                    'long its process stood still. Where no end of it is '
                    'seen, the node is promised to nobody, also after this '
                    'time, until the reconciler has found out what became '
                    'of it; see rpc_timeout.'),
    cfg.IntOpt('rpc_timeout', default=60, min=1,
               help='For how long, in seconds, a conductor of Ironic may '
                    'come back to a request that it was sent. The '
                    'reconciler waits for so long before it looks at the '
                    'node of a request that has ended without an answer, '
                    'with 5xx, or not at all. As rpc_response_timeout of '
                    'Ironic, or [json_rpc] timeout where Ironic uses that.'),
    cfg.IntOpt('claim_ttl', default=30, min=5,
               help='For how long, in seconds, one process finds out, for '
                    'all that share the database, what became of requests '
                    'that got no answer. When it dies, another takes over '
                    'after this time.'),
    cfg.IntOpt('max_body_size', default=64 * 1024 * 1024, min=1024,
               help='The largest body, in bytes, of a request that the '
                    'guard has to read: a deploy, with its configuration '
                    'drive, or a change of a node. As large as [api] '
                    'max_json_body_size_provision of Ironic.'),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Make the options known to a configuration object."""
    conf.register_opts(guard_opts, GROUP)


def list_opts() -> list[tuple[str, Sequence[Any]]]:
    """List the options for oslo-config-generator."""
    return [(GROUP, guard_opts)]
