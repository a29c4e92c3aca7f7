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

"""ironic-reservations-manage placement heal, as an operator runs it."""

from collections.abc import Callable
import contextlib
import io
import json

import fixtures

from ironic_reservations.clouds import ironic
from ironic_reservations.cmd import class_heal
from tests.inprocess.placement import commanded
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import of_old_sizes

GOLD = in_memory.GOLD


class TestCommand(commanded.Commanded, of_old_sizes.TestCase):

    action = 'heal'

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_reservations.clouds.ironic.Ironic.over_http',
            classmethod(self.over_http)))
        self.useFixture(fixtures.EnvironmentVariable('COLUMNS', '200'))

    def over_http(self, *_: object) -> ironic.Ironic:
        return self.world.ironic

    def test_dry_run_is_the_default_then_it_is_done_once(self) -> None:
        node, instance = self.old_node()
        self.bare_node(None, 'available')
        for words in ((), ('--dry-run',)):
            status, said, complained = self.command(*words)
            self.assertEqual((1, ''), (status, complained))
            for word in (node, instance, 'gold', 'to heal', '--apply'):
                self.assertIn(word, said)
        self.assertEqual({node: of_old_sizes.OLD}, self.has(instance))
        status, said, _ = self.command('--apply')
        self.assertEqual(0, status, said)
        self.assertIn('2 nodes: 1 in order, 1 healed.', said)
        self.assert_healed(node, instance)
        status, said, _ = self.command('--apply')
        self.assertEqual(
            (0, '2 nodes: 2 in order. Nothing is left to do.\n'),
            (status, said))
        self.assertEqual((0, said), self.command()[:2])

    def test_what_is_left_is_status_1_and_says_why(self) -> None:
        node, _ = self.old_node(state='deploying')
        healed, _ = self.old_node()
        self.used_node_without_allocation()
        status, said, _ = self.command('--apply', '--skip-unallocated',
                                       '-f', 'json')
        document = json.loads(said)
        self.assertEqual(1, status)
        self.assertEqual({'healed': 1, 'to heal': 0, 'fine': 0, 'left': 2},
                         document['counts'])
        told = {each['node']: each for each in document['found']}
        self.assertEqual(('left', 'in work'), (told[node]['outcome'],
                                               told[node]['reason']))
        self.assertIn('deploying', told[node]['detail'])
        self.assertEqual('healed', told[healed]['outcome'])

    def test_nothing_left_to_do_is_told_from_left_alone(self) -> None:
        """Who runs it again for as long as it says 1 comes to an end."""
        self.used_node_without_allocation()
        status, said, _ = self.command('--apply', '--skip-unallocated')
        self.assertEqual(3, status, said)
        self.assertIn('1 left alone. Nothing is left to do. Somebody '
                      'has to look at the nodes that were left alone',
                      ' '.join(said.split()))
        self.old_node(state='deploying')
        status, said, _ = self.command('--apply', '--skip-unallocated')
        self.assertEqual(1, status, said)
        self.assertIn('1 in work, 1 left alone. Run it again later',
                      ' '.join(said.split()))

    def test_one_node_is_named_by_its_uuid(self) -> None:
        (node, instance), (_, other) = self.old_node(), self.old_node()
        self.assertEqual(0, self.command('--apply', '--node', node)[0])
        self.assert_healed(node, instance)
        self.assertNotIn(GOLD, str(self.has(other)))

    def test_collisions_of_classes_are_told(self) -> None:
        self.world.enrol(resource_class='Baremetal Gold')
        self.world.enrol(resource_class='baremetal-gold')
        self.assertIn('Baremetal Gold, baremetal-gold are one class in '
                      'Placement, CUSTOM_BAREMETAL_GOLD', self.command()[1])

    def test_progress_is_drawn_on_a_terminal_and_told_elsewhere(self) -> None:
        for _ in range(2):
            self.old_node()
        self.patch(class_heal, '_LINE_EVERY', 1)
        self.assertEqual('1 of 2 nodes.\n2 of 2 nodes.\n', self.command()[2])
        self.useFixture(fixtures.EnvironmentVariable('FORCE_COLOR', '1'))
        status, said, drawn = self.command('-f', 'json')
        self.assertEqual((1, 2), (status, json.loads(said)['nodes']))
        self.assertIn('Nodes', drawn)
        self.assertNotIn('of 2 nodes', drawn)

    def test_each_failure_is_one_sentence(self) -> None:
        self.old_node()
        next(healing := self.under_way())
        self.assert_fails('Another process', '--apply')
        self.assert_fails('no node none', '--node', 'none')
        healing.close()
        self.configure('http://127.0.0.1:1')
        self.assert_fails('cannot be reached', '--apply')

    def under_way(self) -> object:
        """Return a healing of another process."""
        engine = self.engine
        self.old_node()
        return class_heal.class_heal.heal(
            engine, class_heal.class_heal.nodes(engine), True)

    def before_the_node(self, uuid: str, action: Callable[[], object]) -> None:
        """Have something happen when Ironic is asked for a node."""
        plain = self.world.ironic.node

        def node(ident: str) -> object:
            if ident == uuid:
                self.world.ironic.node = plain
                action()
            return plain(ident)
        self.world.ironic.node = node

    def test_what_was_done_before_a_failure_is_told(self) -> None:
        there = sorted(self.old_node() for _ in range(3))
        self.before_the_node(there[1][0], lambda: setattr(
            self.world.ironic, 'down', True))
        self.assert_fails(
            'Ironic is down', '--apply',
            said='3 nodes: 0 in order, 1 healed, 2 not looked at.')
        self.world.ironic.down = False
        self.assertEqual(0, self.command('--apply')[0])
        for node_uuid, instance in there:
            self.assert_healed(node_uuid, instance)

    def test_interrupted_it_tells_what_was_done(self) -> None:
        there = sorted(self.old_node() for _ in range(2))

        def interrupt() -> None:
            raise KeyboardInterrupt
        self.before_the_node(there[1][0], interrupt)
        self.assert_fails('run it again', '--apply',
                          said='1 healed, 1 not looked at')
        self.assertEqual(0, self.command('--apply')[0])

    def test_words_that_it_does_not_know(self) -> None:
        for words in (('--apply', '--dry-run'), ('--really',)):
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertRaises(SystemExit, self.command, *words)

    def test_name_of_a_node_is_shown(self) -> None:
        node, _ = self.old_node()
        self.world.ironic.change(node, name='rack-1')
        self.assertIn('rack-1', self.command()[1])
