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

"""Releases holds: at once if possible, otherwise later."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import transitions
from ironic_reservations.features.placement.holds import values

LOG = log.getLogger(__name__)


def release(engine: Engine, owners: Collection[str]) -> bool:
    """Release the holds of reservations.

    :returns: whether all are gone; the others will be released later.
    :raises DatabaseUnavailable: nothing was changed, or the holds will be
        released later.
    """
    if owners:
        retry.write(engine, lambda connection: db_holds.release(
            connection, owners, engine.clock(), hold_calls.deadline(engine)))
    return take_back(engine, owners)


def give_up(engine: Engine, held: values.Hold) -> bool:
    """Release one hold, and no other one of its owner.

    :returns: whether it is gone; otherwise it will be released later, or has
        changed.
    :raises DatabaseUnavailable: nothing was changed, or the hold will be
        released later.
    """
    marked = retry.write(engine, lambda connection: db_holds.change(
        connection, held, engine.clock(), state=values.HoldState.RELEASING,
        deadline=hold_calls.deadline(engine)))
    return marked is not None and take_back_one(engine, marked)


def take_back(engine: Engine, owners: Collection[str]) -> bool:
    """Release the holds that :func:`.rows.release` has marked.

    :returns: whether all are gone; the others will be released later.
    """
    if not owners:
        return True
    with engine.database.read() as connection:
        left = db_holds.read_of_owners(connection, owners)
    gone = sum(_take_back(engine, some)
               for some in hold_calls.in_parts(left))
    return gone == len(left)


def take_back_one(engine: Engine, one: values.Hold) -> bool:
    """Release a hold that has been marked; return whether it is gone."""
    return bool(_take_back(engine, [one]))


def _take_back(engine: Engine, some: Sequence[values.Hold]) -> int:
    """Release holds that have been marked; return how many are gone."""
    removed = _remove_all(engine, some)
    transitions.forget(engine, *removed)
    return len(removed)


def _remove_all(engine: Engine,
                some: Sequence[values.Hold]) -> list[values.Hold]:
    """Remove holds that have been marked; return the removed ones."""
    # An unconfirmed hold may be being written until its deadline.
    marked = [one for one in some if one.confirmed
              and one.state is values.HoldState.RELEASING]
    together = [one for one in marked if not one.handed]
    if len(together) > 1:
        answer = hold_calls.remove_all(engine, together)
        if answer.outcome is answers.Outcome.UNCERTAIN:
            # No single requests after this, since Placement does not answer.
            LOG.warning('%(count)s holds could not be released yet, and will '
                        'be later: %(why)s',
                        {'count': len(some), 'why': answer.said})
            return []
        if answer.done:
            return together + [one for one in marked
                               if one.handed and _remove(engine, one)]
    return [one for one in marked if _remove(engine, one)]


def _remove(engine: Engine, one: values.Hold) -> bool:
    """Remove a hold that has been marked; return whether it is gone."""
    try:
        hold_calls.remove(engine, one)
    except errors.PlacementUnavailable as exc:
        LOG.warning('The hold of node %(node)s could not be released yet, and '
                    'will be later: %(why)s',
                    {'node': one.node_uuid, 'why': exc})
        return False
    return True
