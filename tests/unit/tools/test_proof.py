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

"""The page of the proof, its verdict, and the figures of README."""

from __future__ import annotations

import dataclasses
import json
import pathlib

import fixtures
import testtools

from benchmarks import feasible
from benchmarks.proof import better
from benchmarks.proof import command
from benchmarks.proof import headlines
from benchmarks.proof import logs
from benchmarks.proof import packings
from benchmarks.proof import page
from benchmarks.proof import promises
from benchmarks.proof import readme
from benchmarks.proof import rows
from benchmarks.proof import sections
from ironic_reservations.planner import bookings

ROOT = pathlib.Path(__file__).parents[3]
PAGES = ROOT / 'doc' / 'source' / 'contributor'

CLAIM = rows.Times(rows.OURS, sections.OF_CLASS, (0.01, 0.02, 0.03), 0.03, 8,
                   1000)
LEASE = rows.Times(rows.OURS, sections.LEASE, (0.04,), 0.04, 1, 100)
MEMORY = rows.Amount(rows.OURS, sections.MEMORY, 140.0, 'MB', 100)
RACES = rows.Races(rows.OURS, 'a lease of a host', 2, (1, 1, 0))
REFUSALS = rows.Refusals('every node for a day', 100, 500, 3, 2, 1, 4,
                         (0.1, 0.2, 0.3), 0.01)
LATE = rows.Replayed('a.swf', 'all jobs', rows.LATE, 3, 4, 0, 3, 0, 5.0)
PACKED = rows.Packed('with pins: 30 nodes, 94 % used', rows.LATE, 2, 250, 1,
                     0, 1, 0, 0, 0, 0.5)
STORM = rows.Storm('sqlite', '28', 90.0, 1200, 300, (), {'two owners': 7})
ROWS = {'claims': (CLAIM, dataclasses.replace(
            CLAIM, who=rows.IRONIC, seconds=(1.0, 2.0), wall=4.0, failed=1)),
        'leases': (LEASE, dataclasses.replace(
            LEASE, who=rows.BLAZAR, seconds=(0.6,), wall=0.6), MEMORY,
            dataclasses.replace(MEMORY, who=rows.BLAZAR, value=100.0)),
        'races': (RACES, dataclasses.replace(
            RACES, who=rows.BLAZAR, owners=(2, 1, 2))),
        'refusals': (REFUSALS,),
        'replay': (LATE, dataclasses.replace(
            LATE, policy=rows.PINNED, refused_extensions=2, seconds=0.1)),
        'packings': (PACKED, dataclasses.replace(
            PACKED, policy=rows.PINNED, refused=50, cpu=0.1)),
        'growth': (dataclasses.replace(LEASE, hosts=10000),),
        'storm': (STORM,)}
RUN = rows.Run({'Date': '2026-01-01'}, 'python -m benchmarks proof', tuple(
    rows.Section(name, there, 12.0, 0.5) for name, there in ROWS.items()))


def _with(name: str, *there: rows.Row) -> rows.Run:
    """Return the run with other rows in a section."""
    return dataclasses.replace(RUN, sections=tuple(
        dataclasses.replace(each, rows=there) if each.name == name else each
        for each in RUN.sections))


class RowsTest(testtools.TestCase):
    """Raw data is read as it was written."""

    def test_each_section_is_in_the_canned_run(self) -> None:
        """A new section needs rows here."""
        self.assertEqual(list(sections.BY_NAME), list(ROWS))

    def test_run_is_read_as_it_was_written(self) -> None:
        """Through JSON and back."""
        raw = json.loads(command.as_json(RUN))
        self.assertEqual(RUN, rows.run_of_json(raw))


