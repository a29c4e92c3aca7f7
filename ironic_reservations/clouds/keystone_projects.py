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
"""Client for Keystone: finds projects that do not exist any more.

No project is reported as gone while Keystone does not answer, or does not show
projects to our user.
"""

from __future__ import annotations

from collections.abc import Collection
import urllib.parse

from oslo_config import cfg

from ironic_reservations import errors
from ironic_reservations.clouds import keystone_reader


class KeystoneProjects:
    """Reads projects with the user of [ironic], a reader of the system.

    :param conf: our configuration.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._reader = keystone_reader.KeystoneReader(conf)

    def gone(self, project_ids: Collection[str]) -> frozenset[str]:
        """Return the projects that Keystone certainly does not have.

        :raises KeystoneUnavailable: Keystone's answers do not show this.
        """
        try:
            missing = {each for each in project_ids if not self._has(each)}
            if not missing:
                return frozenset()
            # A user without the role sees no projects, so an empty list proves
            # nothing.
            there = {each['id'] for each
                     in self._reader.get('/projects')['projects']}
        except keystone_reader.UNKNOWN as exc:
            raise errors.KeystoneUnavailable(
                'Keystone does not list the projects for the user of [ironic] '
                f'({type(exc).__name__}: {exc}). The user needs the role '
                'reader with the scope system.') from exc
        if not there:
            raise errors.KeystoneUnavailable(
                'Keystone shows no projects at all to the user of [ironic], '
                'so no project counts as deleted. The user needs the role '
                'reader with the scope system.')
        return frozenset(missing - there)

    def _has(self, project_id: str) -> bool:
        found = self._reader.find(
            f"/projects/{urllib.parse.quote(project_id, safe='')}")
        return (found is not None
                and bool(found['project']['id'] == project_id))
