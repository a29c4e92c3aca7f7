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


"""The main job on a real Ironic, told with the real commands.

Placement runs beside it, with a provider for each node as Nova makes them.

``tools/demo.sh`` installs what this needs and runs it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import json
import os
from pathlib import Path
import shlex
import signal
import sys
import tempfile
import time
import types
import uuid

import requests

from tools import all_in_one
from tools import calendar_leases
from tools import enrolment
from tools import lease_story
from tools import placement as real_placement
from tools import story as stories

NODES = 12
#: Of them all.
CLASS = 'baremetal'
#: How many of them the walk-through needs: ``node-0`` and ``node-1``.
READERS = 2
#: How many more there are, for leases.
GOLDEN = 3
#: How long the reservation lives that is seen to expire, in seconds.
SHORT = 5
#: How long the end of a deployment may take to be seen, in seconds.
PATIENCE = 60


class Ended(BaseException):
    """A signal asked us to end."""


def tell_main_job(story: stories.Story,
                  nodes: Sequence[enrolment.Enrolled]) -> None:
    """Reserve, be refused, deploy with the proof, renew, expire, delete.

    :raises Unexpected: a step did not do as it should.
    """
    first, second, third, broken = (
        nodes[0].name, nodes[1].name, nodes[2].name, nodes[-1].name)
    mine, theirs, brief = (str(uuid.uuid4()) for _ in range(3))

    story.tell(f'{len(nodes)} nodes are available; one is taken out.')
    story.run('node', 'maintenance', 'set', broken, '--reason', 'fan')
    story.run('node', 'list', '--fields', 'uuid', 'name', 'provision_state',
              'maintenance')

    story.tell('Reserve the first that is free of two, for ten minutes.')
    story.run('reservation', 'create', first, second, '--uuid', mine,
              '--ttl', '600')

    story.tell('It is held in Placement, so that Nova passes it by.')
    story.show_hold(first)

    story.tell('A second client asks for it, and learns why not.')
    story.run('reservation', 'create', first, broken, str(uuid.uuid4()),
              refused='[reservation.no_node_available]')

    story.tell('A deploy without the proof is refused.')
    story.run('node', 'deploy', first, refused='is reserved until')

    story.tell('Renew: an hour from now.')
    story.run('reservation', 'renew', mine, '--ttl', '3600')

    story.tell('A deploy with the proof runs until the node is active.')
    story.run('reservation', 'deploy', mine, '--wait', '60')
    story.run('node', 'show', first, '--fields', 'name', 'provision_state',
              'instance_uuid')

    story.tell(f'A reservation of {SHORT} seconds expires: somebody who '
               'waits gets the node.')
    story.run('reservation', 'create', third, '--uuid', brief,
              '--ttl', str(SHORT))
    story.run('reservation', 'create', third, '--uuid', theirs,
              '--wait', '60')
    story.run('reservation', 'show', brief,
              refused='[reservation.not_found]')

    story.tell('List what is reserved, give one back, list again; Placement '
               'has it free.')
    story.run('reservation', 'list')
    story.run('reservation', 'delete', theirs)
    story.run('reservation', 'list')
    story.show_no_hold(third)

    story.tell('Undeploy the first one: its reservation ends with it.')
    story.run('node', 'undeploy', first, '--wait', '60')
    _wait_for_end(story, mine)
    story.run('reservation', 'list')


def _wait_for_end(story: stories.Story, reservation: str) -> None:
    """Wait until a reservation has ended with its deployment.

    :raises Unexpected: it has not within the patience.
    """
    deadline = time.monotonic() + PATIENCE
    while any(each['uuid'] == reservation for each in story.ask(
            '/v1/reservations')['reservations']):
        if time.monotonic() > deadline:
            raise stories.Unexpected(
                f'The reservation should end within {PATIENCE} s.')
        time.sleep(0.5)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration."""
    arguments = _parse(argv)
    _end_on_signals()
    try:
        with tempfile.TemporaryDirectory(prefix='ironic-demo-') as folder:
            _demonstrate(Path(folder), arguments)
    except Ended:
        _progress('Ended; nothing is left behind.')
    except (stories.Unexpected, all_in_one.NotStarted) as failure:
        print(f'demo: {failure}', file=sys.stderr)
        return 1
    return 0


