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

"""Options of [placement]: how holds are kept where Nova looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = 'placement'

placement_opts = [
    cfg.BoolOpt('enabled', default=False,
                help='Whether a node that is promised is also held in '
                     'Placement, so that the scheduler of Nova leaves it '
                     'alone. Needs a Placement that offers at least version '
                     '1.29 of its API; from 1.38 on the holds have a '
                     'consumer type of their own.'),
    cfg.IntOpt('grace', default=60, min=1,
               help='How long, in seconds, a write whose answer never came '
                    'is left alone, beyond the timeout. Longer than '
                    'Placement, and what is in front of it, may still work '
                    'on a request that its client has given up.'),
    cfg.StrOpt('on_deploy', default='keep',
               choices=[('keep', 'The hold stays until the reservation is '
                                 'over.'),
                        ('move', 'It is handed to the instance that the '
                                 'reservation was made for, with nobody in '
                                 'between, and taken from it when the '
                                 'reservation is over.')],
               help='What becomes of a hold when the node is deployed with '
                    'its reservation. An instance that has the node in '
                    'Placement already, as each one that Nova has scheduled, '
                    'is left alone in any case. Leases keep their holds.'),
    cfg.IntOpt('settle_interval', default=5, min=1,
               help='How often, in seconds, the reconciler takes back what '
                    'is held for promises that are no more, and ends what '
                    'was cut off.'),
    cfg.IntOpt('hosts_interval', default=60, min=1,
               help='How often, in seconds, the reconciler looks for compute '
                    'hosts that have changed: what they have, what others '
                    'than leases use of it, their traits. Those that have '
                    'not cost nothing.'),
    cfg.IntOpt('audit_interval', default=300, min=0,
               help='How often, in seconds, the reconciler compares all '
                    'nodes with Placement; 0: never. What has not changed '
                    'since the last time costs nothing.'),
    cfg.BoolOpt('repair', default=True,
                help='Whether these audits mend what differs; otherwise it '
                     'is logged and counted only.'),
    cfg.IntOpt('claim_ttl', default=30, min=5,
               help='For how long, in seconds, one process does all of this '
                    'for all that share the database. When it dies, another '
                    'takes over after this time.'),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Make the options known to a configuration object."""
    conf.register_opts(placement_opts, GROUP)
    loading.register_session_conf_options(conf, GROUP)
    loading.register_auth_conf_options(conf, GROUP)
    loading.register_adapter_conf_options(conf, GROUP)
    conf.set_default('auth_type', 'none', GROUP)
    conf.set_default('service_type', 'placement', GROUP)
    # NOTE: a client waits for the hold; Placement takes milliseconds.
    conf.set_default('timeout', 10, GROUP)
    conf.set_default('valid_interfaces', ['internal', 'public'], GROUP)


def list_opts() -> list[tuple[str, Sequence[Any]]]:
    """List the options for oslo-config-generator."""
    return [(GROUP, [*placement_opts,
                     *loading.get_session_conf_options(),
                     *loading.get_auth_common_conf_options(),
                     *loading.get_auth_plugin_conf_options('password'),
                     *loading.get_adapter_conf_options()])]
