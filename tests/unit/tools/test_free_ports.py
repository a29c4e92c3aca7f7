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

"""A broker took another program for itself, which had got its port first."""

from __future__ import annotations

import socket
import subprocess
import sys
from unittest import mock

import testtools

from tools import free_ports

_CHOOSE = """
from tools import free_ports
print(*(free_ports.free_port() for _ in range(50)), flush=True)
input()
"""


class TestCase(testtools.TestCase):

    def _choosing(self) -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, '-c', _CHOOSE], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def test_the_kernel_gives_them_to_nobody(self) -> None:
        first = int(free_ports._KERNEL.read_text().split()[0])
        for _ in range(20):
            self.assertLess(free_ports.free_port(), first)

    def test_processes_choose_different_ones(self) -> None:
        """Of few, so that they would collide."""
        free = [free_ports.free_port() for _ in range(3)]
        with self._choosing() as other:
            assert other.stdout is not None
            theirs = {int(port) for port in other.stdout.readline().split()}
            with mock.patch.object(free_ports.random.SystemRandom, 'shuffle',
                                   lambda _, ports: ports.sort(
                                       key=lambda port: port not in theirs)):
                mine = free_ports.free_port()
            other.communicate('')
        self.assertEqual(50, len(theirs))
        self.assertNotIn(mine, theirs | {*free})

    def test_one_that_has_a_server_is_left_out(self) -> None:
        port = free_ports.free_port()
        with socket.socket() as server:
            server.bind(('127.0.0.1', port))
            server.listen()
            for mark in list(free_ports._marks):
                mark.close()
            free_ports._marks.clear()
            with mock.patch.object(free_ports.random.SystemRandom, 'shuffle',
                                   lambda _, ports: ports.sort(
                                       key=lambda each: each != port)):
                self.assertNotEqual(port, free_ports.free_port())
