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


"""A Network service that has nothing: no networks, no ports, no anything.

Nova asks it even where a server has no networks; the real one would need a
network to manage.
"""

from __future__ import annotations

from collections.abc import Iterable
import json
from typing import Any

from tools.stack import ground as stack_ground

NAME = 'neutron'


def application(environ: dict[str, Any], start_response: Any
                ) -> Iterable[bytes]:
    """Answer each list with an empty one, and allow any number of ports."""
    path = environ['PATH_INFO'].rstrip('/')
    kind = path.rpartition('/')[2].removesuffix('.json').replace('-', '_')
    body = json.dumps({'quota': {'port': -1}} if '/quotas/' in path
                      else {'versions': []} if not kind else {kind: []})
    start_response('200 OK', [('Content-Type', 'application/json'),
                              ('Content-Length', str(len(body)))])
    return [body.encode()]


def start(ground: stack_ground.Ground) -> None:
    """Start it."""
    ground.serve(NAME, 'tools.stack.neutron', {
        'PYTHONPATH': str(stack_ground.SOURCE)})
