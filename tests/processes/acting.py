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


"""What one who has a node does to it, and leaves on it."""

from __future__ import annotations

from collections.abc import Callable
import datetime
from typing import Any

from tests.processes import enrolled
from tests.processes import exchange
from tests.processes.checker import handed

#: For how long one waits for an answer who dies in the middle, in seconds.
_DIES = (0.01, 0.3)
#: How many of all do.
_DEATHS = 0.15
#: So long before the end of the lease the last acts come, in seconds.
_LAST = (0.05, 1.5)


class Holder:
    """One who has a node, and changes what a holder can.

    :param proof: of the lease, or the reservation.
    :param leased: whether it is a lease: only then does Ironic know its
        project.
    :param owns: whether the holder may own nodes, too: what an owner does to
        a node that nobody has is nobody's to put back.
    """

    def __init__(self, asker: exchange.Asker, node: str, proof: str,
                 owns: bool, leased: bool = True) -> None:
        self._asker = asker
        self._choice = asker.choice
        self._node = node
        self._proof = proof
        self._path = f'/v1/nodes/{node}'
        #: What Ironic lets nobody do but lessees, and owners.
        self._of_lessees: list[Callable[[], None]] = [
            self._add_a_key, self._write_a_key, self._configure,
            self._add_a_volume, self._set_boot_mode, self._secure_boot,
            *(() if owns else (self._delete_the_volume,))]
        self._kinds = [*(self._of_lessees if leased else ()),
                       self._describe, self._switch_on, self._maintain,
                       self._boot_from_a_disc, self._manage]

    def act(self) -> None:
        """Look at the node, and do some of it."""
        self._asker.ask('look-over', 'GET', self._path)
        self._some()

    def act_until(self, end: datetime.datetime) -> None:
        """Do some of it when the lease is about to end."""
        left = (end - datetime.datetime.now(datetime.UTC)
                ).total_seconds() - self._choice.uniform(*_LAST)
        if self._asker.wait(max(left, 0.0), max(left, 0.0)):
            self._some()

    def act_once_more(self) -> None:
        """Do one thing, whether or not the lease has been ended.

        NOTE: nothing that Ironic's policy of the storm lets everybody do.
        """
        self._choice.choice(self._of_lessees)()

    def _some(self) -> None:
        for kind in self._choice.sample(self._kinds,
                                        self._choice.randint(1, 4)):
            kind()

    def _ask(self, method: str, path: str, body: Any = None) -> None:
        self._asker.ask('act', method, path, body, proof=self._proof,
                        timeout=self._choice.uniform(*_DIES)
                        if self._choice.random() < _DEATHS else None)

    def _mark(self) -> str:
        """Return what the checker knows again, wherever it is."""
        return f'{handed.MARK}{self._asker.uuid()}'

    def _write(self, pointer: str) -> None:
        self._ask('PATCH', self._path, [
            {'op': 'add', 'path': pointer, 'value': self._mark()}])

    def _add_a_key(self) -> None:
        self._write('/extra/his')

    def _write_a_key(self) -> None:
        """Write over what an operator has written."""
        self._write('/extra/rack')

    def _describe(self) -> None:
        self._write('/description')

    def _configure(self) -> None:
        """Write what would run on the machine when it is deployed."""
        self._write('/instance_info/kernel_append_params')

    def _add_a_volume(self) -> None:
        self._ask('POST', '/v1/volume/targets', {
            'node_uuid': self._node, 'volume_type': 'iscsi',
            'volume_id': self._mark(), 'boot_index': 0})

    def _delete_the_volume(self) -> None:
        """Delete the one that an operator has made."""
        self._ask('DELETE', '/v1/volume/targets/'
                  + enrolled.volume_of(self._node))

    def _switch_on(self) -> None:
        self._ask('PUT', f'{self._path}/states/power', {'target': 'power on'})

    def _set_boot_mode(self) -> None:
        self._ask('PUT', f'{self._path}/states/boot_mode', {'target': 'uefi'})

    def _secure_boot(self) -> None:
        self._ask('PUT', f'{self._path}/states/secure_boot', {'target': True})

    def _boot_from_a_disc(self) -> None:
        self._ask('PUT', f'{self._path}/management/boot_device',
                  {'boot_device': 'cdrom', 'persistent': True})

    def _maintain(self) -> None:
        self._ask('PUT', f'{self._path}/maintenance',
                  {'reason': self._mark()})
        if self._choice.random() < 0.3:
            self._ask('DELETE', f'{self._path}/maintenance')

    def _manage(self) -> None:
        """Take it out of use, from where it has to be led back."""
        self._ask('PUT', f'{self._path}/states/provision',
                  {'target': 'manage'})
