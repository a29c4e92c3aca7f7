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

"""ironic-reservations-manage placement heal: classes for old instances."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import json
import sys
from typing import Any

import rich.console
import rich.progress

from ironic_reservations import engine as engine_module
from ironic_reservations.cmd import tables
from ironic_reservations.features.placement.class_heal import (
    heal as class_heal,
)
from ironic_reservations.model import count_text

#: The exit status if work remains, so that the command is run again.
AGAIN = 1
#: The exit status if nothing remains to be done but nodes were skipped:
#: another run changes nothing, and a person must examine them.
LEFT_ALONE = 3
#: Without a terminal, a line is printed for each so many nodes.
_LINE_EVERY = 50

_Outcome = class_heal.Outcome


def add_parser(actions: Any) -> None:
    """Add the action to the actions of ``placement``."""
    heal = actions.add_parser(
        'heal', help='Move the Placement allocations of instances to the '
                     'resource classes of their nodes, for instances that '
                     'have VCPU, MEMORY_MB and DISK_GB of their nodes '
                     'allocated, or nothing. Without --apply, only show the '
                     'changes. Exit status: 0 if nothing is left to do, 1 if '
                     'something is, 2 if the command could not finish (run it '
                     'again), 3 if nothing is left to do but some nodes were '
                     'left alone: the output states the reasons, and an '
                     'operator has to check these nodes.')
    how = heal.add_mutually_exclusive_group()
    how.add_argument('--apply', action='store_true',
                     help='Make the changes. Safe while the cloud runs; can '
                          'be interrupted at any time.')
    how.add_argument('--dry-run', action='store_false', dest='apply',
                     help='Only show the changes (the default).')
    heal.add_argument('--node', metavar='<node>',
                      help='Only heal this node, by its uuid or name.')
    heal.add_argument('--skip-unallocated', action='store_true',
                      help='Do not change instances without allocations in '
                           'Placement. Use this for instances that Nova does '
                           'not know: their allocations would never be '
                           'removed.')
    heal.add_argument('-f', '--format', choices=('table', 'json'),
                      default='table', help='Output format.')


def run(engine: engine_module.Engine, options: Any) -> int:
    """Heal, print the outcome, and return the exit status.

    :param options: the parsed command line.
    :raises ValueError: there is no such node, another process is healing, or
        the user has interrupted the command.
    :raises PlacementUnavailable: Placement does not answer, or refuses.
    """
    there = class_heal.nodes(engine, options.node)
    results: list[class_heal.Result] = []
    healing = class_heal.heal(engine, there, options.apply,
                              options.skip_unallocated)
    try:
        results.extend(_shown(healing, len(there)))
    except class_heal.UnderWay as exc:
        raise ValueError(str(exc)) from exc
    except KeyboardInterrupt as exc:
        raise ValueError('interrupted; run it again to continue.') from exc
    finally:
        healing.close()
        if results or not there:
            _print(results, len(there), class_heal.collisions(there), options)
    return _status(results)


def _status(results: Sequence[class_heal.Result]) -> int:
    if any(each.again for each in results):
        return AGAIN
    return (LEFT_ALONE if any(each.outcome is _Outcome.LEFT
                              for each in results) else 0)


def _shown(healing: Iterator[class_heal.Result],
           total: int) -> Iterator[class_heal.Result]:
    """Yield the results, and show the progress on standard error."""
    console = rich.console.Console(stderr=True)
    if console.is_terminal:
        with rich.progress.Progress(
                '{task.description}', rich.progress.BarColumn(),
                rich.progress.MofNCompleteColumn(),
                rich.progress.TimeRemainingColumn(),
                console=console, transient=True) as progress:
            task = progress.add_task('Nodes', total=total)
            for result in healing:
                yield result
                progress.advance(task)
        return
    for number, result in enumerate(healing, 1):
        yield result
        if number % _LINE_EVERY == 0:
            print(f'{number} of {count_text.counted(total, "node")}.',
                  file=sys.stderr)


def _print(results: Sequence[class_heal.Result], total: int,
           collisions: Mapping[str, Sequence[str]], options: Any) -> None:
    counts = {outcome.value: sum(each.outcome is outcome for each in results)
              for outcome in _Outcome}
    rows = [_row(each) for each in results
            if each.outcome is not _Outcome.FINE]
    if options.format == 'json':
        print(json.dumps({
            'applied': options.apply, 'nodes': total,
            'not_reached': total - len(results), 'counts': counts,
            'collisions': collisions, 'found': rows}, indent=2))
        return
    tables.show(
        ('Node', 'Name', 'Class', 'Instance', 'Outcome', 'Why'),
        [(row['node'], row['name'] or '', row['resource_class'] or '',
          row['instance'] or '', row['outcome'],
          row['detail'] or row['reason']) for row in rows])
    print(_summary(results, counts, total))
    for name, classes in collisions.items():
        print(f'The resource classes {", ".join(classes)} are one class in '
              f'Placement, {name}.')


def _row(result: class_heal.Result) -> dict[str, Any]:
    node = result.node
    return {'node': node.uuid, 'name': node.name,
            'resource_class': node.resource_class,
            'instance': node.instance_uuid, 'outcome': result.outcome.value,
            'reason': result.reason, 'detail': result.said or None}


def _summary(results: Sequence[class_heal.Result], counts: Mapping[str, int],
             total: int) -> str:
    parts = [f'{count_text.counted(total, "node")}: '
             f'{counts["fine"]} in order']
    if counts['healed']:
        parts.append(f'{counts["healed"]} healed')
    if counts['to heal']:
        parts.append(f'{counts["to heal"]} to heal')
    in_work = sum(each.again and each.outcome is _Outcome.LEFT
                  for each in results)
    if in_work:
        parts.append(f'{in_work} in work')
    alone = counts['left'] - in_work
    if alone:
        parts.append(f'{alone} left alone')
    missing = total - len(results)
    if missing:
        parts.append(f'{missing} not looked at')
    summary = ', '.join(parts) + '.'
    if counts['to heal']:
        summary += ' Nothing was changed. Run it again with --apply.'
    elif in_work:
        summary += ' Run it again later for the nodes in work.'
    elif not missing:
        summary += ' Nothing is left to do.'
    if alone:
        summary += (' Somebody has to look at the nodes that were left alone; '
                    'the column Why states the reasons.')
    return summary
