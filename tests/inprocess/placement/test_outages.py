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


"""A Placement that is served fails in every way, and everything agrees.

What the other tests of faults pretend of the network is here the server's: it
is down, too slow, wrong, late, and killed in the middle of a call.
"""

import collections
from concurrent import futures
import pathlib
import random
import time

import fixtures
from testtools import content

from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.planner import pick
from tests import world
from tests.inprocess.placement import beside
from tests.inprocess.placement import faulty

NODES = 5
CLIENTS = 4
#: How many faults of each kind.
EACH = 3
#: How long a client waits that is to give up, in seconds.
TIMEOUT = 3
#: Longer than that.
LATE = 4
#: What takes so long hangs.
LONGEST = 240
_ORDINARY = (errors.NoNodeAvailable, errors.ReservationNotFound,
             errors.PlacementUnavailable, errors.Contention)
_ROOT = str(pathlib.Path(__file__).parents[3])


class _Outages(beside.Beside):
    """To be run on each database."""

    timeout = TIMEOUT

    def setUp(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                              'faults')
        folder.mkdir()
        self.folder = str(folder)
        self.placement_options = {
            'workers': CLIENTS,
            'application': f'{faulty.__name__}:make()',
            'environment': {faulty.FOLDER: self.folder,
                            'PYTHONPATH': _ROOT}}
        super().setUp()

    def reserve(self, *nodes, engine=None):
        return reserve.reserve(
            engine or self.engine,
            pick.NodeRequest(world.new_uuid(), nodes, ttl=6000),
            world.ALL_NODES).uuid

    def test_many_faults_leave_nothing_double_and_no_orphan(self):
        """They are counted, each kind of them, while clients go on."""
        nodes = self.enrol(NODES)
        asked = [*faulty.ALL] * EACH
        random.Random(4).shuffle(asked)
        faulty.ask(self.folder, asked, LATE)
        until = time.monotonic() + LONGEST
        with futures.ThreadPoolExecutor(CLIENTS) as pool:
            done = [pool.submit(self.go_on, self.another_engine(), nodes,
                                seed, until) for seed in range(CLIENTS)]
            seen = sum((each.result() for each in done), collections.Counter())
        injected = collections.Counter(asked)
        self.addDetail('faults', content.text_content(
            f'{sum(injected.values())} faults injected: {dict(injected)}; '
            f'clients saw: {dict(seen)}'))
        self.assertEqual(0, faulty.left(self.folder))
        self.wait_until_done(EACH)
        self.have_patience()
        self.pass_by()
        self.assert_agrees()
        self.reserve(*self.enrol(1))

    def wait_until_done(self, count):
        """Wait for the writes that come too late."""
        until = time.monotonic() + LONGEST
        while faulty.done(self.folder) < count:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)

    def have_patience(self):
        """Wait for Placement as long as other tests, from here on."""
        self.timeout = beside.Beside.timeout
        self.engine = self.another_engine()

    def go_on(self, engine: engine_module.Engine, nodes: list[str],
              seed: int, until: float) -> collections.Counter[str]:
        """Reserve and release until all faults have happened."""
        chance, held = random.Random(seed), []
        seen: collections.Counter[str] = collections.Counter()
        while faulty.left(self.folder) and time.monotonic() < until:
            try:
                if held and chance.random() < 0.5:
                    release.release(engine, held.pop())
                    seen['released'] += 1
                elif chance.random() < 0.2:
                    placement_sync.recover(engine)
                else:
                    held.append(self.reserve(*chance.sample(nodes, 2),
                                             engine=engine))
                    seen['reserved'] += 1
            except _ORDINARY as exc:
                seen[type(exc).__name__] += 1
        return seen

    def test_write_that_comes_after_it_was_given_up_is_refused(self):
        node, = self.enrol(1)
        # NOTE: the second one is sent when the first one has timed out.
        faulty.ask(self.folder, [faulty.HELD] * 2, 0, certain=True)
        self.assertRaises(errors.PlacementUnavailable, self.reserve, node)
        self.assertEqual(0, faulty.left(self.folder))
        self.pass_by()
        self.assert_agrees()
        faulty.let_go(self.folder)
        self.wait_until_done(2)
        self.assertEqual([], self.consumers(node))
        self.assert_agrees()

    def test_write_that_was_killed_within_is_made_by_another_consumer(self):
        """F3: what the killed one leaves is in nobody's way."""
        node, = self.enrol(1)
        self.have_patience()
        faulty.ask(self.folder, [faulty.KILLED_WITHIN], 0, certain=True)
        made = self.reserve(node)
        self.assertEqual([made], [row.owner for row in self.rows()
                                  if row.confirmed])
        self.assertEqual(0, faulty.left(self.folder))
        self.pass_by()
        self.assert_agrees()

    def test_down_and_up_again(self):
        """No promise without its hold; what is given back, is in the end."""
        first, second = self.enrol(2)
        self.have_patience()
        kept, returned = self.reserve(first), self.reserve(second)
        self.placement.stop()
        self.assertRaises(errors.PlacementUnavailable, self.reserve,
                          self.world.enrol(1, resource_class='gold')[0])
        release.release(self.engine, returned)
        self.placement.start()
        self.assertEqual(1, len(self.consumers(second)))
        placement_sync.recover(self.engine)
        self.assertEqual(1, len(self.consumers(first)))
        self.pass_by()
        self.assertEqual([], self.consumers(second))
        self.assertEqual([kept], [row.owner for row in self.rows()])


class TestOutagesOnMysql(_Outages, world.TestCase):
    kind = 'mysql'


class TestOutagesOnPostgresql(_Outages, world.TestCase):
    kind = 'postgresql'
