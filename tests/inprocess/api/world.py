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

"""The real application on a real database, in a world that tests change."""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import datetime
import io
import json
import pathlib
import sys
from typing import Any
from urllib import parse
import uuid as uuid_module

import fixtures
from oslo_config import cfg
from oslo_context import context as oslo_context

from ironic_reservations import build
from ironic_reservations import clock
from ironic_reservations import conf as project_conf
from ironic_reservations import policies
from ironic_reservations.api import app
from ironic_reservations.api import identity
from ironic_reservations.api import pages
from ironic_reservations.api import wsgi
from ironic_reservations.db import migrate
from ironic_reservations.engine import mirror
from ironic_reservations.model import mirrored_node
from tests import world

#: Events outside of the API: requests to this path in a story.
OUTSIDE = '/_outside'
LATEST = 'baremetal-reservation latest'


class Ironic:
    """The nodes of the world, in an injected client instead of a mock."""

    def __init__(self) -> None:
        self._nodes: dict[str, mirrored_node.Node] = {}

    def add(self, **node: Any) -> mirrored_node.Node:
        """Enroll a node."""
        made = mirrored_node.Node(**{'uuid': str(uuid_module.uuid4()), **node})
        self._nodes[made.uuid] = made
        return made

    def change(self, uuid: str, **what: Any) -> None:
        """Change a node without the knowledge of the service."""
        self._nodes[uuid] = dataclasses.replace(self._nodes[uuid], **what)

    def node(self, ident: str) -> mirrored_node.Node | None:
        """Read one node."""
        named = (each for each in self._nodes.values() if each.name == ident)
        return self._nodes.get(ident) or next(named, None)

    def confirm(self, uuid: str,
                with_traits: bool) -> mirrored_node.Node | None:
        """Read one node to confirm its facts."""
        return self.node(uuid)

    def nodes(self, **filters: str) -> Iterator[mirrored_node.Node]:
        """Read all nodes, or those of a class."""
        wanted = filters.get('resource_class')
        return iter([each for each in self._nodes.values()
                     if wanted in (None, each.resource_class)])


class Clock:
    """A clock that advances by itself, and further on demand."""

    def __init__(self) -> None:
        self.ahead = datetime.timedelta()

    def __call__(self) -> datetime.datetime:
        return clock.utc_now() + self.ahead


def from_headers(environ: wsgi.Environ) -> oslo_context.RequestContext:
    """Trust the headers that keystonemiddleware would have set."""
    if 'HTTP_X_ROLES' in environ:
        environ['HTTP_X_IDENTITY_STATUS'] = 'Confirmed'
    return identity.keystone(environ)


