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

"""The limits of a project, through python-ironicclient."""

from __future__ import annotations

from ironic_reservations_client import resource
from ironic_reservations_client import resources


class Limits(resource.Resource):
    """The limits of a project, and their use.

    Its attributes are those of the API: ``project_id``, and ``absolute``, a
    list with ``limit``, ``allowed``, ``used``, ``unit`` and, since 1.13,
    ``resource_class`` of each.
    """

    describes = resources.LIMITS


class LimitsManager(resource.Manager[Limits]):
    """Requests for limits."""

    resource_class = Limits

    def get(self, project: str | None = None) -> Limits:
        """Get the limits of a project, and their use.

        :param project: the ID of the project, for administrators; by default
            the limits of the caller.
        :raises Forbidden: the caller may not see the limits of the project.
        """
        return self._ask('GET', self._path(), params=(
            {} if project is None else {'project': project}))
