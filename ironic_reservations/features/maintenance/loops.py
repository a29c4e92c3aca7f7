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

"""The loop for maintenance windows."""

from __future__ import annotations

from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.engine import Engine
from ironic_reservations.features.maintenance import sync
from ironic_reservations.reconciler import claim
from ironic_reservations.reconciler import loop


def nodes(engine: Engine, ironic: ironic_client.Ironic) -> loop.Loop:
    """Return the loop that puts nodes into maintenance for their windows."""
    return loop.Loop('maintenance', (loop.Task(
        lambda continues: sync.sync(engine, ironic, continues),
        engine.conf.ironic.poll_interval),), claim.Claim(
            engine, 'maintenance', engine.conf.ironic.claim_ttl))
