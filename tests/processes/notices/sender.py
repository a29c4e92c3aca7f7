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

"""A process that sends notices, until it is killed."""

from __future__ import annotations

from typing import Any

from ironic_reservations import engine as engine_module
from ironic_reservations.reconciler import loops
from tests import world

#: Of claims, in seconds: as long as others wait for one that was killed.
CLAIM_TTL = 5
#: Of an exchange: longer than a busy machine stands still.
TIMEOUT = 8
MAIL_TIMEOUT = 5


def options() -> dict[str, Any]:
    """Return the configuration of all processes, for a test of seconds."""
    return {'notices__claim_ttl': CLAIM_TTL,
            'notices__webhook_timeout': TIMEOUT,
            'notices__mail_timeout': MAIL_TIMEOUT, 'notices__max_backoff': 1,
            'notices__mail_gather_time': 0, 'notices__mail_interval': 60}


def run(url: str, more: dict[str, Any]) -> None:
    """Be a reconciler without an Ironic."""
    loops.Reconciler(engine_module.build(
        world.configured(url, **options(), **more))).run()
