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

"""A timeline with its surroundings: a database, a clock, an Ironic.

The database is a real one.  The Ironic is a stand-in that keeps nodes in
memory, for tests that are about the timeline.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import dataclasses
import datetime
import functools
import itertools
import pathlib
import random
import tempfile
from typing import Any
from unittest import mock
import uuid as uuid_module

import fixtures
from oslo_config import cfg
import sqlalchemy as sa
import testtools

from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.clouds import ironic_versions
from ironic_reservations.db import connection
from ironic_reservations.db import histories
from ironic_reservations.db import migrate
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import tables
from ironic_reservations.engine import earlier
from ironic_reservations.engine import lost_requests
from ironic_reservations.engine import mirror
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import conductors
from ironic_reservations.engine.in_flight import uncertain
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.model import handovers
from ironic_reservations.model import limits
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_reservation
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick
from tests import compiled
from tests import derived_snapshots
from tests import statements_seen
from tests import timeline_writes
from tests import typed_instants

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
_PAGE = 2
#: How many nodes Ironic lists at once.
LISTED = 1000
ALL_NODES = visibility.Visibility(everything=True)

compiled.share()
typed_instants.check()
statements_seen.record()


class SameUuids(fixtures.Fixture):
    """The same uuids each time, for who tries the same steps again."""

    def _setUp(self) -> None:
        chance = random.Random(0)
        self.useFixture(fixtures.MonkeyPatch(
            'uuid.uuid4', lambda: uuid_module.UUID(
                int=chance.getrandbits(128), version=4)))


def new_uuid() -> str:
    """Return a uuid that nobody has used."""
    return str(uuid_module.uuid4())


class Clock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = NOON
        self._back = 0.0

    def __call__(self) -> datetime.datetime:
        return self.now

    def elapsed(self) -> float:
        """Return the seconds that have passed, whatever was set back."""
        return (self.now - NOON).total_seconds() + self._back

    def set_back(self, seconds: float) -> None:
        """Set the time back, which makes none that has passed undone."""
        self.now -= datetime.timedelta(seconds=seconds)
        self._back += seconds

    def advance(self, seconds: float) -> None:
        self.now += datetime.timedelta(seconds=seconds)


class StandInIronic(ironic.Ironic):
    """Nodes in memory.

    :ivar asked: the calls that were made, in their order.
    :ivar changed: what was changed, by the call and the node.
    :ivar refuses: the nodes that let nothing be changed.
    :ivar fails: the nodes that it answers 500 for.
    :ivar cleaning: where a node goes that is undeployed.
    :ivar conductor_silent: whether no conductor answers.
    :ivar silent: the conductors that do not answer.
    :ivar conductors: by node, where it is not that of all others.
    :ivar allocations: by their uuids.
    :ivar why: by node, the reason for which it is in maintenance.
    :ivar fields: by node, fields that are not mirrored.
    :ivar parts: by node, settings that only its machine knows.
    :ivar interruptions: by the name of a call, what happens right before
        it is answered: once each.
    """

    def __init__(self) -> None:
        self.there: dict[str, mirrored_node.Node] = {}
        self.asked: list[str] = []
        self.interruptions: dict[str, list[Callable[[], None]]] = {}
        self.changed: list[tuple[str, str]] = []
        self.refuses: set[str] = set()
        self.fails: set[str] = set()
        self.cleaning = node_condition.AVAILABLE
        self.down = False
        self.conductor_silent = False
        self.silent: set[str] = set()
        self.conductors: dict[str, str] = {}
        self.allocations: dict[str, ironic.Allocation] = {}
        self.why: dict[str, str] = {}
        self.fields: dict[str, dict[str, Any]] = {}
        self.parts: dict[str, dict[str, Any]] = {}
        self.answers_nothing = False
        self._ticks = itertools.count()
        self._touched: dict[str, int] = {}

    def newest_version(self) -> str:
        """Return the version that was reviewed."""
        return ironic_versions.REVIEWED

    def put(self, node: mirrored_node.Node) -> mirrored_node.Node:
        """Enrol a node, or change it."""
        self.there[node.uuid] = node
        self._touched[node.uuid] = next(self._ticks)
        return node

    def change(self, uuid: str, **changed: Any) -> None:
        """Change a node."""
        self.put(dataclasses.replace(self.there[uuid], **changed))

    def remove(self, uuid: str) -> None:
        """Delete a node."""
        del self.there[uuid]

    def deploy(self, uuid: str, instance_uuid: str | None = None) -> None:
        """Deploy a node, which only an available one lets happen."""
        assert self.there[uuid].provision_state == node_condition.AVAILABLE
        self.change(uuid, provision_state='active',
                    instance_uuid=(instance_uuid
                                   or self.there[uuid].instance_uuid))

    def free(self, uuid: str) -> None:
        """Have a node be free again, without a call."""
        self.change(uuid, provision_state=node_condition.AVAILABLE,
                    instance_uuid=None)

    def interrupt(self, call: str, action: Callable[[], None]) -> None:
        """Have something happen right before the next such call's answer."""
        self.interruptions.setdefault(call, []).append(action)

    def _answer(self, call: str, ident: str = '') -> None:
        self.asked.append(call)
        if self.interruptions.get(call):
            self.interruptions[call].pop(0)()
        if self.down:
            raise errors.IronicUnavailable('Ironic is down.')
        if ident in self.fails:
            raise errors.IronicUnavailable('Ironic answered 500')

    def node(self, ident: str) -> mirrored_node.Node | None:
        self._answer('node', ident)
        return self.there.get(ident) or next(
            (node for node in self.there.values() if node.name == ident),
            None)

    def nodes(self, **filters: str) -> Iterator[mirrored_node.Node]:
        self._answer('nodes')
        return iter([] if self.answers_nothing else
                    [node for node in self.there.values()
                     if _matches(node, filters)])

    def settled(self, uuid: str) -> tuple[mirrored_node.Node, bool] | None:
        self._answer('settled', uuid)
        node = self.there.get(uuid)
        return None if node is None else (node, uuid in self.refuses)

    def conductor_of(self, uuid: str) -> str | None:
        self._answer('conductor_of')
        return (self.conductors.get(uuid, 'conductor') if uuid in self.there
                else None)

    def all_settled(self) -> Iterator[list[ironic.Settled]]:
        """Read pages, each as late as Ironic is asked for it."""
        nodes = [*self.there]
        for first in range(0, len(nodes), LISTED):
            self._answer('all_settled')
            yield [ironic.Settled(self.there[uuid], uuid in self.refuses,
                                  self.conductors.get(uuid, 'conductor'))
                   for uuid in nodes[first:first + LISTED]
                   if uuid in self.there]

    def conductors_of_all(self) -> dict[str, str | None]:
        for _ in range(0, len(self.there), LISTED):
            self._answer('conductors_of_all')
        return {uuid: self.conductors.get(uuid, 'conductor')
                for uuid in self.there}

    def ask_conductor(self, uuid: str) -> None:
        self._answer('ask_conductor')
        if self.conductor_silent or self.conductor_of(uuid) in self.silent:
            raise errors.IronicUnavailable('its conductor does not answer')

    def allocation(self, uuid: str) -> ironic.Allocation | None:
        self._answer('allocation')
        return self.allocations.get(uuid)

    def delete_allocation(self, uuid: str) -> None:
        self._answer('delete_allocation')
        self.allocations.pop(uuid, None)
        for node in [*self.there.values()]:
            if node.instance_uuid == uuid:
                self.change(node.uuid, instance_uuid=None)

    def maintained(self,
                   uuid: str) -> tuple[mirrored_node.Node, str | None] | None:
        self._answer('maintained')
        node = self.there.get(uuid)
        return None if node is None else (
            node, self.why.get(uuid) if node.maintenance else None)

    def reasons(self) -> dict[str, str | None]:
        self._answer('reasons')
        return {uuid: self.why.get(uuid) for uuid, node in self.there.items()
                if node.maintenance}

    def set_maintenance(self, uuid: str, reason: str,
                        ticket: str | None = None) -> None:
        self._change('set_maintenance', uuid)
        self.why[uuid] = reason
        self.change(uuid, maintenance=True)

    def clear_maintenance(self, uuid: str, ticket: str | None = None) -> None:
        self._change('clear_maintenance', uuid)
        self.why.pop(uuid, None)
        self.change(uuid, maintenance=False)

    def write_lessee(self, uuid: str, lessee: str | None,
                     ticket: str | None = None) -> None:
        self._change('write_lessee', uuid)
        self.change(uuid, lessee=lessee)

    def undeploy(self, uuid: str, ticket: str | None = None) -> None:
        self._change('undeploy', uuid)
        self.change(uuid, provision_state=self.cleaning, instance_uuid=None)

    def abort(self, uuid: str, ticket: str | None = None) -> None:
        self._change('abort', uuid)
        self.change(uuid, provision_state='deploy failed')

    def clear_instance(self, uuid: str, ticket: str | None = None) -> None:
        self._change('clear_instance', uuid)
        self.change(uuid, instance_uuid=None)

    def manage(self, uuid: str, ticket: str | None = None) -> None:
        self._change('manage', uuid)
        self.change(uuid, provision_state='manageable')

    def provide(self, uuid: str, ticket: str | None = None) -> None:
        self._change('provide', uuid)
        self.change(uuid, provision_state=self.cleaning)

    def document(self, uuid: str, parts: Collection[str] = ()
                 ) -> handovers.Document | None:
        self._answer('document')
        node = self.there.get(uuid)
        return None if node is None else handovers.Document(
            {'description': None, 'extra': {}, 'created_at': node.enrolled_at,
             'maintenance': node.maintenance,
             'maintenance_reason': self.why.get(uuid),
             **self.fields.get(uuid, {})}, ports={}, portgroups={},
            parts={part: self.parts.get(uuid, {}).get(part)
                   for part in parts})

    def enrolled_at(self, uuid: str) -> str | None:
        node = self.there.get(uuid)
        return None if node is None else node.enrolled_at

    def put_back(self, uuid: str, method: str, path: str, body: Any,
                 ticket: str | None = None) -> None:
        self._change(f'put_back {method} {path}'.strip(), uuid)
        there = self.fields.setdefault(uuid, {})
        if path == 'maintenance':
            self.why.pop(uuid, None)
            self.change(uuid, maintenance=False)
        elif path == 'states/power':
            there['power_state'] = body['target']
        elif path == 'management/boot_device':
            self.parts.setdefault(uuid, {})['boot_device'] = body
        for each in body if method == 'PATCH' else ():
            there[each['path'].strip('/')] = each.get('value')

    def _change(self, call: str, uuid: str) -> None:
        self._answer(call)
        if self.conductor_silent or self.conductor_of(uuid) in self.silent:
            raise errors.IronicUnavailable('its conductor does not answer')
        if uuid in self.refuses or uuid not in self.there:
            raise ironic.Refused(409, 'the node is locked')
        self.changed.append((call, uuid))

    def lately_changed(self) -> Iterator[list[mirrored_node.Node]]:
        self._answer('lately_changed')
        latest_first = sorted(self.there.values(), reverse=True,
                              key=lambda node: self._touched[node.uuid])
        for start in range(0, len(latest_first), _PAGE):
            yield latest_first[start:start + _PAGE]


