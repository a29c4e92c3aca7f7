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

"""Builds an engine: the core with all features."""

from __future__ import annotations

from oslo_config import cfg

from ironic_reservations import clock as clock_module
from ironic_reservations import engine as engine_module
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.features import in_order


def engine(conf: cfg.ConfigOpts,
           ironic: ironic_client.Ironic | None = None,
           clock: clock_module.Clock | None = None) -> engine_module.Engine:
    """Return an engine with all features.

    :param clock: the clock; by default that of the database.
    """
    return engine_module.build(conf, ironic, clock, in_order.new())
