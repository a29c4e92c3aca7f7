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

"""The writes of Ironic's API that the guard passes on without a check.

All other writes are either guarded or unknown. A route that a later Ironic
adds belongs here only if it changes nothing for the holder of a node.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

_ANY = '*'
_OBJECT = ('PATCH', 'DELETE')
_SUFFIX = '.json'


@dataclasses.dataclass(frozen=True)
class Route:
    """Writes that do not affect the holder of a node.

    :ivar path: below ``/v1``; "*" is any one segment.
    :ivar why: the reason why the guard need not examine them.
    """

    methods: tuple[str, ...]
    path: str
    why: str


ROUTES = (
    Route(('PUT',), 'nodes/*/management/indicators/*',
          'a lamp changes nothing for the holder'),
    Route(('POST',), 'chassis', 'a chassis only groups nodes'),
    Route(_OBJECT, 'chassis/*', 'a chassis only groups nodes'),
    Route(('PATCH',), 'allocations/*', 'only its name and extra change'),
    Route(('POST',), 'deploy_templates', 'steps apply to later deploys only'),
    Route(_OBJECT, 'deploy_templates/*', 'steps apply to later deploys only'),
    Route(('POST',), 'runbooks', 'steps are run by a provision target'),
    Route(_OBJECT, 'runbooks/*', 'steps are run by a provision target'),
    Route(('PUT', 'DELETE'), 'runbooks/*/traits',
          'they are of the runbook, not of a node'),
    Route(('PUT', 'DELETE'), 'runbooks/*/traits/*',
          'they are of the runbook, not of a node'),
    Route(('POST',), 'inspection_rules',
          'rules apply to an inspection, which is guarded'),
    Route(_OBJECT, 'inspection_rules/*',
          'rules apply to an inspection, which is guarded'),
    Route(('POST', 'PUT', 'PATCH', 'DELETE'), 'drivers/*/vendor_passthru',
          'it is of a driver, not of a node'),
    Route(('POST', 'PUT', 'PATCH', 'DELETE'), 'drivers/*/vendor_passthru/*',
          'it is of a driver, not of a node'),
    Route(('POST',), 'heartbeat/*', 'the agent reports, with its own token'),
    Route(('POST',), 'continue_inspection',
          'the agent reports, during an inspection'),
    Route(('POST',), 'events', 'the network service reports'),
)


def _by_shape() -> dict[tuple[str, int, str], list[tuple[str, ...]]]:
    found: dict[tuple[str, int, str], list[tuple[str, ...]]] = {}
    for route in ROUTES:
        parts = tuple(route.path.split('/'))
        for method in route.methods:
            found.setdefault((method, len(parts), parts[0]), []).append(parts)
    return found


#: The routes by their method, number of segments and first segment.
_BY_SHAPE = _by_shape()


def is_harmless(method: str, names: Sequence[str]) -> bool:
    """Return whether the guard need not examine a write.

    :param names: the segments of the path without ``v1``, as received.
    """
    plain = (*names[:-1], names[-1].removesuffix(_SUFFIX))
    return any(matches(parts, plain) for parts in _BY_SHAPE.get(
        (method, len(plain), plain[0]), ()))


def matches(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether segments match a pattern of the same length."""
    return all(part in (_ANY, name)
               for part, name in zip(pattern, names, strict=True))