def _matches(node: mirrored_node.Node, filters: dict[str, str]) -> bool:
    shown = {'provision_state': node.provision_state,
             'associated': str(node.instance_uuid is not None).lower(),
             'maintenance': str(node.maintenance).lower(),
             'resource_class': node.resource_class}
    return all(shown[key] == value for key, value in filters.items())


@functools.cache
def empty_sqlite() -> bytes:
    """Make the tables once in a process; each test gets a copy."""
    with tempfile.TemporaryDirectory() as directory:
        database = connection.Database(
            configured(f'sqlite:///{directory}/empty.sqlite'))
        migrate.upgrade(database)
        database.close()
        return pathlib.Path(directory, 'empty.sqlite').read_bytes()


def configured(url: str, **overrides: Any) -> cfg.ConfigOpts:
    """Return a configuration.

    :param overrides: options, as ``group__name``.
    """
    conf = project_conf.load(config_files=[])
    conf.set_override('connection', url, 'database')
    conf.set_override('sqlite_synchronous', False, 'database')
    # NOTE: workers of tests that wait for a core stand still for seconds.
    conf.set_override('idle_in_transaction_timeout', 60, 'database')
    # NOTE: what a project may have is for the tests of just that.
    conf.set_override('project_limits', False, 'leases')
    for key, value in overrides.items():
        group, _, name = key.rpartition('__')
        conf.set_override(name, value, group or None)
    return conf


