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

"""Every option of the project, for the configuration and its sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg
from oslo_policy import opts as policy_opts

from ironic_reservations.conf import api
from ironic_reservations.conf import audit
from ironic_reservations.conf import database
from ironic_reservations.conf import default
from ironic_reservations.conf import guard
from ironic_reservations.conf import ironic
from ironic_reservations.conf import leases
from ironic_reservations.conf import notices
from ironic_reservations.conf import nova
from ironic_reservations.conf import placement
from ironic_reservations.conf import reservations

_ROOMS = (default, api, audit, database, guard, ironic, leases, notices, nova,
          placement, reservations)


def register(conf: cfg.ConfigOpts) -> None:
    """Make every option known to a configuration object."""
    for room in _ROOMS:
        room.register(conf)
    policy_opts.set_defaults(conf, policy_file='policy.yaml')


def list_opts() -> list[tuple[str, Sequence[Any]]]:
    """List the options for oslo-config-generator."""
    listed: list[tuple[str, Sequence[Any]]] = []
    for room in _ROOMS:
        listed.extend(room.list_opts())
    return listed