def _demonstrate(folder: Path, arguments: argparse.Namespace) -> None:
    _progress('Starting Placement, and Ironic with the reservations '
              'middleware ...')
    with (real_placement.Service(folder) as placement,
          all_in_one.AllInOne(folder, reservations={
              'reservations': {'min_ttl': 1},
              'ironic': {'poll_interval': 1},
              'placement': {'enabled': True,
                            'endpoint_override': placement.url}}) as ironic,
          ironic.session() as session,
          real_placement.session() as asking):
        _progress(f'Ironic serves {ironic.url}, Placement {placement.url}; '
                  f'enrolling {NODES} nodes ...')
        nodes = enrolment.enroll(session, ironic.url, NODES,
                                 resource_class=CLASS,
                                 traits=['CUSTOM_NVME'])
        real_placement.provide(asking, placement.url,
                               [node.uuid for node in nodes], CLASS)
        if arguments.json:
            print(json.dumps(_description(ironic, placement, nodes)),
                  flush=True)
        else:
            began = time.monotonic()
            story = stories.Story(ironic.url, session, placement.url)
            tell_main_job(story, nodes)
            golden = enrolment.enroll(
                session, ironic.url, GOLDEN, prefix=lease_story.CLASS,
                resource_class=lease_story.CLASS)
            real_placement.provide(
                asking, placement.url, [node.uuid for node in golden],
                lease_story.CLASS)
            lease_story.tell(story, golden)
            print(f'\nDone in {time.monotonic() - began:.0f} s, each step as '
                  'it should be.', flush=True)
        if arguments.keep:
            _keep_from_leases(session, ironic.url, nodes[:READERS])
            calendar_leases.book(session, ironic.url, *to_look_at())
            print(_how_to_talk(ironic, placement), flush=True)
        if arguments.keep or arguments.json:
            _serve(ironic)


def _keep_from_leases(session: requests.Session, url: str,
                      nodes: Sequence[enrolment.Enrolled]) -> None:
    """Close nodes to leases, so that a reader can reserve them.

    :raises requests.HTTPError: it was refused.
    """
    for node in nodes:
        for method, path, body in (
                ('POST', '/v1/os-hosts', {'name': node.name}),
                ('PUT', f'/v1/os-hosts/{node.name}', {'reservable': False})):
            session.request(method, f'{url}{path}', json=body, timeout=60
                            ).raise_for_status()


def to_look_at() -> list[calendar_leases.Wanted]:
    """Return the leases that are there for the calendar."""
    golden = lease_story.CLASS
    return [calendar_leases.Wanted(*each) for each in (
        ('training', golden, 2, 0, 48), ('benchmarks', golden, 1, 20, 60),
        ('rehearsal of the upgrade', golden, 3, 120, 24),
        ('ci', CLASS, 4, 0, 168), ('ci, the week after', CLASS, 4, 168, 168),
        ('storage', CLASS, 3, 26, 30), ('course', CLASS, 4, 216, 72))]


def _serve(ironic: all_in_one.AllInOne) -> None:
    status = ironic.wait()
    raise all_in_one.NotStarted(
        f'Ironic ended by itself with {status}:\n{ironic.log_tail()}')


def _description(ironic: all_in_one.AllInOne,
                 placement: real_placement.Service,
                 nodes: Sequence[enrolment.Enrolled]) -> dict[str, object]:
    return {
        'baremetal_url': ironic.url,
        'reservation_url': f'{ironic.url}/reservation',
        'calendar_url': f'{ironic.url}{calendar_leases.PAGE}',
        'placement_url': placement.url,
        'auth_type': 'none',
        'pid': os.getpid(),
        'nodes': [{'uuid': node.uuid, 'name': node.name} for node in nodes],
    }


def _how_to_talk(ironic: all_in_one.AllInOne,
                 placement: real_placement.Service) -> str:
    baremetal, blazar, openstack = (
        shlex.quote(str(Path(sys.executable).with_name(name)))
        for name in ('baremetal', 'blazar', 'openstack'))
    return f"""
It keeps serving until Ctrl-C, or "kill {os.getpid()}". The calendar, with
leases to look at, for a browser:

    {ironic.url}{calendar_leases.PAGE}

To talk to it, in another terminal:

    export OS_AUTH_TYPE=none OS_ENDPOINT={ironic.url}
    alias baremetal={baremetal}
    baremetal node list
    baremetal reservation create node-0 node-1
    baremetal reservation host import --all
    baremetal reservation lease create mine --hosts 2 --duration 1h
    baremetal reservation lease plan mine --wait
    baremetal reservation deploy mine --all --wait
    baremetal reservation availability --until +1d
    baremetal reservation --help
    alias blazar="{blazar} --os-endpoint {ironic.url}/v1"
    blazar lease-list
    alias placement="{openstack} --os-auth-type admin_token --os-token \
{real_placement.TOKEN} --os-endpoint {placement.url} resource provider"
    placement list
    placement show --allocations <uuid of a node>

    curl {ironic.url}/v1/reservations
    curl {ironic.url}/reservation/"""


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='tools/demo.sh',
        description='Start a real Ironic with reservations in it and a '
                    'Placement beside it, and reserve, lease, deploy and '
                    'release nodes.')
    parser.add_argument('--keep', action='store_true',
                        help='keep serving afterwards, until Ctrl-C')
    parser.add_argument('--json', action='store_true',
                        help='skip the demonstration: print one line of JSON '
                             'that says where it serves, and keep serving '
                             'until SIGTERM')
    arguments = parser.parse_args(argv)
    if arguments.json:
        # Standard output belongs to the one line.
        arguments.keep = False
    return arguments


def _end_on_signals() -> None:
    def end(number: int, frame: types.FrameType | None) -> None:
        # Once is enough: a second one must not interrupt the tidying up.
        for other in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(other, signal.SIG_IGN)
        raise Ended

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == '__main__':
    sys.exit(main())
