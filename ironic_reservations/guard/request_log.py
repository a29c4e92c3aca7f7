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

"""Keep requests of ours out of the log of Ironic's requests."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import contextvars
import logging

#: The logger of Ironic's middleware that writes a line for each request.
_LOGGER = 'ironic.api'

_asking: contextvars.ContextVar[bool] = contextvars.ContextVar(
    'ironic_reservations_asking', default=False)


class _WithoutOurs(logging.Filter):
    """Drops the line of a request that only identifies a caller.

    The path of such a request does not exist in Ironic. The caller did not ask
    for it, and the "404" would mislead operators who read the log.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is written."""
        return not (_asking.get() and isinstance(record.args, Mapping)
                    and record.args.get('status') == 404)


def install() -> None:
    """Keep requests that identify callers out of Ironic's log."""
    logger = logging.getLogger(_LOGGER)
    if not any(isinstance(each, _WithoutOurs) for each in logger.filters):
        logger.addFilter(_WithoutOurs())


@contextlib.contextmanager
def unlogged() -> Iterator[None]:
    """Keep the requests of the block out of the log, if they get a 404."""
    before = _asking.set(True)
    try:
        yield
    finally:
        _asking.reset(before)