class PageTest(testtools.TestCase):
    """The page has each section, each claim and each row."""

    def test_each_claim_and_section_has_a_target(self) -> None:
        """It is there once."""
        lines = page.write(RUN).splitlines()
        for label in (*(f'proof-{each.label}'
                        for each in headlines.headlines(RUN)),
                      *(f'proof-section-{name}' for name in ROWS)):
            self.assertEqual(1, lines.count(f'.. _{label}:'), label)

    def test_each_claim_has_its_figure(self) -> None:
        """With the services that were measured."""
        found = {each.label: each.figure for each in headlines.headlines(RUN)}
        self.assertEqual({
            'claims-ours': '100', 'claims-ironic': '0.5',
            'lease-ours-smallest': '40 ms',
            'lease-blazar-smallest': '600 ms',
            'races-ours-lease': '0 of 3', 'races-blazar': '2 of 3',
            'replay-pinned': '2 of 3', 'replay-late': '0 of 3',
            'packings-with-pins-30-nodes-94-late': '0.4 %',
            'packings-with-pins-30-nodes-94-pinned': '20.0 %',
            'storm': '0'}, found)

    def test_peer_is_better_only_where_its_value_is_smaller(self) -> None:
        """Computed from the rows: memory, and the time of pinned hosts."""
        there = [each for each in better.comparisons(RUN)
                 if each.peer_is_better]
        self.assertEqual(
            [('memory of the process, with 100 hosts', rows.BLAZAR),
             ('the replay of a.swf', 'pinned hosts'),
             ('processor time, with pins: 30 nodes, 94 % used',
              'pinned hosts')], [(each.what, each.peer) for each in there])
        written = page.write(RUN)
        self.assertIn('In 3 of the 9 comparisons', written)
        slower = dataclasses.replace(LEASE, seconds=(0.9,))
        self.assertIn(
            'In 4 of the 9 comparisons',
            page.write(_with('leases', slower, *ROWS['leases'][1:])))

    def test_repeated_section_has_its_command(self) -> None:
        """For each of them."""
        for name in ROWS:
            self.assertIn(f'python -m benchmarks proof --only {name}\n',
                          page.write(RUN))

    def test_quick_run_says_so(self) -> None:
        """Nobody takes its figures for those of a real one."""
        self.assertNotIn('too small', page.write(RUN))
        self.assertIn('too small', page.write(dataclasses.replace(
            RUN, command='python -m benchmarks proof --quick')))

    def test_section_that_has_not_ended_says_so(self) -> None:
        """With the rows that it had by then."""
        failed = dataclasses.replace(RUN.sections[0], failure='It was late.')
        run = dataclasses.replace(RUN, sections=(failed, *RUN.sections[1:]))
        self.assertEqual(['claims: It was late.'], promises.unfinished(run))
        self.assertIn('**Not complete:** It was late.', page.write(run))


class PromisesTest(testtools.TestCase):
    """Each kind of broken promise is seen."""

    def test_nothing_is_broken(self) -> None:
        """Double bookings and refusals of the peers are not ours."""
        self.assertEqual([], promises.broken(RUN))
        self.assertEqual(4, len(promises.looked_for(RUN)))

    def test_each_is_told(self) -> None:
        """One at a time."""
        for name, row, told in (
                ('races', dataclasses.replace(RACES, owners=(1, 2)),
                 '1 of 2 races for a lease of a host were won twice.'),
                ('storm', dataclasses.replace(
                    STORM, found=('two owners: both had it',)),
                 'The storm on sqlite has found: two owners: both had it'),
                ('replay', dataclasses.replace(LATE, refused_extensions=1),
                 '0 leases and 1 extensions of a.swf were refused, although '
                 'all of them can be served.'),
                ('packings', dataclasses.replace(PACKED, proved=1),
                 '1 requests were refused as proved, although the packing '
                 'has a place for each (with pins: 30 nodes, 94 % used).'),
                ('packings', dataclasses.replace(
                    PACKED, proved=1, falsely_proved=1),
                 '1 refusals were called proved, and CP-SAT has found a '
                 'place (with pins: 30 nodes, 94 % used, late).')):
            self.assertEqual([told], promises.broken(_with(name, row)))

    def test_exit_code_tells_what_is_wrong(self) -> None:
        """1: a broken promise, 2: a section that has not ended."""
        late = dataclasses.replace(RUN, sections=(dataclasses.replace(
            RUN.sections[0], failure='It was late.'), *RUN.sections[1:]))
        twice = _with('races', dataclasses.replace(RACES, owners=(2,)))
        self.useFixture(fixtures.MonkeyPatch(
            'sys.stderr', self.useFixture(
                fixtures.StringStream('stderr')).stream))
        for run, code in ((RUN, 0), (late, 2), (twice, 1)):
            folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
            raw = folder / 'proof.json'
            raw.write_text(command.as_json(run))
            self.assertEqual(code, command.main(
                ['--raw', str(raw), '--output', str(folder)]))
            self.assertEqual(page.write(run),
                             (folder / 'proof.rst').read_text())


