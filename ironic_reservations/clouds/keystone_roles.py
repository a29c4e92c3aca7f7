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

from oslo_config import cfg
from oslo_log import log

from ironic_reservations import clock
from ironic_reservations import errors
from ironic_reservations.clouds import keystone_reader

LOG = log.getLogger(__name__)

#: How long, in seconds, an answer is cached.
_FRESH = 60.0
_REMEMBERED = 1000


class KeystoneRoles:
    """Reads roles with the user of [ironic], a reader of the system.

    :param conf: our configuration.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._reader = keystone_reader.KeystoneReader(conf)
        self._lock = threading.Lock()
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
        except keystone_reader.UNKNOWN as exc:
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
        user = self._reader.find(f'/users/{user_id}')
        project = self._reader.find(f'/projects/{project_id}')
        if user is None or project is None or not (
                user['user']['enabled'] and project['project']['enabled']):
            return frozenset()
        found = self._reader.get('/role_assignments', {
            'user.id': user_id, 'scope.project.id': project_id,
            'effective': 'true', 'include_names': 'true'})
        return frozenset(each['role']['name']
                         for each in found['role_assignments'])
