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

"""The promises that a run must not break."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.proof import rows


def broken(run: rows.Run) -> list[str]:
    """Return a sentence for each promise of this project that was broken."""
    return list(_broken(run))


def _broken(run: rows.Run) -> Iterator[str]:
    for row in (row for each in run.sections for row in each.rows):
        if isinstance(row, rows.Races) and row.who == rows.OURS and row.double:
            yield (f'{row.double} of {len(row.owners)} races for {row.what} '
                   'were won twice.')
        elif isinstance(row, rows.Storm):
            for found in row.found:
                yield f'The storm on {row.database} has found: {found}'
        elif isinstance(row, rows.Packed) and row.falsely_proved:
            yield (f'{row.falsely_proved} refusals were called proved, and '
                   f'CP-SAT has found a place ({row.family}, {row.policy}).')
        elif isinstance(row, rows.Packed) and row.policy == rows.LATE and (
                row.proved):
            yield (f'{row.proved} requests were refused as proved, although '
                   f'the packing has a place for each ({row.family}).')
        elif isinstance(row, rows.Replayed) and row.policy == rows.LATE and (
                row.refused + row.refused_extensions):
            yield (f'{row.refused} leases and {row.refused_extensions} '
                   f'extensions of {row.log} were refused, although all of '
                   'them can be served.')


def looked_for(run: rows.Run) -> list[str]:
    """Return a phrase for each kind of broken promise that a run looks for."""
    there = [row for each in run.sections for row in each.rows]
    races = sum(len(row.owners) for row in there
                if isinstance(row, rows.Races) and row.who == rows.OURS)
    storms = [row for row in there if isinstance(row, rows.Storm)]
    packed = sum(row.requests for row in there if isinstance(
        row, rows.Packed) and row.policy == rows.LATE)
    replayed = sum(row.requests + row.extensions for row in there
                   if isinstance(row, rows.Replayed)
                   and row.policy == rows.LATE)
    return [phrase for count, phrase in (
        (races, f'a double booking by this service, in {races:,} races'),
        (len(storms), f'a finding of the checker, in {len(storms)} storms'),
        (packed, 'a refusal that is called proved although there is a '
                 f'place, in {packed:,} requests that can all be served'),
        (replayed, f'a refusal in the replay of logs, in {replayed:,} '
                   'requests and extensions that can all be served'))
        if count]


def unfinished(run: rows.Run) -> list[str]:
    """Return a sentence for each section that has not ended by itself."""
    return [f'{each.name}: {each.failure}' for each in run.sections
            if each.failure]
