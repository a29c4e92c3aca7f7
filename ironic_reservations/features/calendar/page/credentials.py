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

"""Reads the credentials in the body of a sign-in."""

from __future__ import annotations

from typing import Any

from ironic_reservations import errors

#: Longer than any value that Keystone accepts.
_MAX = 1024


def read(document: Any, required: tuple[str, ...],
         optional: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the values of a document by their names.

    Errors and logs contain no values and no unknown keys, since each of them
    may be a password.

    :raises Malformed: the document is no object.
    :raises UnknownKey: the document has another key.
    :raises InvalidValue: a value is missing, too long, or no string.
    """
    if not isinstance(document, dict):
        raise errors.Malformed('The body must be a JSON object.')
    known = (*required, *optional)
    if not set(document) <= set(known):
        raise errors.UnknownKey(
            f'A sign-in has the keys {", ".join(known)}, and no others.')
    out = {}
    for name in known:
        value = document.get(name)
        if value in (None, '') and name in optional:
            continue
        if not isinstance(value, str) or not 1 <= len(value) <= _MAX or (
                '\0' in value):
            raise errors.InvalidValue(
                f'"{name}" must be a text of 1 to {_MAX} characters.')
        out[name] = value
    return out
