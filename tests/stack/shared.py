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


"""One cloud for all tests of a run.

It is started by the first test and ends with the process: bringing it up takes
longer than most of the tests.
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping
import dataclasses
import signal
import sys

from tools import child
from tools.stack import cloud
from tools.stack import nova

#: What is the same in all tests.
_ALWAYS = {
    'reservations': {'min_ttl': 1}, 'leases': {'max_backoff': 2},
    'ironic': {'full_poll_interval': 10},
    # NOTE: what is amiss in a test is mended when it asks for that.
    'placement': {'audit_interval': 0, 'recover_interval': 1}}
#: As an operator sets it up for an unmodified Nova.
UNMODIFIED = {'instance_uuid_from_service': True, 'proof_by_placement': True}
#: As it is where nothing is said.
_NO_PROOFS = {'require': 'reserved', 'instance_uuid_from_service': False,
              'proof_by_placement': False}


@dataclasses.dataclass(frozen=True)
class Setup:
    """How the cloud is set up.

    :ivar guard: options of [guard].
    :ivar driver: of the nova-compute that has the nodes of Ironic.
    :ivar path: where that Python looks for modules first.
    """

    guard: Mapping[str, object] = dataclasses.field(
        default_factory=lambda: UNMODIFIED)
    driver: str = nova.STOCK_DRIVER
    path: str = ''


#: Which is no setup's.
_UNKNOWN = Setup({'unknown': True}, '')
_running: cloud.Cloud | None = None
_setup = Setup()
_failure: child.NotStarted | None = None


def running(setup: Setup) -> cloud.Cloud:
    """Return the cloud.

    :param setup: how it is to be; what is so already is left running.
    :raises NotStarted: it did not come up, now or before.
    """
    global _setup
    there = _there()
    # NOTE: where it does not start again, the next test tries it again.
    before, _setup = _setup, _UNKNOWN
    if setup.guard != before.guard:
        there.ironic.restart(there.ironic.reservations, {
            'guard': {**_NO_PROOFS, **setup.guard}})
    if (setup.driver, setup.path) != (before.driver, before.path):
        there.change_driver(setup.driver, setup.path)
    _setup = setup
    return there


def _there() -> cloud.Cloud:
    global _running, _failure
    if _failure is not None:
        raise _failure
    if _running is None:
        fresh = cloud.Cloud({**_ALWAYS, 'guard': _setup.guard}, say=_say)
        try:
            _running = fresh.__enter__()
        except child.NotStarted as failure:
            _failure = failure
            raise
        atexit.register(fresh.__exit__)
        # NOTE: so that it also ends where a run is stopped.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return _running


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
