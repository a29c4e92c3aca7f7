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


"""Starts the cloud, tells how to talk to it, and serves until Ctrl-C."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import shlex
import signal
import sys
import time
import types

from tools import child
from tools.stack import cloud
from tools.stack import nova
from tools.stack import people

_GUARD = {'guard': {'proof_by_placement': True,
                    'instance_uuid_from_service': True}}


class Ended(BaseException):
    """A signal asked us to end."""


def main() -> int:
    """Run until a signal comes, or a service ends by itself."""
    parser = argparse.ArgumentParser(prog='python -m tools.stack',
                                     description=__doc__)
    parser.add_argument('--driver', default=nova.STOCK_DRIVER,
                        help='the compute_driver of Nova (default: '
                             '%(default)s)')
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _end)
    began = time.monotonic()
    try:
        with cloud.Cloud(_GUARD, arguments.driver, say=_say) as running:
            _say(f'Ready after {time.monotonic() - began:.0f} s.')
            print(_openrc(running), flush=True)
            running.wait_until('somebody ended it', lambda: False,
                               float('inf'))
    except Ended:
        _say('Ended; nothing is left behind.')
    except child.NotStarted as failure:
        print(f'stack: {failure}', file=sys.stderr)
        return 1
    return 0


def _end(number: int, frame: types.FrameType | None) -> None:
    # Once is enough: a second one must not interrupt the tidying up.
    for other in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Ended


def _openrc(running: cloud.Cloud) -> str:
    folder = running.ground.folder
    for person in (people.ADMIN, people.SYSTEM_ADMIN, people.MEMBER,
                   people.READER, people.OTHER_MEMBER):
        name = (person.name if person.project else f'{person.name}-system')
        (folder / f'{name}.openrc').write_text(''.join(
            f'export {key}={shlex.quote(value)}\n' for key, value in
            {**dict.fromkeys(_OTHERS, ''),
             **people.environment(running.keystone_url, person)}.items()))
    commands = shlex.quote(str(Path(sys.executable).parent))
    return f"""
It serves until Ctrl-C, or "kill {os.getpid()}". The logs are in
{running.ground.logs}. To talk to it, in another terminal:

    export PATH={commands}:$PATH
    ls {folder}/*.openrc
    source {folder}/alpha-member.openrc
    openstack flavor list
    openstack server create --flavor {cloud.FLAVOR} \
        --image {cloud.IMAGE} --nic none one
    openstack server list"""


#: What another login may have left in the environment.
_OTHERS = ('OS_SYSTEM_SCOPE', 'OS_PROJECT_NAME', 'OS_PROJECT_DOMAIN_NAME')


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == '__main__':
    sys.exit(main())
