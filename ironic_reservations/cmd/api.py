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

"""ironic-reservations-api: the API as a service of its own, in one process."""

from __future__ import annotations

import signal
import sys
import threading

from oslo_config import cfg
from oslo_log import log

from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.api import standalone
from ironic_reservations.clouds import ironic
from ironic_reservations.cmd import api_server
from ironic_reservations.cmd import hang_up
from ironic_reservations.db import migrate
from ironic_reservations.db import migration_lock
from ironic_reservations.reconciler import loops

LOG = log.getLogger(__name__)

_NAME = 'ironic-reservations-api'
_STOP_WITHIN = 30

_cli_opts = [
    cfg.HostAddressOpt('host', help='The address to listen on, instead of '
                                    '[api] host.'),
    cfg.PortOpt('port', help='The port to listen on, instead of [api] port; '
                             '0 uses a free one.'),
]


def main(argv: list[str] | None = None) -> int:
    """Serve until SIGTERM; requests in progress are finished first."""
    try:
        conf = project_conf.load(sys.argv[1:] if argv is None else argv,
                                 prog=_NAME, cli_opts=_cli_opts,
                                 with_logging=True)
        server = make_server(conf)
    except (cfg.Error, errors.ReservationError, migrate.UnknownRevision,
            migration_lock.AnotherMigrates, OSError) as exc:
        print(f'{_NAME}: {exc}', file=sys.stderr)
        return 1
    _stop_on_signals(server)
    host, port = server.bind_addr[:2]
    shown = f'[{host}]' if ':' in host else host
    print(f'{_NAME} serves http://{shown}:{port}', flush=True)
    LOG.info('%s %s serves http://%s:%s', _NAME, project_conf.release(),
             shown, port)
    try:
        server.serve()
    finally:
        running = loops.current()
        if running is not None:
            running.stop()
    return 0


def make_server(conf: cfg.ConfigOpts) -> api_server.Server:
    """Return a server whose socket listens already.

    :raises OSError: the server cannot listen on the address.
    :raises oslo_config.cfg.Error: the options contradict each other.
    """
    host = conf.host or conf.api.host
    port = conf.api.port if conf.port is None else conf.port
    if conf.api.reuse_port and port == 0:
        raise cfg.ConfigFileValueError(
            '[api] reuse_port is for processes that share a port, and with '
            'port 0 each of them takes another one. Name the port.')
    engine = build.engine(conf, ironic.Ironic.over_http(conf))
    server = api_server.Server(
        (host, port), standalone.build(conf, engine),
        numthreads=conf.api.threads,
        reuse_port=conf.api.reuse_port,
        server_name=_NAME, shutdown_timeout=_STOP_WITHIN,
        request_queue_size=128)
    # This limit is for headers; the limit for bodies is ours, whose refusal
    # explains it.
    server.max_request_header_size = 65536
    try:
        server.prepare()
    except OSError as exc:
        raise OSError(
            f'cannot listen on {host}, port {port}: {exc}. Set another '
            'address with [api] host and port, or --host and --port.'
        ) from exc
    return server


def _stop_on_signals(server: api_server.Server) -> None:
    def stop(*_: object) -> None:
        # Stopped on another thread: the handler runs on the serving thread,
        # which must continue to serve until the end.
        threading.Thread(target=server.stop, name='stop').start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    hang_up.outlive()


if __name__ == '__main__':
    sys.exit(main())
