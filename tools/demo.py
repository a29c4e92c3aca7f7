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


"""The main job on a real Ironic, told with the real ``baremetal`` command.

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
import subprocess
import sys
import tempfile
import time
import types
import uuid

from tools import all_in_one
from tools import enrolment

NODES = 12
#: How long the reservation lives that is seen to expire, in seconds.
SHORT = 8
#: How long one command may take, in seconds.
COMMAND_TIMEOUT = 120


class Ended(BaseException):
    """A signal asked us to end."""


class Unexpected(Exception):
    """A step went another way than the demonstration says."""


class Story:
    """Runs commands and shows each with its answer.

    :param url: the root of Ironic's API.
    """

    def __init__(self, url: str) -> None:
        self._bin = Path(sys.executable).parent
        self._environment = {
            # What the caller's shell says of another cloud stays out.
            **{name: value for name, value in os.environ.items()
               if not name.startswith('OS_')},
            'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': url,
            'NO_PROXY': '127.0.0.1', 'no_proxy': '127.0.0.1',
        }
        self._step = 0

    def tell(self, text: str) -> None:
        """Say what comes next."""
        self._step += 1
        print(f'\n== {self._step}. {text}', flush=True)

    def run(self, *words: str, refused: str | None = None) -> None:
        """Run ``baremetal`` and show what it answers.

        :param refused: what it has to say when it fails, as it must then.
        :raises Unexpected: it did not do as it should.
        """
        print(f'$ {shlex.join(("baremetal", *words))}', flush=True)
        done = subprocess.run(
            [self._bin / 'baremetal', *words], env=self._environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=COMMAND_TIMEOUT)
        if done.stdout.strip():
            print(done.stdout.rstrip(), flush=True)
        if refused is None and done.returncode:
            raise Unexpected(f'The last command ended with '
                             f'{done.returncode}, and should have worked.')
        if refused is not None and (not done.returncode
                                    or refused not in done.stdout):
            raise Unexpected(f'The last command ended with '
                             f'{done.returncode}, and should have been '
                             f'refused with "{refused}".')


def tell_main_job(story: Story, nodes: Sequence[enrolment.Enrolled]) -> None:
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

    story.tell('List what is reserved, give one back, list again.')
    story.run('reservation', 'list')
    story.run('reservation', 'delete', theirs)
    story.run('reservation', 'list')


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration."""
    arguments = _parse(argv)
    _end_on_signals()
    try:
        with tempfile.TemporaryDirectory(prefix='ironic-demo-') as folder:
            _demonstrate(Path(folder), arguments)
    except Ended:
        _progress('Ended; nothing is left behind.')
    except (Unexpected, all_in_one.NotStarted) as failure:
        print(f'demo: {failure}', file=sys.stderr)
        return 1
    return 0


def _demonstrate(folder: Path, arguments: argparse.Namespace) -> None:
    _progress('Starting Ironic with the reservations middleware ...')
    with all_in_one.AllInOne(folder, reservations={
            'reservations': {'min_ttl': 1}}) as ironic:
        _progress(f'Ironic serves {ironic.url}; enrolling {NODES} nodes ...')
        with ironic.session() as session:
            nodes = enrolment.enroll(session, ironic.url, NODES,
                                     traits=['CUSTOM_NVME'])
        if arguments.json:
            print(json.dumps(_description(ironic, nodes)), flush=True)
        else:
            began = time.monotonic()
            tell_main_job(Story(ironic.url), nodes)
            print(f'\nDone in {time.monotonic() - began:.0f} s, each step as '
                  'it should be.', flush=True)
        if arguments.keep:
            print(_how_to_talk(ironic), flush=True)
        if arguments.keep or arguments.json:
            _serve(ironic)


def _serve(ironic: all_in_one.AllInOne) -> None:
    status = ironic.wait()
    raise all_in_one.NotStarted(
        f'Ironic ended by itself with {status}:\n{ironic.log_tail()}')


def _description(ironic: all_in_one.AllInOne,
                 nodes: Sequence[enrolment.Enrolled]) -> dict[str, object]:
    return {
        'baremetal_url': ironic.url,
        'reservation_url': f'{ironic.url}/reservation',
        'placement_url': None,
        'auth_type': 'none',
        'pid': os.getpid(),
        'nodes': [{'uuid': node.uuid, 'name': node.name} for node in nodes],
    }


def _how_to_talk(ironic: all_in_one.AllInOne) -> str:
    command = Path(sys.executable).with_name('baremetal')
    return f"""
It keeps serving until Ctrl-C, or "kill {os.getpid()}". To talk to it, in
another terminal:

    export OS_AUTH_TYPE=none OS_ENDPOINT={ironic.url}
    alias baremetal={shlex.quote(str(command))}
    baremetal node list
    baremetal reservation create node-3 node-4
    baremetal reservation --help

    curl {ironic.url}/v1/reservations
    curl {ironic.url}/reservation/"""


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='tools/demo.sh',
        description='Start a real Ironic with reservations in it, and '
                    'reserve, deploy, renew and release nodes.')
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
