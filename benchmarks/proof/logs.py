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

"""Logs of real clusters as leases: late binding beside pinned hosts."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import multiprocessing
import os
import pathlib

from benchmarks import replay
from benchmarks import swf
from benchmarks.proof import rows


@dataclasses.dataclass(frozen=True)
class Log:
    """A log in the Standard Workload Format, and which of its jobs are leases.

    :ivar cpus_per_node: how many processors a node has; ``None``: the nodes
        that a line names.
    :ivar min_cpus: jobs of fewer processors are left out.
    :ivar limit: only so many jobs, the first ones.
    """

    file: pathlib.Path
    cpus_per_node: int | None = None
    min_cpus: int = 1
    limit: int | None = None

    @classmethod
    def of(cls, text: str) -> Log:
        """Return the log that an option names.

        :param text: the file, and after commas any of ``min-cpus=12``,
            ``cpus-per-node=2``, ``limit=1000``.
        :raises ValueError: a part is none of these.
        """
        file, *parts = text.split(',')
        given: dict[str, int] = {}
        for part in parts:
            name, sign, value = part.partition('=')
            if name not in ('min-cpus', 'cpus-per-node', 'limit') or not sign:
                raise ValueError(
                    f'{part!r} of the log {file} is not min-cpus=NUMBER, '
                    'cpus-per-node=NUMBER or limit=NUMBER.')
            given[name.replace('-', '_')] = int(value)
        return cls(pathlib.Path(file), **given)

    @property
    def selection(self) -> str:
        """Return which jobs are leases, and on how many nodes."""
        parts = []
        if self.min_cpus > 1:
            parts.append(f'jobs of {self.min_cpus} processors or more')
        if self.cpus_per_node:
            parts.append(f'{self.cpus_per_node} processors a node')
        if self.limit:
            parts.append(f'the first {self.limit}')
        return ', '.join(parts) or 'all jobs'


def measure(logs: Sequence[Log]) -> Iterator[rows.Row]:
    """Yield what became of the requests of each log, with both policies.

    Each replay has a process of its own, as many at once as processors.
    """
    with futures.ProcessPoolExecutor(
            os.cpu_count(), multiprocessing.get_context('spawn')) as pool:
        asked = [pool.submit(_replayed, log, policy)
                 for policy in (rows.LATE, rows.PINNED) for log in logs]
        for each in futures.as_completed(asked):
            yield each.result()


def _replayed(log: Log, policy: str) -> rows.Row:
    jobs = swf.read(log.file, log.cpus_per_node, log.min_cpus)[:log.limit]
    nodes = swf.peak(jobs)
    if policy == rows.LATE:
        with replay.ours(nodes) as ours:
            count = replay.replay(policy, ours, jobs)
    else:
        count = replay.replay(policy, replay.Pinned(nodes), jobs)
    return rows.Replayed(
        log.file.name, log.selection, policy, nodes, count.requests,
        count.refused, count.extensions, count.refused_extensions,
        count.seconds)
