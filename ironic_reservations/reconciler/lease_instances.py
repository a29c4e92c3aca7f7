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

"""What leases of instances have in Placement and Nova, in a turn.

Where holds in Placement are switched off, nothing here does anything.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable

from ironic_reservations.engine import reservation_providers
from ironic_reservations.planner import leases
from ironic_reservations.planner import reservation_providers as planner
from ironic_reservations.reconciler import lease_turn


def give(turn: lease_turn.Turn, reservation_id: str, project_id: str | None,
         bookings: Iterable[leases.NodeBooking],
         flavor: planner.FlavorWanted | None) -> tuple[str, ...]:
    """Have a reservation offered on its hosts, and a flavor for it.

    Comes after the hosts are held, and before the bookings are written down
    as bound: until then no audit misses anything.

    :param bookings: all that the reservation has or is being given now, one
        for each instance; hosts that it has had and lost are closed.
    :param flavor: ``None``: none is made.
    :returns: what is waited for, in words.
    :raises Lost: the lease is another worker's.
    :raises PlacementUnavailable: it cannot be known what there is.
    :raises NovaUnavailable: it cannot be known what there is.
    """
    counts = collections.Counter(each.node_uuid for each in bookings
                                 if each.state
                                 is not leases.BookingState.ENDING)
    lost = {each.node_uuid: 0 for each in bookings
            if each.state is leases.BookingState.ENDING}
    return _bring(turn, planner.Wanted(
        reservation_id, project_id, {**lost, **counts}, True, flavor))


def take_back(turn: lease_turn.Turn, reservation_id: str,
              bookings: Iterable[leases.NodeBooking]) -> tuple[str, ...]:
    """Take back what a reservation had, after its servers.

    Comes before nodes are undeployed, so that Nova takes its servers down
    itself; the bookings stay until nothing is waited for any more.

    :param bookings: all that the reservation has still.
    :returns: what is waited for, in words.
    :raises Lost: the lease is another worker's.
    :raises PlacementUnavailable: it cannot be known what there is.
    :raises NovaUnavailable: it cannot be known what there is.
    """
    servers = (planner.Servers.DELETE
               if turn.engine.conf.leases.end_action == 'undeploy'
               else planner.Servers.LEAVE)
    return _bring(turn, planner.Wanted(
        reservation_id, None,
        dict.fromkeys((each.node_uuid for each in bookings), 0), False,
        servers=servers))


def _bring(turn: lease_turn.Turn,
           wanted: planner.Wanted) -> tuple[str, ...]:
    def before_each() -> None:
        if not turn.holds():
            raise lease_turn.Lost(turn.lease_id)
    return reservation_providers.bring(turn.engine, wanted,
                                       before_each).waits
