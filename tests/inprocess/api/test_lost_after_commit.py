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

"""No answer denies a commit after which the database was lost."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
import itertools
from typing import Any
from unittest import mock
import uuid

from ironic_reservations import errors
from ironic_reservations.db import connection
from tests.inprocess.api import asking
from tests.inprocess.api import world

_OWNER = {'x_roles': 'member,reader', 'x_project_id': 'owners'}
_OTHER = {'x_roles': 'member,reader', 'x_project_id': 'others'}

#: A request: its method, path and body.
_Request = tuple[str, str, Any]


def _lease(start: int) -> dict[str, Any]:
    return {'name': 'one', 'start_date': asking.ahead(start),
            'end_date': asking.ahead(start + 1),
            'reservations': asking.hosts()}


@contextlib.contextmanager
def _gone_after(commits: int) -> Iterator[mock.Mock]:
    """Lose the database after a number of commits.

    :returns: a function that is called at each use of the lost database.
    """
    missed, left = mock.Mock(), [commits]

    def opened(how: Callable[..., Any], writes: bool,
               *arguments: Any) -> Any:
        @contextlib.contextmanager
        def manager() -> Iterator[Any]:
            if not left[0]:
                missed()
                raise errors.DatabaseUnavailable('It is gone.')
            with how(*arguments) as found:
                yield found
            left[0] -= writes
        return manager()
    with contextlib.ExitStack() as stack:
        for name in ('read', 'snapshot', 'write'):
            plain = getattr(connection.Database, name)
            stack.enter_context(mock.patch.object(
                connection.Database, name, functools.partialmethod(
                    lambda self, how, writes: opened(how, writes, self),
                    plain, name == 'write')))
        yield missed


class TestLostAfterCommit(asking.AskingCase):

    options = {'leases__owner_notice': 30 * 86400,
               'leases__cleaning_time': 60}
    version = 'reservation 1.0, baremetal-reservation latest'

    def setUp(self) -> None:
        super().setUp()
        self.host = self._node()
        for node in (self.host, self._node()):
            self._made(asking.OPERATOR, '/v1/os-hosts', {'name': node})

    def _node(self) -> str:
        """Enroll a node, and return its uuid."""
        return self.served.ironic.add(
            resource_class='gold', owner=_OWNER['x_project_id']).uuid

    def _made(self, who: dict[str, str], path: str, document: Any) -> Any:
        return next(iter(
            self.ask('POST', path, 201, document, who).values()))

    def _all(self) -> list[Any]:
        """Return what there is."""
        return [self.ask('GET', path, who=asking.OPERATOR) for path in (
            '/v1/leases', '/v1/reservations', '/v1/os-hosts',
            '/v1/maintenances')]

    def _check(self, who: dict[str, str],
               prepare: Callable[[], _Request]) -> None:
        """Lose the database after each commit of a request in turn."""
        changed = 0
        for commits in itertools.count():
            request = prepare()
            before = self._all()
            with _gone_after(commits) as missed:
                answer = world.request(self.served, *request,
                                       version=self.version, **who)
            if before != self._all():
                changed += 1
                if answer.status >= 300:
                    self.assertEqual('service.outcome_unknown',
                                     answer.code, (request, commits))
            if not missed.called:
                self.assertLess(answer.status, 300, answer.body)
                break
        self.assertGreater(changed, 0)

    def test_leases(self) -> None:
        starts = itertools.count(1, 2)

        def there() -> str:
            made = self._made(_OTHER, '/v1/leases', _lease(next(starts)))
            return f'/v1/leases/{made["id"]}'
        for prepare in (
                lambda: ('POST', '/v1/leases', _lease(next(starts))),
                lambda: ('PUT', there(), {'name': 'two'}),
                lambda: ('PUT', there(), {
                    'end_date': asking.ahead(next(starts) + 1)}),
                lambda: ('DELETE', there(), None)):
            self._check(_OTHER, prepare)

    def test_reservations(self) -> None:
        def new() -> dict[str, Any]:
            return {'node_uuid': [self._node()],
                    'instance_uuid': str(uuid.uuid4())}

        def there() -> str:
            made = self._made(_OWNER, '/v1/reservations', new())
            return f'/v1/reservations/{made["uuid"]}'
        for prepare in (
                lambda: ('POST', '/v1/reservations', new()),
                lambda: ('PATCH', there(), [{
                    'op': 'replace', 'path': '/ttl', 'value': 600}]),
                lambda: ('DELETE', there(), None)):
            self._check(_OWNER, prepare)

    def test_hosts(self) -> None:
        def there() -> str:
            made = self._made(asking.OPERATOR, '/v1/os-hosts',
                              {'name': self._node()})
            return f'/v1/os-hosts/{made["id"]}'
        for prepare in (
                lambda: ('POST', '/v1/os-hosts', {'name': self._node()}),
                lambda: ('PUT', there(), {'rack': '1'}),
                lambda: ('DELETE', there(), None)):
            self._check(asking.OPERATOR, prepare)

    def test_maintenance(self) -> None:
        starts = itertools.count(1)

        def new() -> dict[str, Any]:
            start = next(starts)
            return {'name': 'disks', 'nodes': [self.host],
                    'starts_at': f'{asking.ahead(start)}:00Z',
                    'ends_at': f'{asking.ahead(start + 1)}:00Z'}

        def there() -> str:
            made = self._made(asking.OPERATOR, '/v1/maintenances', new())
            return f'/v1/maintenances/{made["uuid"]}'
        for prepare in (
                lambda: ('POST', '/v1/maintenances', new()),
                lambda: ('DELETE', there(), None)):
            self._check(asking.OPERATOR, prepare)
