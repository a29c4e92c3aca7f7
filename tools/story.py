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


"""Runs commands, and shows each with its answer."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from typing import Any

import requests

from tools import loaded_commands
from tools import placement

#: How long one command may take, in seconds.
COMMAND_TIMEOUT = 120
_WIDEST = 110


class Unexpected(Exception):
    """A step went another way than the demonstration says."""


class Story:
    """Tells steps by their commands.

    :param url: the root of Ironic's API.
    :param session: what to look at it with, besides.
    :param placement_url: the root of Placement's API.
    """

    def __init__(self, url: str, session: requests.Session,
                 placement_url: str) -> None:
        self._url = url
        self._session = session
        self._placement_url = placement_url
        self._commands = loaded_commands.LoadedCommands(
            ('baremetal', 'blazar', 'openstack'),
            loaded_commands.PLUGINS,
            # NOTE: python-blazarclient names a command of "openstack" that
            # it does not have, and each other one would begin by saying so.
            silenced=('stevedore.extension',))
        width = min(shutil.get_terminal_size((_WIDEST, 0)).columns, _WIDEST)
        self._environment = {
            # What the caller's shell says of another cloud stays out.
            **{name: value for name, value in os.environ.items()
               if not name.startswith('OS_')},
            'OS_AUTH_TYPE': 'none', 'COLUMNS': str(width),
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
        self._run('baremetal', words, self._url, refused)

    def blazar(self, *words: str, refused: str | None = None) -> None:
        """Run ``blazar`` and show what it answers.

        :param refused: what it has to say when it fails, as it must then.
        :raises Unexpected: it did not do as it should.
        """
        self._run('blazar', words, f'{self._url}/v1', refused)

    def show_hold(self, node: str) -> None:
        """Show who has a node in Placement, which is one consumer.

        :param node: its name.
        :raises Unexpected: nobody has it, or several.
        """
        uuid, holders = self._holders(node)
        if len(holders) != 1:
            raise Unexpected(f'One should have the node {node} in Placement, '
                             f'and these have: {holders}.')
        self.openstack('resource', 'provider', 'show', '--allocations', uuid,
                       '-c', 'uuid', '-c', 'allocations')
        self.openstack('resource', 'provider', 'allocation', 'show',
                       *holders, '-c', 'resource_provider', '-c', 'resources',
                       '-c', 'consumer_type')

    def show_no_hold(self, node: str, within: float = 0) -> None:
        """Show that nobody has a node in Placement.

        :param node: its name.
        :param within: how long that may still take, in seconds.
        :raises Unexpected: somebody has it.
        """
        deadline = time.monotonic() + within
        uuid, holders = self._holders(node)
        while holders and time.monotonic() < deadline:
            time.sleep(0.5)
            uuid, holders = self._holders(node)
        self.openstack('resource', 'provider', 'show', '--allocations', uuid,
                       '-c', 'uuid', '-c', 'allocations')
        if holders:
            raise Unexpected(f'Nobody should have the node {node} in '
                             f'Placement, and these have: {holders}.')

    def openstack(self, *words: str) -> None:
        """Run ``openstack`` on Placement and show what it answers.

        :raises Unexpected: it did not do as it should.
        """
        self._run('openstack', words, self._placement_url, None,
                  OS_AUTH_TYPE='admin_token', OS_TOKEN=placement.TOKEN,
                  OS_PLACEMENT_API_VERSION=placement.VERSION)

    def ask(self, path: str) -> Any:
        """Read something of the API, and show nothing.

        :raises requests.HTTPError: it was not answered.
        """
        answer = self._session.get(self._url + path, timeout=30, headers={
            'X-OpenStack-Ironic-API-Version': 'latest'})
        answer.raise_for_status()
        return answer.json()

    def _holders(self, node: str) -> tuple[str, list[str]]:
        uuid = self.ask(f'/v1/nodes/{node}')['uuid']
        with placement.session() as session:
            return uuid, placement.holders(session, self._placement_url,
                                           uuid)

    def _run(self, name: str, words: tuple[str, ...], endpoint: str,
             refused: str | None, **environment: str) -> None:
        print(f'$ {shlex.join((name, *words))}', flush=True)
        try:
            done = self._commands.run(
                name, words, {**self._environment, 'OS_ENDPOINT': endpoint,
                              **environment}, COMMAND_TIMEOUT)
        except TimeoutError as late:
            raise Unexpected(f'The last command: {late}') from late
        if done.output.strip():
            print(done.output.rstrip(), flush=True)
        if refused is None and done.status:
            raise Unexpected(f'The last command ended with {done.status}, '
                             'and should have worked.')
        if refused is not None and (not done.status
                                    or refused not in done.output):
            raise Unexpected(f'The last command ended with {done.status}, '
                             f'and should have been refused with '
                             f'"{refused}".')
