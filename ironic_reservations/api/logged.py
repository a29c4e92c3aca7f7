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

"""What clients sent, as log lines may carry it.

A path is percent-decoded before anybody sees it: a line feed in it would begin
a log line of the client's own making, and other control characters speak to
the terminal of whoever reads the log.

The log has more readers than the API, and the uuid of a reservation is a
proof: only its beginning is told, which is enough to find it in a list.
"""

from __future__ import annotations

import re
from typing import Any

#: As much of anything as the log gets, in characters.
_LOGGED = 200
#: Below it whatever is longer than what is told of a proof may be one; a uuid
#: has many spellings.
_RESERVATIONS = re.compile('reservations', re.IGNORECASE)
_LONG = re.compile('([^/]{8})[^/]+')


def quoted(text: Any) -> str:
    """Return text in printable ASCII, shortened, without proofs in a path."""
    told = str(text)
    where = _RESERVATIONS.search(told)
    if where is not None:
        told = told[:where.end()] + _LONG.sub(r'\1...', told[where.end():])
    return ascii(told[:_LOGGED])[1:-1]


def path(environ: dict[str, Any]) -> str:
    """Return the path of a request for a log line, as its client sees it."""
    return quoted(environ.get('SCRIPT_NAME', '')
                  + environ.get('PATH_INFO', ''))