def hear(engine: engine_module.Engine, **calls: Callable[..., None]) -> None:
    """Replace calls of the announcer, as if there were a message bus."""
    vars(engine.announcer).update(calls, sends=True)
    engine.__post_init__()


class _Interruptible(connection.Database):
    """A database; others come in between a look and a transaction."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self.interruptions: list[Callable[[], None]] = []

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        if self.interruptions:
            self.interruptions.pop(0)()
        with super().write() as opened:
            yield opened


class World(fixtures.Fixture):
    """An engine on a database of its own, with a clock and an Ironic.

    :param url: of an empty database with tables; by default a new SQLite
        file.
    :param options: of the configuration, as ``group__name``.
    """

    def __init__(self, url: str | None = None, **options: Any) -> None:
        self._url = url
        self._options = options

    def _setUp(self) -> None:
        if self._url is None:
            path = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                                'reservations.sqlite')
            path.write_bytes(empty_sqlite())
            self._url = f'sqlite:///{path}'
        self.useFixture(timeline_writes.Watch())
        self.conf = configured(self._url, **self._options)
        self.clock = Clock()
        self.ironic = StandInIronic()
        self.engine = dataclasses.replace(
            build.engine(self.conf, self.ironic, self.clock),
            database=_Interruptible(self.conf),
            timer=self.clock.elapsed)
        self.addCleanup(self.engine.database.close)
        #: To be stopped by tests that write bookings themselves.
        self.derived = self.useFixture(
            derived_snapshots.Watch(lambda: self.engine))

    @property
    def url(self) -> str:
        """The URL of the database."""
        assert self._url is not None
        return self._url

    def empty(self) -> None:
        """Delete all rows, for who begins once more."""
        with self.engine.database.write() as opened:
            for table in reversed(tables.metadata.sorted_tables):
                opened.execute(table.delete())
            histories.note(opened)

    def enrol(self, count: int = 1, mirrored: bool = True,
              **known: Any) -> list[str]:
        """Add available nodes to Ironic, and return their uuids.

        :param mirrored: whether the mirror has seen them.
        :param known: what they are, by the names in ``mirrored_node.Node``.
        """
        made = [self.ironic.put(mirrored_node.Node(new_uuid(), **known))
                for _ in range(count)]
        if mirrored:
            self.write_mirror(made)
        return [node.uuid for node in made]

    def write_mirror(self, nodes: Iterable[mirrored_node.Node]) -> None:
        """Have the mirror say what these nodes are."""
        with self.engine.database.write() as opened:
            for node in nodes:
                db_nodes.insert_node(opened, node, self.clock())

    def refresh(self) -> None:
        """Read all of Ironic into the mirror."""
        mirror.refresh_all(self.engine)

    def change(self, node_uuid: str, **changed: Any) -> None:
        """Change a node in Ironic, and have the mirror see it."""
        self.ironic.change(node_uuid, **changed)
        self.refresh()

    def reserve(self, *node_uuids: str,
                **ask: Any) -> node_reservation.Reservation:
        """Reserve as an administrator.

        :param node_uuids: none leaves the choice to class and traits.
        :param ask: the rest of the request; ``instance_uuid`` has a default,
            ``ttl`` is in seconds; ``key`` is what a client sends.
        """
        ask.setdefault('instance_uuid', new_uuid())
        sees = ask.pop('sees', ALL_NODES)
        observer = ask.pop('observer', None)
        allowed = ask.pop('allowed', limits.NONE)
        key = ask.pop('key', None)
        asked = pick.NodeRequest(node_uuids=node_uuids or None, **ask)
        return reserve.reserve(
            self.engine, asked, sees, observer, allowed,
            None if key is None else earlier.of_request(
                'reservation', asked.project_id, key, asked))

    def use(self, reservation: node_reservation.Reservation) -> None:
        """Deploy a node with its proof."""
        through = admission.admit(self.engine, reservation.node_uuid,
                                reservation.uuid)
        self.ironic.deploy(reservation.node_uuid, reservation.instance_uuid)
        admission.close(self.engine, through, True)

    def shown(self, node_uuid: str) -> admission.Shown | None:
        """Return a node as the guard reads it after a request."""
        node = self.ironic.there.get(node_uuid)
        return None if node is None else admission.Shown(node, self.clock())

    def restored(self) -> None:
        """Have the database have gone back: nobody knows what is on its way.
        """
        lost_requests.may_come(self.engine.database, self.conf, self.clock())

    def find_out(self) -> None:
        """Let so much time pass that the fate of all requests is known."""
        looks = uncertain.Uncertain(self.engine, self.ironic)
        self.clock.advance(self.conf.guard.in_flight_timeout
                           + self.conf.guard.rpc_timeout)
        looks.settle_overdue()
        self.clock.advance(conductors.BETWEEN_CHECKS)
        looks.settle_overdue()

    def before_next_write(self, action: Callable[[], None]) -> None:
        """Have something happen between a plan and its commit, once."""
        self.engine.database.interruptions.append(action)

    def lose_next_write(self, after: bool = True,
                        engine: engine_module.Engine | None = None) -> None:
        """Lose the database in the next write, after its COMMIT or before.

        :param after: whether it is done, though nobody tells.
        """
        database = (engine or self.engine).database
        real = database.write

        @contextlib.contextmanager
        def write() -> Iterator[sa.Connection]:
            lost.stop()
            if not after:
                raise errors.DatabaseUnavailable('down')
            with real() as opened:
                yield opened
            raise errors.OutcomeUnknown
        lost = mock.patch.object(database, 'write', write)
        lost.start()

    def another_engine(self, clock: Callable[[], datetime.datetime]
                       | None = None) -> engine_module.Engine:
        """Return an engine as another process has it, on the same rows.

        :param clock: by default that of this world.
        """
        other = dataclasses.replace(
            build.engine(self.conf, self.ironic, clock or self.clock),
            database=connection.Database(self.conf),
            timer=self.clock.elapsed)
        self.addCleanup(other.database.close)
        return other

    @contextlib.contextmanager
    def statements(self, engine: engine_module.Engine | None = None
                   ) -> Iterator[list[tuple[str, Any]]]:
        """Note what is sent to the database meanwhile, and with what."""
        sent = []

        def note(connection: Any, cursor: Any, statement: str,
                 parameters: Any, *rest: Any) -> None:
            # NOTE: SQLite alone is told in so many words that a transaction
            # begins.
            if not statement.startswith('BEGIN'):
                sent.append((statement, parameters))
        event = ((engine or self.engine).database.engine,
                 'before_cursor_execute', note)
        sa.event.listen(*event)
        try:
            yield sent
        finally:
            sa.event.remove(*event)

    def reservations(self) -> dict[str, dict[str, Any]]:
        """Read the rows of the reservations by their uuids, void ones too."""
        return {row['uuid']: row for row in self._rows(tables.reservations)}

    def state_of(self,
                 reservation: node_reservation.Reservation) -> str | None:
        """Read the state of a reservation; ``None`` where it has no row."""
        row = self.reservations().get(reservation.uuid)
        return None if row is None else row['state']

    def mirrored(self) -> dict[str, dict[str, Any]]:
        """Read the rows of the nodes by their uuids."""
        return {row['uuid']: row for row in self._rows(tables.nodes)}

    def traits(self, node_uuid: str) -> set[str]:
        """Read the rows of a node's traits."""
        return {row['trait'] for row in self._rows(tables.node_traits)
                if row['node_uuid'] == node_uuid}

    def in_flight(self) -> list[dict[str, Any]]:
        """Read the rows of the in-flight requests."""
        return self._rows(tables.in_flight_requests)

    def claims(self) -> dict[str, dict[str, Any]]:
        """Read the rows of the claims by their names."""
        return {row['name']: row for row in self._rows(tables.claims)}

    def lease_rows(self) -> dict[str, dict[str, Any]]:
        """Read the rows of the leases by their ids."""
        return {row['id']: row for row in self._rows(tables.leases)}

    def _rows(self, table: sa.Table) -> list[dict[str, Any]]:
        with self.engine.database.read() as opened:
            return [dict(row) for row in opened.execute(
                sa.select(table).order_by(*table.primary_key)).mappings()]


class TestCase(testtools.TestCase):
    """A test of the timeline, on SQLite unless a subclass says otherwise."""

    def new_world(self, **options: Any) -> World:
        """Return a timeline with nothing on it.

        :param options: of the configuration, as ``group__name``.
        """
        return self.useFixture(World(**options))
