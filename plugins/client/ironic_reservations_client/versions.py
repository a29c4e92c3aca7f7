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


"""The version of the reservation API that the clients request."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib

SERVICE_TYPE = 'baremetal-reservation'
LATEST = '1.28'
HEADER = 'OpenStack-API-Version'
MINIMUM_HEADER = 'OpenStack-API-Minimum-Version'
MAXIMUM_HEADER = 'OpenStack-API-Maximum-Version'


def header(version: str, beside: str | None = None) -> str:
    """Return the value of the version header.

    :param version: the requested version, ``1.N`` or ``latest``.
    :param beside: the value for other services, which is kept.
    """
    others = [part.strip() for part in (beside or '').split(',')
              if part.strip() and _service(part) != SERVICE_TYPE]
    return ', '.join([*others, f'{SERVICE_TYPE} {version}'])


def lower(headers: Mapping[str, str], asked: str) -> str | None:
    """Return the server's newest version, if older than the requested one.

    :param headers: the headers of an answer with status 406.
    :param asked: the version that was not acceptable.
    :returns: ``None`` if a lower version would not be accepted, either.
    """
    served = _number(headers.get(MAXIMUM_HEADER, ''))
    if served is None or served >= _parsed(asked):
        return None
    return '.'.join(map(str, served))


def too_new(headers: Mapping[str, str]) -> bool:
    """Return whether all versions of the service are newer than the client.

    :param headers: the headers of an answer.
    """
    least = _number(headers.get(MINIMUM_HEADER, ''))
    return least is not None and least > _parsed(LATEST)


def _service(part: str) -> str:
    return part.strip().partition(' ')[0].lower()


def _number(header: str) -> tuple[int, int] | None:
    """Return our version in a header of an answer."""
    for part in header.split(','):
        if _service(part) == SERVICE_TYPE:
            with contextlib.suppress(ValueError):
                return _parsed(part.split()[-1])
    return None


def _parsed(version: str) -> tuple[int, int]:
    major, _, minor = version.partition('.')
    return int(major), int(minor)
