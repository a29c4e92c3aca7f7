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

"""What answers every request of a client with the same document."""

from __future__ import annotations

import json
from typing import Any

import requests

#: Documents that no service answers with; ``None`` is what is not JSON.
NO_DOCUMENTS: tuple[Any, ...] = (None, 5, 'text', [], [5], {}, {'x': 1},
                                 {'errors': [{'x': 1}]}, {'error': None})

_MISSING = object()
_WRONG: tuple[Any, ...] = (None, 5, 1.5, True, 'text', [], [5], [[]], {},
                           {'x': None})


class Answering:
    """A sender whose requests all get one answer.

    :ivar status: of the answer.
    :ivar document: in the answer; ``None``: a page of a proxy.
    :ivar asked: how many requests there were.
    """

    def __init__(self, status: int = 200, document: Any = None) -> None:
        self.status, self.document = status, document
        self.asked = 0

    def request(self, *_: object, **__: object) -> requests.Response:
        """Answer."""
        self.asked += 1
        answer = requests.Response()
        answer.status_code = self.status
        answer.encoding = 'utf-8'
        answer._content = (b'<html>' if self.document is None
                           else json.dumps(self.document).encode())
        return answer


def spoiled(document: dict[str, Any], path: str,
            needed: bool = True) -> list[dict[str, Any]]:
    """Return a document with each wrong value of a key, and without it.

    :param path: the keys down to it; a list is entered by its first element.
    :param needed: whether the key may not be left out.
    """
    *above, last = path.split('/')
    found: list[dict[str, Any]] = []
    for wrong in (*_WRONG, *([_MISSING] if needed else [])):
        copy = json.loads(json.dumps(document))
        inner = copy
        for key in above:
            inner = inner[key]
            inner = inner[0] if isinstance(inner, list) else inner
        there = inner.pop(last)
        if wrong is not _MISSING:
            inner[last] = wrong
        if type(wrong) is not type(there) or wrong in ([5], [[]]):
            found.append(copy)
    return found
