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

"""The availability of hosts, through python-ironicclient."""

from __future__ import annotations

from typing import Any

from ironic_reservations_client import lease_payload
from ironic_reservations_client import resource
from ironic_reservations_client import resources


class Availability(resource.Resource):
    """The number of free hosts over time.

    Its attributes are those of the API: ``start_date``, ``end_date``,
    ``classes``, each with its ``spans``, ``earliest``, and ``slots`` if they
    were requested.
    """

    describes = resources.AVAILABILITY


class AvailabilityManager(resource.Manager[Availability]):
    """Requests for the number of free hosts."""

    resource_class = Availability

    def get(self, **asked: Any) -> Availability:
        """Count the free hosts, and find the earliest start.

        :param asked: as for ``lease_payload.availability``: ``start``,
            ``end``, ``resource_class``, ``traits`` and ``conditions`` are
            filters; with ``hosts`` and ``duration``, in seconds, the answer
            has the earliest start, and with ``slots`` as many starts within
            the window (since 1.7).
        :raises ValueError: a condition cannot be parsed, or one of ``hosts``
            and ``duration`` is given without the other, or ``slots`` without
            both.
        :raises BadRequest: the server refuses the values.
        """
        return self._ask('GET', self._path(),
                         params=lease_payload.availability(**asked))
