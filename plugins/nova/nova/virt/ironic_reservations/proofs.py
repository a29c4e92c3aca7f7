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

"""Adds proofs to the requests of the driver that need one."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import functools
import threading
from typing import Any
from urllib import parse

HEADER = 'OpenStack-Baremetal-Reservation'
#: Names the project that has chosen the proof.
PROJECT_HEADER = 'OpenStack-Baremetal-Reservation-Project'


@dataclasses.dataclass(frozen=True)
class Proof:
    """The proof of a request.

    :ivar ident: the id of a reservation or a lease reservation.
    :ivar project_id: the project whose user has chosen the proof, and which
        must be entitled to it; ``None``: no user has chosen it.
    """

    ident: str
    project_id: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers with the proof."""
        shown = {HEADER: self.ident}
        if self.project_id is not None:
            shown[PROJECT_HEADER] = self.project_id
        return shown


class Proofs:
    """Adds proofs to the requests of a connection.

    The proof for a node is stored for the thread that works on the node, since
    all threads share one connection.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    @contextlib.contextmanager
    def shown(self, node_uuid: str,
              find: Callable[[], Proof | None]) -> Iterator[None]:
        """Show a proof when this thread changes a node in the block.

        :param find: returns the proof, ``None`` without one. It is called at
            most once, at the first change of the node.
        """
        before = getattr(self._local, 'current', None)
        self._local.current = (node_uuid, functools.cache(find))
        try:
            yield
        finally:
            self._local.current = before

    def put_into(self, connection: Any) -> None:
        """Make a connection add the proofs to its requests.

        :param connection: openstacksdk's proxy of the baremetal service.
        """
        connection.request = functools.partial(self._request,
                                               connection.request)

    def _request(self, send: Callable[..., Any], url: str, method: str,
                 *args: Any, **how: Any) -> Any:
        proof = self._of(url, method)
        if proof is None:
            return send(url, method, *args, **how)
        headers: Mapping[str, str] = how.get('headers') or {}
        return send(url, method, *args, **{
            **how, 'headers': {**headers, **proof.headers}})

    def _of(self, url: str, method: str) -> Proof | None:
        current = getattr(self._local, 'current', None)
        if current is None:
            return None
        node_uuid, find = current
        segments = parse.urlsplit(url).path.strip('/').split('/')
        node = ['nodes', node_uuid]
        if (method == 'PATCH' and segments[-2:] == node
                or method == 'PUT'
                and segments[-4:] == [*node, 'states', 'provision']):
            found: Proof | None = find()
            return found
        return None
