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

"""The usage of leases, through python-ironicclient."""

from __future__ import annotations

from collections.abc import Sequence

from ironic_reservations_client import fields
from ironic_reservations_client import resource
from ironic_reservations_client import resources


class Usage(resource.Resource):
    """Host hours, day by day.

    Its attributes are those of the API: ``first_day`` and ``last_day``;
    ``hours``, a list with ``day``, ``project_id``, ``resource_class``,
    ``promised``, ``bound``, ``deployed`` and ``unused``; and ``total``.
    """

    describes = resources.USAGE


class UsageManager(resource.Manager[Usage]):
    """Requests for usage."""

    resource_class = Usage

    def get(self, first_day: str | None = None, last_day: str | None = None,
            by: Sequence[str] = (), project: str | None = None,
            all_projects: bool = False) -> Usage:
        """Get the host hours of leases.

        :param first_day: such as ``2026-03-01``, in UTC.
        :param last_day: today by default.
        :param by: the groups: ``day``, ``project``, ``class``; all of them
            by default.
        :param project: the ID of the project, for administrators; by default
            the caller's project.
        :param all_projects: whether to return all projects, for
            administrators.
        :raises Forbidden: the caller may not see the usage of these projects.
        """
        return self._ask('GET', self._path(), params={
            name: value for name, value in (
                ('first_day', first_day), ('last_day', last_day),
                ('by', ','.join(fields.several(by))), ('project', project),
                ('all_projects', 'true' if all_projects else None))
            if value})