class World(fixtures.Fixture):
    """An application, its database, its clock and its Ironic.

    :param provider: identifies the caller.
    :param auth_strategy: the strategy of the policies.
    :param options: overrides of options, as ``group__name``.
    """

    #: The text of the configuration file.
    file = ''

    def __init__(self, provider: identity.Provider = from_headers,
                 auth_strategy: str = 'keystone', **options: Any) -> None:
        self._provider = provider
        self._auth_strategy = auth_strategy
        # The limits of projects have tests of their own.
        self._options = {'leases__project_limits': False, **options}

    def _setUp(self) -> None:
        self.conf = configuration(self.useFixture(fixtures.TempDir()).path,
                                  self.file, **self._options)
        self.conf.set_override('auth_strategy', self._auth_strategy)
        self.clock = Clock()
        self.ironic = Ironic()
        self.engine = build.engine(
            self.conf, self.ironic,  # type: ignore[arg-type]
            self.clock)
        self.addCleanup(self.engine.database.close)
        if not self.conf.database.connection:
            pathlib.Path(self.conf.state_path, 'reservations.sqlite'
                         ).write_bytes(world.empty_sqlite())
        migrate.at_start(self.engine.database)
        self.app = self.make_app()

    def look_outside(self) -> None:
        """Read all of Ironic into the mirror."""
        mirror.refresh_all(self.engine)

    def make_app(self) -> wsgi.Application:
        """Make the application under test."""
        return app.make_app(
            self.engine, policies.Enforcer(self.conf, self._auth_strategy),
            self.conf, self._provider,
            pages.SignIn('noauth', self.conf, self.conf, None))

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        if environ['PATH_INFO'].startswith(OUTSIDE):
            return self._outside(environ, start_response)
        return self.app(environ, start_response)

    def configure(self, group: str, **options: Any) -> None:
        """Change options, as another start of a process does."""
        for name, value in options.items():
            self.conf.set_override(name, value, group)
        self.engine.__post_init__()

    def _outside(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        path = environ['PATH_INFO'].removeprefix(OUTSIDE).split('/')[1:]
        if path[0] == 'later':
            self.clock.ahead += datetime.timedelta(seconds=int(path[1]))
        elif path[0] == 'look':
            self.look_outside()
        else:
            length = int(environ['CONTENT_LENGTH'])
            what = json.loads(environ['wsgi.input'].read(length))
            if path[0] == 'options':
                self.configure(path[1], **what)
            else:
                if 'traits' in what:
                    what['traits'] = frozenset(what['traits'])
                self.ironic.change(path[1], **what)
        start_response('204 No Content', [])
        return []


class OpenWorld(World):
    """The same world without authentication: everybody is an administrator."""

    def __init__(self, **options: Any) -> None:
        super().__init__(identity.administrator, 'noauth', **options)


def configuration(state_path: str, text: str = '',
                  **options: Any) -> cfg.ConfigOpts:
    """Return a configuration of its own, with nothing read from this host.

    :param text: what stands in its file.
    :param options: overrides, as ``group__name``.
    """
    path = pathlib.Path(state_path, 'ironic-reservations.conf')
    path.write_text(text)
    conf = project_conf.load(config_files=[str(path)])
    conf.set_override('state_path', state_path)
    for name, value in options.items():
        group, _, option = name.rpartition('__')
        conf.set_override(option, value, group or None)
    return conf


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer of the application."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of the error in the answer."""
        return str(self.json['errors'][0]['code'])

    @property
    def detail(self) -> str:
        """The text of the error for people."""
        return str(self.json['errors'][0]['detail'])


def request(application: wsgi.Application, method: str, path: str,
            document: Any = None, *, raw: bytes | None = None,
            version: str | None = LATEST, environ: Any = None,
            **headers: str) -> Answer:
    """Send a request, including requests that no honest client sends.

    :param document: a body, as JSON.
    :param raw: a body as it is.
    :param environ: further values of the WSGI environ.
    :param headers: the headers, with underscores for hyphens.
    """
    if document is not None:
        raw = json.dumps(document).encode()
    path, _, query = path.partition('?')
    sent: dict[str, Any] = {
        'REQUEST_METHOD': method, 'SCRIPT_NAME': '',
        'PATH_INFO': parse.unquote_to_bytes(path).decode('latin-1'),
        'QUERY_STRING': query, 'SERVER_NAME': 'api.example',
        'SERVER_PORT': '80', 'SERVER_PROTOCOL': 'HTTP/1.1',
        'REMOTE_ADDR': '127.0.0.1', 'HTTP_HOST': 'api.example',
        'wsgi.version': (1, 0), 'wsgi.url_scheme': 'http',
        'wsgi.input': io.BytesIO(raw or b''), 'wsgi.errors': sys.stderr,
        'wsgi.multithread': True, 'wsgi.multiprocess': False,
        'wsgi.run_once': False}
    if raw is not None:
        sent.update(CONTENT_LENGTH=str(len(raw)),
                    CONTENT_TYPE='application/json')
    if version is not None:
        sent['HTTP_OPENSTACK_API_VERSION'] = version
    sent.update({f'HTTP_{name.upper()}': value
                 for name, value in headers.items()})
    sent.update(environ or {})
    answer = wsgi.call(application, sent)
    return Answer(answer.status, dict(answer.headers), answer.body)
