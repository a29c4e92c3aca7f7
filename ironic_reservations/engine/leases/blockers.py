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

"""Name the leases that are in the way of another one."""

from __future__ import annotations

from ironic_reservations import errors
from ironic_reservations.db import lease_names
from ironic_reservations.engine import Engine


def name(engine: Engine, refused: errors.LeaseRefused) -> None:
    """Add the caller's own leases that are in the way to a refusal.

    NOTE: a refusal has reservation ids only for leases of the caller's
    project.
    """
    own = [each for reason in refused.details.get('reasons', ())
           for each in reason.get('blockers', ()) if 'reservation_id' in each]
    if not own:
        return
    with engine.database.read() as connection:
        named = lease_names.read_by_reservation(
            connection, {each['reservation_id'] for each in own})
    for each in own:
        # NOTE: the lease may have ended meanwhile.
        if each['reservation_id'] in named:
            each['lease_id'], each['lease_name'] = named[
                each['reservation_id']]
