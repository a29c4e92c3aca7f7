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

"""Client for Keystone: the present roles of a user in a project."""

from __future__ import annotations

import collections
import threading
from typing import Any

from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1 import loading
from keystoneauth1 import plugin
from oslo_config import cfg
from oslo_log import log

from ironic_reservations import clock
from ironic_reservations import errors

LOG = log.getLogger(__name__)

_GROUP = 'ironic'
_VERSION = '/v3'
#: How long, in seconds, to wait for an answer, and to cache one.
_PATIENCE = 10
_FRESH = 60.0
_REMEMBERED = 1000
_USER = {'User-Agent': 'ironic-reservations-calendar'}


class KeystoneRoles:
    """Reads roles with the user of [ironic], a reader of the system.

    :param conf: our configuration.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._lock = threading.Lock()
        self._session: tuple[Any, Any] | None = None
        self._known: collections.OrderedDict[
            tuple[str, str], tuple[float, frozenset[str]]] = (
                collections.OrderedDict())

    def now(self, user_id: str, project_id: str) -> frozenset[str]:
        """Return the names of a user's roles, including implied ones.

        The set is empty for a user or a project that is disabled or gone. An
        answer is cached for a minute.
        """
        key = user_id, project_id
        now = clock.elapsed()
        with self._lock:
            seen, roles = self._known.get(key, (None, frozenset()))
        if seen is not None and now < seen + _FRESH:
            return roles
        try:
            roles = self._ask(user_id, project_id)
        except ksa_exc.ClientException as exc:
            LOG.warning('The user of [ironic] cannot ask Keystone for the '
                        'roles of %s in %s, so that no calendar is sent: '
                        '%s: %s', user_id, project_id, type(exc).__name__,
                        exc)
            raise errors.KeystoneUnavailable() from exc
        with self._lock:
            self._known[key] = now, roles
            self._known.move_to_end(key)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return roles

    def _ask(self, user_id: str, project_id: str) -> frozenset[str]:
        try:
            if not (self._get(f'/users/{user_id}')['user']['enabled']
                    and self._get(f'/projects/{project_id}')
                    ['project']['enabled']):
                return frozenset()
        except ksa_exc.NotFound:
            return frozenset()
        found = self._get('/role_assignments', {
            'user.id': user_id, 'scope.project.id': project_id,
            'effective': 'true', 'include_names': 'true'})
        return frozenset(each['role']['name']
                         for each in found['role_assignments'])

    def _get(self, path: str, query: dict[str, str] | None = None) -> Any:
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
