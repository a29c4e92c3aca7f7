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

"""The cause if Ironic cannot be read, for the operator."""

from __future__ import annotations

import re

from ironic_reservations import errors

#: The parameters of a URL say nothing about the cause.
_QUERY = re.compile(r'\?[^\s:]*')


def why(failure: errors.IronicUnavailable) -> str:
    """Return the cause with the address, without a full stop.

    Clients do not see the cause, since it contains the address.
    """
    said = str(failure.__cause__ or failure)
    return _QUERY.sub('', said).rstrip('.')
