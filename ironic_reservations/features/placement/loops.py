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

"""The loop for Placement."""

from __future__ import annotations

from ironic_reservations.engine import Engine
from ironic_reservations.features.placement import compute_mirror
from ironic_reservations.features.placement import sync
from ironic_reservations.reconciler import claim
from ironic_reservations.reconciler import loop


def holds(engine: Engine) -> loop.Loop:
    """Return the loop that keeps Placement in agreement with our rows.

    :param engine: an engine with a client of Placement.
    """
    options = engine.conf.placement
    hosts = compute_mirror.ComputeMirror(engine)
    # Failed tasks wait for their interval, to put no load on a failing
    # Placement.
    tasks = [loop.Task(lambda _: sync.recover(engine),
                       options.recover_interval),
             loop.Task(lambda _: hosts.refresh(), options.hosts_interval,
                       again=False)]
    if options.audit_interval:
        tasks.append(loop.Task(
            lambda _: sync.audit(engine, options.repair),
            options.audit_interval, again=False))
    return loop.Loop('placement', tasks,
                     claim.Claim(engine, 'holds', options.claim_ttl))
