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
"""

from __future__ import annotations

from typing import Any

#: As much of anything as the log gets, in characters.
_LOGGED = 200


def quoted(text: Any) -> str:
    """Return text in printable ASCII, shortened, for a log line."""
    return ascii(str(text)[:_LOGGED])[1:-1]
