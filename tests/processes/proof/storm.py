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

"""Two hundred clients and what each of them is told."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import fcntl
import json
import pathlib
import random
import subprocess
import sys
import time

from testtools import content

from ironic_reservations.db import tables
from tests.processes.proof import clients
from tests.processes.proof import ground
from tests.processes.proof import history
from tests.processes.proof import records

_ROOT = pathlib.Path(__file__).parents[3]
#: A storm takes half a minute; one that takes so long hangs.
_WITHIN = 900
#: What a log says of an exception that nobody had thought of.
_BUG = 'failed unexpectedly'
#: How many of them are told, and how many characters of each.
_BUGS, _OF_A_BUG = 2, 20000
_ROUNDS = 2


class Storm:
    """Processes full of clients.

    :param folder: for what they say.
    :param tasks: what each process does.
    """

    def __init__(self, folder: pathlib.Path,
                 tasks: list[clients.Task]) -> None:
        self._began = time.monotonic()
        self._output = [folder / f'clients-{task.seed}.jsonl'
                        for task in tasks]
        self._processes = [self._start(task, output) for task, output
                           in zip(tasks, self._output, strict=True)]

    @staticmethod
    def _start(task: clients.Task, output: pathlib.Path
               ) -> subprocess.Popen[bytes]:
        with (output.open('wb') as out,
              output.with_suffix('.err').open('wb') as err):
            process = subprocess.Popen(
                [sys.executable, '-m', clients.__name__], cwd=_ROOT,
                stdin=subprocess.PIPE, stdout=out, stderr=err)
        assert process.stdin is not None
        with process.stdin:
            process.stdin.write(json.dumps(
                dataclasses.asdict(task)).encode())
        return process

    def rages(self) -> bool:
        """Tell whether any client is still at it.

        :raises TimeoutError: after a long time.
        """
        if time.monotonic() > self._began + _WITHIN:
            raise TimeoutError(f'The clients go on after {_WITHIN} s.')
        return any(process.poll() is None for process in self._processes)

    def has_begun(self) -> bool:
        """Tell whether anything has been answered yet."""
        return any(output.stat().st_size for output in self._output)

    def records(self) -> list[records.Record]:
        """Return what was asked and answered, in the end.

        :raises RuntimeError: a process broke down.
        """
        for process, output in zip(self._processes, self._output,
                                   strict=True):
            if process.wait():
                raise RuntimeError(output.with_suffix('.err').read_text())
        return [records.Record.load(line) for output in self._output
                for line in output.read_text().splitlines()]

    def end(self) -> None:
        """End what has not ended by itself."""
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()


class StormTestCase(ground.GroundTestCase):
    """What is promised to whom, in the middle of a crowd."""

    client_processes = 8
    clients_each = 25

    def _storm(self, name: str, ports: list[int]) -> Storm:
        self._wait_for_turn()
        storm = Storm(self.ironic.folder, [clients.Task(
            ports=ports, nodes=self.nodes, clients=self.clients_each,
            rounds=_ROUNDS, seed=f'{self.kind}-{name}-{number}')
            for number in range(self.client_processes)])
        self.addCleanup(storm.end)
        return storm

    def _wait_for_turn(self) -> None:
        """Wait until no other process has a crowd; ours lasts for the test.

        NOTE: two crowds at once tell nothing more, and slow each other down.
        """
        file = self.enterContext(pathlib.Path(__file__).open('rb'))
        fcntl.flock(file, fcntl.LOCK_EX)
        # NOTE: a process that was forked meanwhile has the lock as well.
        self.addCleanup(fcntl.flock, file, fcntl.LOCK_UN)

    def _assert_true(self, storm: Storm, killed: int = 0) -> None:
        told = history.History(storm.records(), broken_calls=killed > 0)
        before = time.time()
        rows = [history.Row(
            row['uuid'], row['node_uuid'], row['instance_uuid'],
            row['expires_at'].timestamp())
            for row in self.rows(tables.reservations)
            if row['expires_at'] > datetime.datetime.now(datetime.UTC)]
        wrong = told.judge(rows, before, time.time())
        self._note(told, killed, len(rows))
        if wrong:
            self.addDetail('records', content.text_content(
                told.about(wrong[:20])))
            self.addDetail('api.log', content.text_content(
                self.api.log()[-20000:]))
        self.assertEqual([], wrong[:20], f'{len(wrong)} in all\n'
                         + '\n'.join(self._bugs()))

    def _bugs(self) -> list[str]:
        """Return the exceptions that either API has logged as unexpected.

        NOTE: a failure that is seen once in thirty runs has to tell its cause
        at once.
        """
        logged = self.api.log() + self.ironic.log_file.read_text(
            errors='replace')
        return [f'{_BUG}{said[:_OF_A_BUG]}'
                for said in logged.split(_BUG)[1:_BUGS + 1]]

    def _note(self, told: history.History, killed: int, rows: int) -> None:
        first, last = told.records[0].sent, max(
            record.got for record in told.records)
        self.addDetail('numbers', content.text_content(
            f'{self.kind}: {len(told.records)} requests in '
            f'{last - first:.1f} s, {len(told.lives)} reservations '
            f'({len(told.lives) / (last - first):.1f}/s), {rows} left, '
            f'{killed} killed, '
            f'{sum(record.broken for record in told.records)} broken '
            f'calls; {json.dumps(told.count())}'))

    def test_every_answer_is_true(self) -> None:
        """Whatever 200 clients are told, the table says as well."""
        # NOTE: one in 25 goes through Ironic, where the same API is.
        storm = self._storm('calm', [self.api.port] * 24 + [self.ironic.port])
        while storm.rages():
            time.sleep(0.1)
        self._assert_true(storm)
        self.assertNotIn('Traceback', self.api.log())
        self.assert_all_free()


class KillsTestCase(StormTestCase):
    """The same while processes are killed and started again."""

    kills = 10

    def test_every_answer_is_true_where_processes_are_killed(self) -> None:
        """What a client was told outlives who told it."""
        storm = self._storm('kills', [self.api.port])
        choice = random.Random(self.kind)
        killed = 0
        while storm.rages():
            time.sleep(choice.uniform(0.2, 1))
            serving = self.api.serving()
            # NOTE: not all at once, so that there is always somebody in the
            # middle of something.
            if (storm.has_begun() and killed < self.kills
                    and len(serving) > len(self.api) // 4):
                self.api.kill(choice.choice(serving))
                killed += 1
            self.api.restart()
        self._assert_true(storm, killed)
        self.assert_all_free()
