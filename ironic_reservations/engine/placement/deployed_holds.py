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

"""Handing holds to instances that are deployed, where that is wanted."""

from __future__ import annotations

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import holds as db_holds
from ironic_reservations.engine import Engine
from ironic_reservations.engine.placement import holds as hold_cases
from ironic_reservations.model import facts

LOG = log.getLogger(__name__)

MOVE = 'move'
#: How many holds one pass hands over at most.
_BATCH = 100


def hand_over(engine: Engine, reservation: facts.Reservation) -> None:
    """Hand the hold of a reservation to its instance, now or later."""
    if _wanted(engine):
        _hand_over(engine, reservation.uuid, reservation.instance_uuid,
                   reservation.project_id, reservation.user_id)


def hand_over_all(engine: Engine) -> None:
    """Hand over what should have been, and could not.

    :raises DatabaseUnavailable: the rows cannot be read or written.
    """
    if not _wanted(engine):
        return
    with engine.database.read() as connection:
        deployed = db_holds.read_deployed(connection, _BATCH)
    for _, promise in deployed:
        if promise.instance_uuid is not None and not _hand_over(
                engine, promise.owner, promise.instance_uuid,
                promise.project_id, promise.user_id):
            # NOTE: the others would have to wait for its time-outs, too.
            break


def _wanted(engine: Engine) -> bool:
    return (engine.placement is not None
            and engine.conf.placement.on_deploy == MOVE)


def _hand_over(engine: Engine, owner: str, instance_uuid: str,
               project_id: str | None, user_id: str | None) -> bool:
    """Hand one hold over; tells whether Placement answered."""
    try:
        hold_cases.move(engine, owner, instance_uuid, project_id, user_id)
    except (errors.PlacementUnavailable, errors.DatabaseUnavailable,
            errors.Contention) as exc:
        LOG.warning('The hold for the reservation of instance %(instance)s '
                    'could not be handed over yet, and will be later: '
                    '%(why)s', {
                        'instance': instance_uuid, 'why': exc})
        return False
    return True
