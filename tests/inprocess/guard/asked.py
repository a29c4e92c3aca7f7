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

"""Acts on a node that a guard receives, from any caller with a token."""

from __future__ import annotations

import io
from typing import Any
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.guard import node_acts
from ironic_reservations.model import node_reservation
from tests import guarded

#: Acts that the second part of their path identifies.
_DEEP = ('states', 'management')


class TestCase(guarded.TestCase):
    """A guard that knows projects."""

    def setUp(self) -> None:
        super().setUp()
        self.guard = self.guard_of(self.ironic, 'keystone')

    def ask(self, act: Any, token: str = 'owner',
            **changed: Any) -> wsgi.Answer:
        """Send an act to the guard.

        :param act: method, path below the node, and body.
        :param changed: changes of the request.
        """
        method, below, body = act
        request = guarded.environ(
            method, '/'.join((f'/v1/nodes/{self.node}', *below)), body,
            token=token) | changed
        if method == 'PATCH':
            return self.guard.patch(request, self.node)
        return self.guard.act(request, node_acts.NodeAct(
            node_acts.KEYWORDS[below[below[0] in _DEEP]] if below
            else node_acts.Act.DELETE, self.node, below))

    def reserve(self, token: str = 'tenant',
                **ask: Any) -> node_reservation.Reservation:
        return self.world.reserve(self.node, project_id=token, **ask)

    def lost(self, call: str) -> mock._patch[Any]:
        """Let reads or writes of the database fail."""
        return mock.patch.object(
            self.engine.database, call,
            side_effect=errors.DatabaseUnavailable('x'))


class Slow(io.BytesIO):
    """A body; a function is called once before it is read.

    :param happens: the function.
    """

    def __init__(self, body: bytes, *happens: Any) -> None:
        super().__init__(body)
        self._left = [*happens]

    def read(self, *size: Any) -> bytes:
        while self._left:
            self._left.pop(0)()
        return super().read(*size)


def sent(body: bytes, *happens: Any, **more: Any) -> dict[str, Any]:
    """Return the body of a request; the function is called before it is read.
    """
    return {'wsgi.input': Slow(body, *happens),
            'CONTENT_LENGTH': str(len(body)), **more}
