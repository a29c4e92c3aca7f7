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


"""The file of a flavor, which some commands take."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

from ironicclient import exc


def read(path: str | None) -> dict[str, Any] | None:
    """Read what ``openstack flavor show -f json`` prints.

    :param path: ``-`` for the standard input; ``None`` where none was named.
    :raises CommandError: it cannot be read, or is not a flavor.
    """
    if path is None:
        return None
    try:
        document = json.loads(sys.stdin.read() if path == '-' else
                              pathlib.Path(path).read_text('utf-8'))
    except (OSError, ValueError) as error:
        raise exc.CommandError(
            f'--flavor-file: {path} cannot be read as JSON: {error}'
        ) from error
    if not isinstance(document, dict):
        raise exc.CommandError(
            f'--flavor-file: {path} is not the output of "openstack flavor '
            'show -f json".')
    return document
