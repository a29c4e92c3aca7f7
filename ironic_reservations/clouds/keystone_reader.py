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
"""Client for Keystone: documents that the user of [ironic] may read."""

from __future__ import annotations

import threading
from typing import Any

from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1 import loading
from keystoneauth1 import plugin
from oslo_config import cfg

_GROUP = 'ironic'
_VERSION = '/v3'
#: The limit for an answer, in seconds.
_PATIENCE = 10
_USER = {'User-Agent': 'ironic-reservations'}
#: The exceptions at a document that does not have the expected shape.
MALFORMED = (AttributeError, LookupError, TypeError, ValueError)
#: The exceptions where the answer is not known.
UNKNOWN = (ksa_exc.ClientException, OSError, *MALFORMED)


class KeystoneReader:
    """Reads with the user of [ironic], a reader of the system.

    :param conf: our configuration.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._lock = threading.Lock()
        self._session: tuple[Any, Any] | None = None

    def get(self, path: str, query: dict[str, str] | None = None) -> Any:
        """Return the document at a path below the version of the API.

        :raises keystoneauth1.exceptions.ClientException: there is no such
            document, or the user may not see it, or Keystone does not answer.
        """
        session, auth = self._opened()
        root = session.get_endpoint(auth, interface=plugin.AUTH_INTERFACE)
        if root is None:
            raise ksa_exc.EndpointNotFound(
                f'[{_GROUP}] has no auth_url')
        root = root.rstrip('/').removesuffix(_VERSION) + _VERSION
        try:
            return session.get(f'{root}{path}', auth=auth,
                               params=query or {}, headers=_USER).json()
        except (ValueError, TypeError) as exc:
            raise ksa_exc.InvalidResponse(response=None) from exc

    def find(self, path: str) -> Any:
        """Return the document at a path; ``None`` if Keystone has none.

        :raises keystoneauth1.exceptions.ClientException: as :meth:`get`.
        """
        try:
            return self.get(path)
        except ksa_exc.NotFound as exc:
            # Any other 404 comes from a proxy in front of Keystone.
            try:
                if exc.response.json()['error']['code'] == 404:
                    return None
            except MALFORMED as malformed:
                raise ksa_exc.InvalidResponse(exc.response) from malformed
            raise

    def _opened(self) -> tuple[Any, Any]:
        # NOTE: the session has no credentials of its own. If Keystone answered
        # 401 to the discovery of its versions, keystoneauth would ask again
        # with the credentials of the session, and deadlock on its lock.
        with self._lock:
            if self._session is None:
                self._session = (
                    loading.load_session_from_conf_options(
                        self._conf, _GROUP, timeout=_PATIENCE),
                    loading.load_auth_from_conf_options(self._conf, _GROUP))
            return self._session
