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

"""SIGHUP, which operators send to have options read again."""

from __future__ import annotations

import signal
import threading

from oslo_log import log

LOG = log.getLogger(__name__)


def outlive() -> None:
    """Make this process go on after SIGHUP, and say so in the log."""
    # On another thread: the handler may interrupt one that logs.
    signal.signal(signal.SIGHUP, lambda *_: threading.Thread(
        target=_say, name='hang-up').start())


def _say() -> None:
    LOG.warning('SIGHUP has no effect: options are read when the process '
                'starts. Restart it to apply changes')
