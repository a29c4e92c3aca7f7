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

"""Makes values that clients sent safe for log lines.

A path is percent-decoded before: a line feed in it would begin a forged log
line, and other control characters could affect the terminal of a reader.

The uuid of a reservation is a proof, and more people can read the log than use
the API. Only its beginning is logged, which is enough to find the reservation
in a list.
"""

from __future__ import annotations

import re
from typing import Any

#: The maximum length of a logged value, in characters.
_LOGGED = 200
#: Below this path, any segment of more than 8 characters may be a proof, since
#: a uuid has many spellings.
_RESERVATIONS = re.compile('reservations', re.IGNORECASE)
_LONG = re.compile('([^/]{8})[^/]+')


def quoted(text: Any) -> str:
    """Return a shortened text in printable ASCII, with proofs cut off."""
    cut = str(text)
    where = _RESERVATIONS.search(cut)
    if where is not None:
        cut = cut[:where.end()] + _LONG.sub(r'\1...', cut[where.end():])
    return ascii(cut[:_LOGGED])[1:-1]


def path(environ: dict[str, Any]) -> str:
    """Return the path of a request for a log line."""
    return quoted(environ.get('SCRIPT_NAME', '')
                  + environ.get('PATH_INFO', ''))
