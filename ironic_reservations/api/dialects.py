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

"""The formats of answers to clients: our own, and Blazar's."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses

from ironic_reservations import errors
from ironic_reservations import faults
from ironic_reservations.api import versions

_Render = Callable[[errors.ReservationError, str | None, bool],
                   tuple[int, bytes]]

#: The resources in the format of Blazar, with all paths below them.
BLAZAR_PATHS = ('/v1/leases', '/v1/os-hosts', '/v1/availability')
#: Blazar resources that are not served; their clients expect Blazar's format.
FLOATING_IPS = '/v1/floatingips'


@dataclasses.dataclass(frozen=True)
class Dialect:
    """The format of the answers to a client.

    :ivar line: the versions of its service type.
    :ivar beside: versions that a request may name as well, which add keys to
        the format.
    :ivar details_since: the first version in which errors carry data.
    :ivar render: returns status and body of an error; its arguments are the
        error, the request id and whether the body may contain data.
    """

    line: versions.Line
    details_since: int
    render: _Render
    beside: versions.Line | None = None

    def negotiated(self, header: str | None
                   ) -> dict[versions.Line, int | None]:
        """Return the lines of an answer, before their versions are determined.

        :param header: the value of ``OpenStack-API-Version``.
        """
        lines: dict[versions.Line, int | None] = {self.line: None}
        if self.beside is not None and self.beside.named(header):
            lines[self.beside] = None
        return lines


OWN = Dialect(versions.OWN, versions.REASONS, faults.render)
BLAZAR = Dialect(versions.BLAZAR, versions.BLAZAR.minimum,
                 faults.render_as_blazar, versions.OWN)


def of(path: str) -> Dialect:
    """Return the format of a path."""
    return (BLAZAR if lies_below(path, (*BLAZAR_PATHS, FLOATING_IPS))
            else OWN)


def lies_below(path: str, tops: tuple[str, ...]) -> bool:
    """Return whether a path is one of the given paths, or below one."""
    return path.startswith(tops) and any(
        path == top or path.startswith(top + '/') for top in tops)
