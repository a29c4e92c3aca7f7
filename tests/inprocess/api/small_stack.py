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

"""JSON of any depth, read in a thread with a stack of 128 KiB as in Ironic.

The program of :mod:`tests.inprocess.api.test_deep_json`: it prints one line
for each request, and crashes at the first request that exceeds the stack.
"""

import json
import threading
from typing import Any
from urllib import parse

from ironic_reservations import errors
from ironic_reservations.guard import bodies
from ironic_reservations.guard import body_limits
from tests.inprocess.api import world

STACK = 131072
#: Depths within Python's own limit of recursion.
DEPTHS = (17, 34, 101, 300, 980, 60000)
_PROJECT = {'x_roles': 'member,reader', 'x_project_id': 'p'}
_JSON = 'application/json'


def _nested(depth: int) -> str:
    return '[' * depth + ']' * depth


def _lease(properties: str, **more: Any) -> dict[str, Any]:
    return {'name': 'deep', 'start_date': 'now',
            'end_date': '2100-01-01 00:00', 'events': [],
            'reservations': [{
                'resource_type': 'physical:host', 'min': 1, 'max': 1,
                'hypervisor_properties': '',
                'resource_properties': properties}], **more}


def _ours(application: world.World) -> None:
    for depth in DEPTHS:
        for opening, closing in (('[', ']'), ('{"a":', '}')):
            raw = (opening * depth + '1' + closing * depth).encode()
            for method, path in (('POST', '/v1/reservations'),
                                 ('POST', '/v1/leases'),
                                 ('POST', '/v1/os-hosts'),
                                 ('GET', '/v1')):
                answer = world.request(application, method, path,
                                       raw=raw, version=None, **_PROJECT)
                print(method, path, depth, answer.status, flush=True)
        if depth * 8 < 10_000:
            _properties(application, depth)


def _properties(application: world.World, depth: int) -> None:
    for text in (_nested(depth), '["not",' * depth + '["==", "$cpu_arch", "1"]'
                 + ']' * depth):
        for method, path, document in (
                ('POST', '/v1/leases', _lease(text)),
                ('GET', '/v1/availability?resource_properties='
                 + parse.quote(text), None)):
            answer = world.request(application, method, path, document,
                                   version=None, **_PROJECT)
            print(method, path[:20], depth, answer.status, flush=True)


def _deepest_that_is_taken(application: world.World) -> None:
    text = '["not",' * 31 + '["in", "$cpu_arch", ["1"]]' + ']' * 31
    answer = world.request(application, 'POST', '/v1/leases', _lease(text),
                           version=None, **_PROJECT)
    print('deepest', answer.status, flush=True)


def _guarded() -> None:
    for depth in DEPTHS:
        for raw in (_nested(depth).encode(), b'[' * depth,
                    ('{"a":' * depth + '1' + '}' * depth).encode()):
            for read in (
                    lambda raw: bodies.read_provision(_JSON, raw),
                    lambda raw: bodies.read_bind(_JSON, raw, True),
                    lambda raw: bodies.read_allocate(_JSON, raw)):
                try:
                    read(raw)
                except errors.ReservationError as exc:
                    print('guard', depth, exc.status, flush=True)
                else:
                    print('guard', depth, 200, flush=True)
    # The greatest depth that the operator may set.
    deepest = body_limits.of_ironic(_Deep(), _Deep()).deepest
    bodies.read_json(_nested(deepest).encode(), deepest)
    bodies.read_json(('{"a":' * deepest + '1' + '}' * deepest).encode(),
                     deepest)
    print('deepest of Ironic', deepest, flush=True)


class _Deep:
    """A configuration with all limits at their maximum."""

    max_body_size = 2**31

    def __getattr__(self, name: str) -> Any:
        return self

    def __getitem__(self, name: str) -> int:
        return 2**31


def main() -> None:
    """Send all requests."""
    application = world.World()
    application.setUp()
    try:
        _ours(application)
        _deepest_that_is_taken(application)
        _guarded()
    finally:
        application.cleanUp()
    print('done', json.dumps(threading.stack_size()), flush=True)


if __name__ == '__main__':
    threading.stack_size(STACK)
    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
