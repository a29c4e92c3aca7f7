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

"""The limits of callers."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

#: The groups of options that limit callers.
GROUPS = ('leases', 'reservations')
#: The limits on extensions of leases that have started.
EXTENSIONS = ('extension_notice', 'max_extensions')


def _no_class() -> Mapping[str, int]:
    field: Mapping[str, int] = dataclasses.field(default_factory=dict)
    return field


@dataclasses.dataclass(frozen=True)
class Limits:
    """The limits of a caller, named after their options.

    0 means no limit.  Limits by class are mappings by resource class.
    """

    max_duration: int = 0
    max_horizon: int = 0
    max_leases_per_project: int = 0
    max_hosts_per_project: int = 0
    max_host_hours_per_project: int = 0
    max_instances_per_project: int = 0
    max_instance_hours_per_project: int = 0
    max_per_project: int = 0
    max_lifetime: int = 0
    extension_notice: int = 0
    max_extensions: int = 0
    max_hosts_per_class: Mapping[str, int] = _no_class()
    max_host_hours_per_class: Mapping[str, int] = _no_class()
    max_per_class: Mapping[str, int] = _no_class()

    @property
    def counted(self) -> bool:
        """Whether any limit depends on the leases that a project has."""
        return any((
            self.max_leases_per_project, self.max_hosts_per_project,
            self.max_host_hours_per_project, self.max_instances_per_project,
            self.max_instance_hours_per_project, self.max_hosts_per_class,
            self.max_host_hours_per_class))

    @property
    def counts_reservations(self) -> bool:
        """Whether any limit depends on the reservations that a project has."""
        return bool(self.max_per_project or self.max_per_class)

    @property
    def classes(self) -> list[str]:
        """The resource classes that have limits of their own, sorted."""
        return sorted({*self.max_hosts_per_class,
                       *self.max_host_hours_per_class})


class Unlimited(Limits):
    """The limits of a caller that has none.

    The type tells features that a request has nothing to do with limits.
    """


NONE = Unlimited()
