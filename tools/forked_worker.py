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

"""Asks the process that runs the tests to fork a worker, and ends with it.

stestr starts this file where it would start a Python of its own; see
:mod:`tools.worker_forks`. It imports nothing that takes long.
"""

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as asking:
    asking.connect(os.environ['IRONIC_RESERVATIONS_TEST_WORKERS'] + '/socket')
    socket.send_fds(asking, [json.dumps(sys.argv[1:]).encode()], [0, 1, 2])
    status = asking.recv(16)
sys.exit(int(status or 1))
