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


"""The life of a lease on a real Ironic, told with the real commands.

``baremetal`` is the command of standalone Ironic, and ``blazar`` that of
python-blazarclient, which knows nothing of us.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import datetime
import time
from typing import Any

from tools import enrolment
from tools import story as stories

CLASS = 'gold'
#: How far ahead the lease starts, and how long it is, in seconds.
AHEAD, LENGTH = 8, 120
_PATIENCE = 60


def tell(story: stories.Story, nodes: Sequence[enrolment.Enrolled]) -> None:
    """Book, be refused, start, deploy, extend, end.

    :param nodes: three, of a class of their own.
    :raises Unexpected: a step did not do as it should.
    """
    first, second, third = (node.name for node in nodes)
    gold = ('--resource-class', CLASS)
    wanted = f'["==", "$resource_class", "{CLASS}"]'

    story.tell('Leases: the operator opens two nodes to them.')
    story.run('reservation', 'host', 'import', first, second)
    story.blazar('host-list')

    story.tell(f'A lease of both, {AHEAD} seconds ahead.')
    story.run('reservation', 'lease', 'create', 'training', '--hosts', '2',
              *gold, '--start-date', f'+{AHEAD}s', '--duration',
              f'{LENGTH}s')

    story.tell('Another one would overlap: refused, with what could be had.')
    story.blazar('lease-create', 'rush', '--physical-reservation',
                 f'min=1,max=1,resource_properties={wanted}', '--end-date',
                 _in_minutes(2), refused='The nearest later window is from')

    story.tell('The counter-offer is accepted.')
    story.run('reservation', 'lease', 'create', 'rush', *gold,
              '--start-date', f'+{AHEAD * 2}s', '--duration', '60s',
              '--accept', 'later')

    story.tell('What is free now, and when could two be had for an hour?')
    story.run('reservation', 'availability', *gold, '--until', '+5m',
              '--hosts', '2', '--duration', '1h')

    story.tell('The lease starts.')
    story.run('reservation', 'lease', 'plan', 'training', '--wait',
              str(_PATIENCE))

    story.tell('While it lives, its nodes are held in Placement.')
    story.show_hold(first)
    story.show_hold(second)

    story.tell('Nobody else deploys its nodes; one command deploys them all.')
    story.run('node', 'deploy', first, refused='(HTTP 403)')
    story.run('reservation', 'deploy', 'training', '--all', '--wait',
              str(_PATIENCE))

    story.tell('A third node is opened. The lease is extended, and the other '
               'one makes room: its node moves.')
    story.run('reservation', 'host', 'import', *gold)
    before = _nodes(story, 'rush')
    story.blazar('lease-update', 'training', '--prolong-for', '3m')
    story.run('reservation', 'lease', 'plan', 'rush')
    if _nodes(story, 'rush') == before:
        raise stories.Unexpected('The node of "rush" should have moved.')

    story.tell('It ends early; its nodes are undeployed, and available again.')
    story.run('reservation', 'lease', 'set', 'training', '--end-date', '+2s',
              '-f', 'value', '-c', 'status', '-c', 'end_date')
    print('... until both nodes are available', flush=True)
    _wait_until(lambda: all(
        story.ask(f'/v1/nodes/{name}')['provision_state'] == 'available'
        and not story.ask(f'/v1/nodes/{name}')['lessee']
        for name in (first, second)))
    story.run('node', 'list', *gold, '--fields', 'name', 'provision_state',
              'lessee')
    story.blazar('lease-list')

    story.tell('Placement has its nodes free again.')
    for name in (first, second):
        story.show_no_hold(name, _PATIENCE)


def _in_minutes(number: int) -> str:
    """Return a time as the command of Blazar takes it: in whole minutes."""
    return (datetime.datetime.now(datetime.UTC) + datetime.timedelta(
        minutes=number)).strftime('%Y-%m-%d %H:%M')


def _nodes(story: stories.Story, lease: str) -> list[Any]:
    return [node['uuid'] for each in story.ask('/v1/leases')['leases']
            if each['name'] == lease for reservation in each['reservations']
            for node in reservation['nodes']]


def _wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not true():
        if time.monotonic() > deadline:
            raise stories.Unexpected(
                f'The nodes should be free within {_PATIENCE} s.')
        time.sleep(0.5)
