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

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

reservations_opts = [
    cfg.IntOpt('default_ttl', default=600, min=1,
               help='How long, in seconds, a reservation lasts where the '
                    'request names no end.'),
    cfg.IntOpt('min_ttl', default=10, min=1,
               help='The shortest reservation, in seconds, that a request '
                    'may ask for.'),
    cfg.IntOpt('max_ttl', default=86400, min=1,
               help='The longest reservation, in seconds, counted from the '
                    'request that makes or renews it.'),
    cfg.IntOpt('sweep_interval', default=10, min=1,
               help='How often, in seconds, rows of expired reservations '
                    'are deleted. An expired reservation is void at its '
                    'instant, swept or not.'),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Make the options known to a configuration object."""
    conf.register_opts(reservations_opts, 'reservations')


def list_opts() -> list[tuple[str, Sequence[Any]]]:
    """List the options for oslo-config-generator."""
    return [('reservations', reservations_opts)]
