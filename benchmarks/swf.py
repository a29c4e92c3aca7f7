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


"""Logs of real loads, in the Standard Workload Format.

A line is a job; of its fields, the second is when it was submitted, the third
how long it waited, the fourth how long it ran, the fifth on how many
processors. A ``;`` starts a comment. Some logs end a line with what was asked
of the nodes, such as ``8:ppn=8`` or ``1:ppn=1+3:ppn=2``.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import pathlib
import re

_FIELDS = 18
#: So many nodes, each like this; parts are joined by ``+``.
_PART = re.compile(r'([0-9]+)(?=:|$)')


@dataclasses.dataclass(frozen=True)
class Job:
    """What ran, in seconds since the beginning of the log's own time."""

    start: int
    end: int
    nodes: int


def read(path: pathlib.Path, cpus_per_node: int | None = None,
         min_cpus: int = 1) -> list[Job]:
    """Read the jobs that ran, by their starts.

    :param cpus_per_node: how many processors one node has; ``None`` takes
        the nodes that the line names, and otherwise one for each processor.
    :param min_cpus: jobs of fewer processors are left out.
    :raises ValueError: a line is not of the format.
    """
    with path.open(encoding='utf-8', errors='replace') as lines:
        return sorted(_jobs(lines, cpus_per_node, min_cpus),
                      key=lambda job: (job.start, job.end, job.nodes))


def _jobs(lines: Iterable[str], cpus_per_node: int | None,
          min_cpus: int) -> Iterator[Job]:
    for number, line in enumerate(lines, 1):
        fields = line.partition(';')[0].split()
        if not fields:
            continue
        try:
            submitted, waited, ran, cpus = (
                int(float(field)) for field in fields[1:5])
        except ValueError as exc:
            raise ValueError(f'Line {number} is not of the Standard Workload '
                             f'Format: {line[:60]!r}') from exc
        # NOTE: -1 stands for what is not known, 0 for what never ran.
        if waited < 0 or ran <= 0 or cpus < max(min_cpus, 1):
            continue
        start = submitted + waited
        named = None if cpus_per_node else _named(fields)
        yield Job(start, start + ran,
                  named or -(-cpus // (cpus_per_node or 1)))


def _named(fields: list[str]) -> int | None:
    """Return how many nodes a line names after the fields of the format."""
    if len(fields) <= _FIELDS:
        return None
    counts = [_PART.match(part) for part in fields[-1].split('+')]
    return sum(int(count.group(1)) if count else 1 for count in counts)


def peak(jobs: Iterable[Job]) -> int:
    """Return how many nodes ran at once at most."""
    # NOTE: at one instant, those that end come first: windows are half open.
    changes = sorted(change for job in jobs for change in (
        (job.start, job.nodes), (job.end, -job.nodes)))
    running = most = 0
    for _, change in changes:
        running += change
        most = max(most, running)
    return most
