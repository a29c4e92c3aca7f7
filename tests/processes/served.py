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


"""A process of the storm: ``python -m tests.processes.served <role> ...``.

The arguments after the role are those of the program itself: the API of
Ironic, its conductor, both in one, or the reconciler.  It is the program as
it is, with a recorder in it; where the environment says so, with a wall
clock that is off, or broken on purpose (:mod:`.mutations`).
"""

from __future__ import annotations

import ctypes
import importlib
import os
import pathlib
import signal
import sys
import threading
import time
from typing import Any

from keystoneauth1 import fixture as ksa_fixture
from keystonemiddleware import fixture

from tests.processes import mutations
from tests.processes import people
from tests.processes import process
from tests.processes import recorder
from tests.processes import wall_clock

_ALL_IN_ONE = 'ironic'
#: How often one looks whether it is its turn, in seconds.
_OFTEN = 0.02
#: Of prctl(2).
_PR_SET_PDEATHSIG = 1


def end_with_us() -> None:
    """End once the storm is gone, also where this process is stopped."""
    if sys.platform == 'linux':
        # NOTE: the kernel sends it, when the thread that has started this
        # process ends; a process that is stopped cannot look by itself.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    # NOTE: its standard input is a pipe that nothing is ever written to. It
    # is at its end once the storm is gone, however that happened.
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


def _know_everybody() -> None:
    """Have keystonemiddleware know all tokens, without a Keystone."""
    tokens = fixture.AuthTokenFixture()
    tokens.setUp()
    for person in people.EVERYBODY:
        token = ksa_fixture.V3Token(user_id=person.user,
                                    user_name=person.name)
        if person.project is None:
            token.set_system_scope()
        else:
            token.set_project_scope(id=person.project)
        for role in person.roles:
            token.add_role(name=role)
        tokens.add_token(token, person.token)


def _prepare(name: str) -> None:
    from ironic.common import service
    service.prepare_service(name, sys.argv)
    if name != _ALL_IN_ONE:
        service.ensure_rpc_transport()


def _api() -> Any:
    _prepare('ironic_api')
    from ironic.common import wsgi_service
    _know_everybody()
    recorder.record_objects()
    return wsgi_service.WSGIService('ironic_api')


def _conductor() -> Any:
    _prepare('ironic_conductor')
    from ironic.conductor import rpc_service as conductor_service
    from oslo_config import cfg
    service = conductor_service.RPCService(
        cfg.CONF.host, 'ironic.conductor.manager', 'ConductorManager')
    recorder.record_objects()
    return service


def _all_in_one() -> Any:
    _prepare(_ALL_IN_ONE)
    from ironic.conductor import rpc_service
    from oslo_config import cfg
    _know_everybody()
    service = rpc_service.RPCService(
        cfg.CONF.host, 'ironic.conductor.manager', 'ConductorManager',
        embed_api=True)
    recorder.record_objects()
    return service


class _Reconciler:
    def __init__(self) -> None:
        self._program = importlib.import_module(
            'ironic_reservations.cmd.reconciler')

    def start(self) -> None:
        """Make passes until the end."""
        self._program.main(sys.argv[1:])


def _read_code(role: str) -> None:
    """Import what takes long, and wait until it is this one's turn."""
    if role == 'all':
        for name in ('ironic.common.service', 'ironic.common.wsgi_service',
                     'ironic.conductor.rpc_service', 'ironic.api.app',
                     'ironic_reservations.api.middleware.front',
                     'ironic_reservations.cmd.reconciler'):
            importlib.import_module(name)
    go = os.environ.get(process.GO_VARIABLE)
    while go and not os.path.exists(go):
        time.sleep(_OFTEN)


_ROLES = {'api': _api, 'conductor': _conductor, 'all': _all_in_one,
          'reconciler': _Reconciler}


def main() -> None:
    """Serve until killed."""
    end_with_us()
    role = sys.argv.pop(1)
    if role != 'reconciler':
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    _read_code(role)
    broken = os.environ.get(mutations.VARIABLE)
    if broken and role != 'conductor':
        mutations.apply(broken)
    service = _ROLES[role]()
    clock = os.environ.get(wall_clock.VARIABLE)
    if clock and role != 'conductor':
        for name in ('psycopg2', 'pymysql', 'sqlalchemy', 'wsme'):
            importlib.import_module(name)
        wall_clock.follow(pathlib.Path(clock))
    service.start()
    while True:
        time.sleep(3600)


if __name__ == '__main__':
    main()
