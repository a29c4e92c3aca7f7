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

GROUP = 'guard'

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
    cfg.IntOpt('passage_timeout', default=120, min=5,
               help='For how long, in seconds, a request that was let '
                    'through keeps others off the node if its end is never '
                    'seen: the process died, or an allocation is still '
                    'being worked on.'),
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
