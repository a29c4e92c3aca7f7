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

"""Versions of the API: which there are, and which one a request wants."""

from __future__ import annotations

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

#: Every version, oldest first, with what changed.
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
)
MINIMUM = HISTORY[0][0]
MAXIMUM = HISTORY[-1][0]

_NUMBER = re.compile(r'(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})')


def text(minor: int) -> str:
    """Write a version as clients do."""
    return f'{MAJOR}.{minor}'


def requested(header: str | None) -> int:
    """Read which version a request wants.

    :param header: the value of ``OpenStack-API-Version``, which may name
        other services besides.
    :returns: the minor version; the oldest where nothing was asked for.
    :raises VersionNotAcceptable: it cannot be read, or is out of range.
    """
    wanted: set[str] = set()
    for part in (header or '').split(','):
        service, _, version = part.strip().partition(' ')
        if service.lower() == SERVICE_TYPE:
            wanted.add(version.strip().lower())
    if not wanted:
        return MINIMUM
    if len(wanted) > 1:
        raise _refusal(f'The header {HEADER} asks for several versions of '
                       f'{SERVICE_TYPE} at once.')
    version = wanted.pop()
    if version == 'latest':
        return MAXIMUM
    match = _NUMBER.fullmatch(version)
    if match is None:
        raise _refusal(f'The version {version[:40]!r} in the header {HEADER} '
                       'cannot be read.')
    major, minor = int(match[1]), int(match[2])
    if major != MAJOR or not MINIMUM <= minor <= MAXIMUM:
        raise _refusal(f'The version {version} was asked for but is not '
                       'served here.')
    return minor


def _refusal(sentence: str) -> errors.VersionNotAcceptable:
    return errors.VersionNotAcceptable(
        f'{sentence} Ask for {text(MINIMUM)} to {text(MAXIMUM)}, or for '
        '"latest".', min_version=text(MINIMUM), max_version=text(MAXIMUM))


def headers(minor: int | None) -> list[tuple[str, str]]:
    """Give the headers that every answer carries.

    :param minor: the version in use; ``None`` where none could be agreed.
    """
    out = [(MINIMUM_HEADER, f'{SERVICE_TYPE} {text(MINIMUM)}'),
           (MAXIMUM_HEADER, f'{SERVICE_TYPE} {text(MAXIMUM)}'),
           ('Vary', HEADER)]
    if minor is not None:
        out.append((HEADER, f'{SERVICE_TYPE} {text(minor)}'))
    return out
