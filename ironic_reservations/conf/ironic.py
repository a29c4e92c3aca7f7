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

"""Options of [ironic]: how the project itself speaks to Ironic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = 'ironic'

ironic_opts = [
    cfg.StrOpt('confirm', default='always',
               choices=[('always', 'ask Ironic about a node right before it '
                                   'is claimed'),
                        ('mirror', 'trust the last poll: faster, but wrong '
                                   'for as long as the poll is old')],
               help='Whether the mirrored state of a node is confirmed with '
                    'Ironic before the node is claimed.'),
    cfg.IntOpt('poll_interval', default=5, min=1,
               help='Time, in seconds, between two polls of Ironic for '
                    'changed nodes.'),
    cfg.IntOpt('full_poll_interval', default=60, min=1,
               help='Time, in seconds, between two polls of Ironic for all '
                    'nodes. Only these polls find deleted nodes.'),
    cfg.IntOpt('claim_ttl', default=30, min=5,
               help='Time, in seconds, for which one process claims polling '
                    'and sweeping on behalf of all processes that share the '
                    'database. If that process dies, another one takes over '
                    'after this time.'),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Make the options known to a configuration object."""
    conf.register_opts(ironic_opts, GROUP)
    loading.register_session_conf_options(conf, GROUP)
    loading.register_auth_conf_options(conf, GROUP)
    loading.register_adapter_conf_options(conf, GROUP)
    conf.set_default('auth_type', 'none', GROUP)
    conf.set_default('service_type', 'baremetal', GROUP)
    # NOTE: an Ironic that never answers must not hold up a worker for ever.
    conf.set_default('timeout', 60, GROUP)
    conf.set_default('valid_interfaces', ['internal', 'public'], GROUP)


def list_opts() -> list[tuple[str, Sequence[Any]]]:
    """List the options for oslo-config-generator."""
    return [(GROUP, [*ironic_opts,
                     *loading.get_session_conf_options(),
                     *loading.get_auth_common_conf_options(),
                     *loading.get_auth_plugin_conf_options('password'),
                     *loading.get_adapter_conf_options()])]
