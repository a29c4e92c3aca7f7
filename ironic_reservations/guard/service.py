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


"""Our own requests to the Ironic in this process, as the user in [ironic]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1 import loading
from oslo_config import cfg

from ironic_reservations import errors
from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.clouds import sending
from ironic_reservations.guard import identity

_GROUP = 'ironic'
_NONE = 'none'


class Authenticated:
    """A transport that authenticates its requests.

    :param transport: the transport to the application.
    :param conf: the options of [ironic].
    :param strategy: Ironic's ``auth_strategy``.
    :raises RuntimeError: Ironic needs a user, and [ironic] has none.
    """

    def __init__(self, transport: in_process.InProcess, conf: cfg.ConfigOpts,
                 strategy: str) -> None:
        self._transport = transport
        self._auth: Any = None
        if strategy == identity.NOAUTH:
            return
        if conf.ironic.auth_type in (None, _NONE):
            raise RuntimeError(
                f'Ironic authenticates its callers with "{strategy}", but '
                'ironic-reservations has no user there. Set auth_type and its '
                'options in the section [ironic] of ironic-reservations.conf.')
        self._auth = sending.auth(conf, _GROUP)
        # NOTE: a session without credentials.  If Keystone answers 401 to its
        # version discovery, keystoneauth repeats it with those of the session,
        # and deadlocks on the lock under which it gets them.
        self._session = loading.load_session_from_conf_options(conf, _GROUP)

    def send(self, method: str, path: str, headers: Mapping[str, str],
             body: Any = None) -> tuple[int, Any]:
        """Send a request.

        :raises IronicUnavailable: Keystone gave no token, or a request with a
            ticket needs a new one.
        """
        answer = self._transport.send(method, path,
                                      {**headers, **self._own()}, body)
        if (answer[0] != 401 or self._auth is None
                or not self._auth.invalidate()):
            return answer
        if ironic_client.TICKET_HEADER in headers:
            # The gate has used the ticket up by now.
            raise errors.IronicUnavailable(
                'The token of the user of [ironic] is not valid any more, so '
                'nothing was changed. The change is tried again with a new '
                'one.')
        return self._transport.send(method, path,
                                    {**headers, **self._own()}, body)

    def _own(self) -> dict[str, str]:
        if self._auth is None:
            return {}
        try:
            return dict(self._auth.get_headers(self._session) or {})
        except (ksa_exc.ClientException, OSError) as exc:
            raise errors.IronicUnavailable(
                'The user of [ironic] in ironic-reservations.conf gets no '
                f'token ({type(exc).__name__}), so Ironic cannot be asked. '
                'The operator should check that section, and whether Keystone '
                'answers.') from exc
