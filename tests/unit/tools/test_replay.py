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


"""A log of jobs that is small enough to be followed by hand."""

import pathlib

import fixtures
import testtools

from benchmarks import replay
from benchmarks import swf

#: Number, submitted, waited, ran, processors; the other fields are ignored.
LOG = """\
; Computer: three nodes of four processors
  1    0   10  100    4 -1 -1 -1 -1 -1 -1 1
  2    0   60   80    8 -1 -1 -1 -1 -1 -1 1
  3   20  100   60    3 -1 -1 -1 -1 -1 -1 2
  4   30   -1   60    3 -1 -1 -1 -1 -1 -1 2
  5   40  100   -1   12 -1 -1 -1 -1 -1 -1 3
  6   50   60    1    4 -1 -1 -1 -1 -1 -1 3 ; cut short
"""


class _Log(testtools.TestCase):

    def read(self, text, **options):
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'log')
        path.write_text(text)
        return swf.read(path, **options)


class TestSwf(_Log):

    def test_jobs_that_ran_are_read_by_their_starts(self):
        self.assertEqual(
            [swf.Job(10, 110, 1), swf.Job(60, 140, 2), swf.Job(110, 111, 1),
             swf.Job(120, 180, 1)], self.read(LOG, cpus_per_node=4))

    def test_processors_are_nodes_where_nothing_else_is_said(self):
        self.assertEqual([4, 8, 4, 3],
                         [job.nodes for job in self.read(LOG)])

    def test_nodes_that_a_line_names_are_taken(self):
        line = ' '.join(['1 0 0 10 32', *['-1'] * 13, 'queue', '{}'])
        for text, nodes in (('8:ppn=4', 8), ('1:ppn=1+3:ppn=2:x86', 4),
                            ('2', 2), ('2:infiniband', 2), ('a.host:b', 1)):
            (job,) = self.read(line.format(text))
            self.assertEqual(nodes, job.nodes, text)
            (job,) = self.read(line.format(text), cpus_per_node=16)
            self.assertEqual(2, job.nodes)

    def test_small_jobs_are_left_out(self):
        self.assertEqual(3, len(self.read(LOG, min_cpus=4)))

    def test_other_formats_are_refused(self):
        self.assertRaises(ValueError, self.read, 'one two three four five')

    def test_peak_counts_what_ran_at_once(self):
        self.assertEqual(3, swf.peak(self.read(LOG, cpus_per_node=4)))
        self.assertEqual(2, swf.peak([swf.Job(0, 5, 2), swf.Job(5, 9, 2)]))


class TestReplay(_Log):

    def jobs(self):
        return self.read(LOG, cpus_per_node=4)

    def test_everything_is_served_by_as_many_nodes_as_ran_at_once(self):
        for seed in range(3):
            with replay.ours(3) as policy:
                count = replay.replay('ours', policy, self.jobs(), seed)
            self.assertEqual(
                (4, 0, 3, 0), (count.requests, count.refused,
                               count.extensions, count.refused_extensions))

    def test_nothing_is_left_at_the_end(self):
        with replay.ours(3) as policy:
            replay.replay('ours', policy, self.jobs())
            self.assertEqual([], policy.left())

    def test_ours_refuses_what_cannot_be(self):
        with replay.ours(1) as policy:
            count = replay.replay('ours', policy, self.jobs())
        self.assertEqual(1, count.refused)

    def test_pinned_nodes_are_the_first_that_are_free(self):
        policy = replay.Pinned(2)
        self.assertTrue(policy.create(0, 1, swf.Job(0, 9, 1), 2))
        self.assertTrue(policy.create(0, 2, swf.Job(1, 9, 1), 2))
        self.assertTrue(policy.create(0, 3, swf.Job(2, 9, 1), 4))
        self.assertTrue(policy.create(0, 4, swf.Job(2, 9, 1), 9))
        self.assertFalse(policy.create(0, 5, swf.Job(3, 9, 1), 9))
        # The other node is free again from the fourth second on.
        self.assertTrue(policy.create(0, 6, swf.Job(4, 9, 1), 9))

    def test_pinned_extension_needs_the_very_same_nodes(self):
        policy = replay.Pinned(2)
        policy.create(0, 1, swf.Job(0, 4, 1), 2)
        policy.create(0, 2, swf.Job(3, 4, 1), 4)
        self.assertFalse(policy.extend(1, 1, 4))
        self.assertTrue(policy.extend(1, 1, 3))
        policy.finish(2)
        self.assertTrue(policy.extend(1, 1, 4))
        self.assertFalse(policy.create(2, 3, swf.Job(2, 4, 2), 4))

    def test_command_prints_both_policies(self):
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'log')
        path.write_text(LOG)
        printed = self.useFixture(fixtures.StringStream('stdout')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', printed))
        replay.main([str(path), '--cpus-per-node', '4'])
        printed.seek(0)
        lines = printed.read().split('\n')
        self.assertIn('4 leases on 3 nodes', lines[1])
        self.assertEqual(['ours', '4', '0', '3', '0'], lines[3].split()[:5])
        self.assertEqual(['pinned', '4', '0', '3'], lines[4].split()[:4])
