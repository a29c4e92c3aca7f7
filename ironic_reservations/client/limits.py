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

"""What a project may have, through python-ironicclient."""

from __future__ import annotations

from typing import Any
from typing import cast

from ironicclient import exc
from ironicclient.common import base
from ironicclient.v1 import client as ironic_client

from ironic_reservations.client import errors
from ironic_reservations.client import session

SINCE = '1.6'


class Limits(base.Resource):
    """What a project may have, and what of it is used.

    Its attributes are those of the API: ``project_id``, and ``absolute``, a
    list with ``limit``, ``allowed``, ``used``, ``unit`` and, since 1.13,
    ``resource_class`` of each.
    """

    def __init__(self, manager: Any, info: dict[str, Any],
                 loaded: bool = False) -> None:
        super().__init__(manager, info.get('limits', info), loaded)

    def __repr__(self) -> str:
        return f'<Limits {self._info}>'


class LimitsManager(base.Manager[Limits]):
    """Asks for limits.

    :param client: an Ironic client; its session is used.
    :param endpoint: where they are served, if not at the endpoint of the
        Ironic client.
    """

    resource_class: type[Limits] = Limits
    _resource_name: str = 'limits'

    def __init__(self, client: ironic_client.Client,
                 endpoint: str | None = None) -> None:
        super().__init__(session.ReservationSession(
            client.http_client, endpoint=endpoint))

    def get(self, project: str | None = None) -> Limits:
        """Get what a project may have, and what of it is used.

        :param project: its ID, for administrators; by default the limits
            are those that hold for the caller.
        :raises Forbidden: the project is another one than the caller's.
        :raises NotServed: the service is older than that.
        """
        asked = {} if project is None else {'project': project}
        try:
            _response, found = self.api.json_request('GET', self._path(),
                                                     params=asked)
        except (exc.NotFound, errors.NotServed) as error:
            raise errors.NotServed(
                'The service does not show limits: they came with version '
                f'{SINCE} of the reservation API.') from error
        return Limits(self, cast(dict[str, Any], found), loaded=True)
