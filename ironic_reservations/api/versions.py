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

"""The versions of the API, and how a request chooses one."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import re

from ironic_reservations import errors

SERVICE_TYPE = 'baremetal-reservation'
HEADER = 'OpenStack-API-Version'
MINIMUM_HEADER = 'OpenStack-API-Minimum-Version'
MAXIMUM_HEADER = 'OpenStack-API-Maximum-Version'
MAJOR = 1

SEED = 0
TIMES = 1
PICK = 2
PAGES = 3
REASONS = 4
FLAVORS = 5
SUSPENDED = 6
LIMITS = SUSPENDED
DEGRADED = SUSPENDED
CALENDAR = 7
FLEXIBLE = 8
MAINTENANCE = 9
USAGE = 10
RACKS = 11
QUEUE = 12
CLASS_LIMITS = 13
CALENDAR_MAINTENANCE = 14
MOVES = 15
EXTENSION_LIMITS = 16
LOANS = 17
LEASE_HISTORY = 18
CALENDAR_STATES = 19
OPEN_DATES = 20
MAINTENANCE_WAITS = 21
NO_SHOWS = 22
NAMED_BLOCKERS = 23
REQUEST_KEYS = 24
MAINTENANCE_RESCHEDULED = 25
USERS = 26
LEASE_FILTERS = 27
LASTING = 28

#: Every version with its changes, oldest first.
HISTORY: tuple[tuple[int, str], ...] = (
    (SEED, 'Reservations: create from a list of nodes, list, show, delete.'),
    (TIMES, 'expires_at, ttl and uuid in requests; expires_at and state in '
            'answers; PATCH renews a reservation.'),
    (PICK, 'resource_class and traits choose a node where no list is given, '
           'or filter the list.'),
    (PAGES, 'The list takes node, instance, project, limit, marker, '
            'sort_key, sort_dir and fields, and has next; show takes fields; '
            'reservations carry links.'),
    (REASONS, 'Errors carry the reason for each node as data; reservations '
              'carry project_id and user_id.'),
    (FLAVORS, 'flavor chooses a node by a flavor of Nova, instead of '
              'resource_class and traits.'),
    (SUSPENDED, 'Reservations carry suspended and suspended_reason; '
                'GET /v1/limits; leases carry degraded_reason.'),
    (CALENDAR, 'GET /v1/calendar; /v1/calendar/token; availability takes '
               'slots.'),
    (FLEXIBLE, 'Leases take between, duration and fix_before, and carry them '
               'and fixed.'),
    (MAINTENANCE, 'Maintenance windows: /v1/maintenances.'),
    (USAGE, 'GET /v1/usage.'),
    (RACKS, 'GET /v1/calendar takes racks and rack.'),
    (QUEUE, 'Leases take on_refusal and priority, and carry queued, '
            'promised_start and priority.'),
    (CLASS_LIMITS, 'GET /v1/limits has limits by resource class, and each '
                   'limit carries resource_class.'),
    (CALENDAR_MAINTENANCE, 'GET /v1/calendar shows maintenance windows.'),
    (MOVES, 'The dry run of a lease carries moves.'),
    (EXTENSION_LIMITS, 'GET /v1/limits has the limits of extensions.'),
    (LOANS, 'The nodes of a lease carry lent_until; GET /v1/calendar counts '
            'hosts of other owners for as long as they are lent.'),
    (LEASE_HISTORY, 'GET /v1/leases/{id}/history.'),
    (CALENDAR_STATES, 'GET /v1/calendar marks hosts that are being cleaned '
                      'and hosts that are lent, and has the property that '
                      'names racks.'),
    (OPEN_DATES, 'Requests that change a lease take between, duration and '
                 'fix_before.'),
    (MAINTENANCE_WAITS, 'GET /v1/maintenances/{uuid} shows the user that '
                        'each node waits for.'),
    (NO_SHOWS, 'GET /v1/leases/{id}/history has no_show_release.'),
    (NAMED_BLOCKERS, 'The refusal of a lease names the leases of the '
                     "caller's project that are in the way."),
    (REQUEST_KEYS, 'POST /v1/reservations, POST /v1/maintenances and PUT '
                   '/v1/leases/{id} take Idempotency-Key; without one, the '
                   'uuid in a request for a reservation is its key.'),
    (MAINTENANCE_RESCHEDULED, 'The answer of POST /v1/maintenances carries '
                              'rescheduled.'),
    (USERS, 'Leases in the calendar, and named leases in refusals, carry '
            'user_id; without Keystone, own tells users apart.'),
    (LEASE_FILTERS, 'GET /v1/leases takes name, status, node, from and to.'),
    (LASTING, 'A new lease or maintenance window takes duration instead of '
     'its end.'),
)
MINIMUM = HISTORY[0][0]
MAXIMUM = HISTORY[-1][0]

#: The versions of the resources in the format of Blazar, oldest first.
BLAZAR_HISTORY: tuple[tuple[int, str], ...] = (
    (0, 'Leases, hosts and allocations as Blazar has them; availability.'),
)

_NUMBER = re.compile(r'(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})')


def text(minor: int) -> str:
    """Return the text of a version, such as ``1.5``."""
    return f'{MAJOR}.{minor}'


@dataclasses.dataclass(frozen=True)
class Line:
    """The versions of one service type."""

    service_type: str
    history: tuple[tuple[int, str], ...]

    @property
    def minimum(self) -> int:
        """The oldest minor version."""
        return self.history[0][0]

    @property
    def maximum(self) -> int:
        """The latest minor version."""
        return self.history[-1][0]

    def requested(self, header: str | None) -> int:
        """Return the version that a request names.

        :param header: the value of ``OpenStack-API-Version``, which may name
            other services, too.
        :returns: the minor version; the oldest if the request names none.
        :raises VersionNotAcceptable: the version cannot be parsed, or is out
            of range.
        """
        wanted: set[str] = set()
        for part in (header or '').split(','):
            if self._is_ours(part):
                version = part.strip().partition(' ')[2]
                wanted.add(version.strip().lower())
        if not wanted:
            return self.minimum
        if len(wanted) > 1:
            raise self._refusal(f'The header {HEADER} asks for several '
                                f'versions of {self.service_type} at once.')
        version = wanted.pop()
        if version == 'latest':
            return self.maximum
        match = _NUMBER.fullmatch(version)
        if match is None:
            raise self._refusal(f'The version {version[:40]!r} of '
                                f'{self.service_type} in the header {HEADER} '
                                'cannot be read.')
        major, minor = int(match[1]), int(match[2])
        if major != MAJOR or not self.minimum <= minor <= self.maximum:
            raise self._refusal(f'The version {version} of '
                                f'{self.service_type} was asked for but is '
                                'not served here.')
        return minor

    def named(self, header: str | None) -> bool:
        """Return whether a request names any version of this line."""
        return any(self._is_ours(part) for part in (header or '').split(','))

    def _is_ours(self, part: str) -> bool:
        return part.strip().partition(' ')[0].lower() == self.service_type

    def _refusal(self, sentence: str) -> errors.VersionNotAcceptable:
        oldest, latest = text(self.minimum), text(self.maximum)
        return errors.VersionNotAcceptable(
            f'{sentence} Ask for {oldest} to {latest}, or for "latest".',
            min_version=oldest, max_version=latest)

    def shown(self, minor: int) -> str:
        """Return a version with its service type."""
        return f'{self.service_type} {text(minor)}'


def headers(used: Mapping[Line, int | None]) -> list[tuple[str, str]]:
    """Return the version headers of an answer.

    :param used: the version in use of each line; ``None`` if none could be
        agreed on.
    """
    out = [(MINIMUM_HEADER, ', '.join(
               line.shown(line.minimum) for line in used)),
           (MAXIMUM_HEADER, ', '.join(
               line.shown(line.maximum) for line in used)),
           ('Vary', HEADER)]
    agreed = [line.shown(minor) for line, minor in used.items()
              if minor is not None]
    if agreed:
        out.append((HEADER, ', '.join(agreed)))
    return out


OWN = Line(SERVICE_TYPE, HISTORY)
BLAZAR = Line('reservation', BLAZAR_HISTORY)