class ReadmeTest(testtools.TestCase):
    """README has the figures of the run that the documentation has."""

    def setUp(self) -> None:
        super().setUp()
        self.raw = PAGES / 'proof.json'
        self.run_told = rows.run_of_json(json.loads(self.raw.read_text()))

    def test_page_is_that_of_the_raw_data(self) -> None:
        """``python -m benchmarks proof --raw`` writes it again."""
        self.assertEqual(page.write(self.run_told),
                         (PAGES / 'proof.rst').read_text())

    def test_raw_data_is_small(self) -> None:
        """A clone does not grow by it."""
        self.assertLess(self.raw.stat().st_size, 200_000)

    def test_each_figure_is_that_of_the_raw_data(self) -> None:
        """``--readme README.rst`` writes them again."""
        text = (ROOT / 'README.rst').read_text()
        known = {each.label: each.figure
                 for each in headlines.headlines(self.run_told)}
        there = readme.figures(text)
        self.assertGreater(len(there), 8)
        self.assertEqual([(label, known.get(label)) for label, _ in there],
                         there)
        self.assertEqual(text, readme.filled(
            text, headlines.headlines(self.run_told)))

    def test_each_figure_of_the_comparison_links_to_its_line(self) -> None:
        """A figure that is typed in would drift."""
        text = (ROOT / 'README.rst').read_text()
        table = text.partition('How it compares\n')[2].partition(
            '.. end of the comparison')[0]
        cells = [line[6:] for line in table.splitlines()
                 if line.startswith('     - ')]
        self.assertGreater(len(cells), 20)
        self.assertEqual([], [
            cell for cell in cells
            if any(letter.isdigit() for letter in cell.partition('<')[0])
            and not readme.figures(cell) and '(403)' not in cell])


class LogTest(testtools.TestCase):
    """The option that names a log."""

    def test_parts_are_read(self) -> None:
        """With defaults for those that are not given."""
        self.assertEqual(
            logs.Log(pathlib.Path('a.swf'), 2, 12, 100),
            logs.Log.of('a.swf,min-cpus=12,cpus-per-node=2,limit=100'))
        self.assertEqual(logs.Log(pathlib.Path('a.swf')), logs.Log.of('a.swf'))
        self.assertEqual('jobs of 12 processors or more, 2 processors a node',
                         logs.Log.of('a,min-cpus=12,cpus-per-node=2'
                                     ).selection)

    def test_unknown_part_is_refused(self) -> None:
        """Instead of being ignored."""
        for text in ('a.swf,cpus=12', 'a.swf,limit', 'a.swf,limit=many'):
            self.assertRaises(ValueError, logs.Log.of, text)


class PinsTest(testtools.TestCase):
    """Packings with leases that run, and with requests that name a host."""

    def test_first_host_that_is_free_is_taken_for_good(self) -> None:
        """Two hosts, and a third lease that would fit if one had moved."""
        asked = [bookings.Demand(name, start, end, 1, 1, 0b11)
                 for name, start, end in (('a', 0, 2), ('b', 4, 6),
                                          ('c', 1, 5))]
        self.assertEqual([], packings.pinned(
            feasible.Case((None,) * 2, tuple(asked))))
        (refused,) = packings.pinned(feasible.Case(
            (None,) * 2, (asked[0], dataclasses.replace(
                asked[1], eligible=0b10), asked[2])))
        self.assertEqual('c', refused.demand.id)
        self.assertFalse(refused.cause.proved)

    def test_packing_has_a_place_for_everything(self) -> None:
        """Leases that run do not overlap, and stay where they are."""
        for seed in range(3):
            case = feasible.pinned_nodes(6, 0.9, seed)
            self.assertNotEqual((), case.running)
            self.assertEqual([], [each for each in case.running
                                  if each.movable])
            named = [each for each in case.requests
                     if each.eligible.bit_count() == 1]
            self.assertNotEqual([], named)
            outcome = feasible.Outcome()
            asker = feasible.play(case, outcome)
            self.assertEqual([], [each for each in outcome.refused
                                  if each.cause.proved])
            there = {each.id: each for row in asker.now.rows for each in row}
            for each in case.running:
                self.assertEqual(each, there[each.id])
