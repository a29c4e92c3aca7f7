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

"""Checks how deeply JSON is nested before it is parsed.

Python's parser uses the stack for each level, and Ironic's threads have a
stack of 128 KiB: two kilobytes of brackets would crash the process. This check
is not recursive, and nearly all of it runs in C.
"""

from __future__ import annotations

import re

# Possessive quantifiers do not backtrack, since a configuration drive is one
# string of 60 MB. An unterminated string extends to the end of the text, so
# that no byte is examined twice.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_AS_SQUARE = bytes.maketrans(b'{}', b'[]')
_NOT_BRACKETS = bytes(set(range(256)) - set(b'[]{}'))

#: The maximum number of strings, and of bytes outside of strings: a large body
#: is a file in one string, not millions of numbers.
MOST_STRINGS = 200_000
MOST_BARE = 1024 * 1024


class TooDeep(ValueError):
    """The nesting is too deep."""


class TooManyParts(ValueError):
    """The document has more values than any document of the API."""


def check(raw: bytes, deepest: int) -> None:
    """Check that JSON can be parsed on a small stack and in little time.

    Invalid JSON may pass, if parsing it ends before twice the allowed depth.

    :param raw: JSON in UTF-8.
    :param deepest: the maximum nesting of arrays and objects.
    :raises TooDeep: the nesting is deeper.
    :raises TooManyParts: the text has too many values.
    """
    bare, strings = _STRING.subn(b'', raw, MOST_STRINGS)
    if strings == MOST_STRINGS or len(bare) > MOST_BARE:
        raise TooManyParts(
            f'it has more than {MOST_STRINGS} strings, or more than '
            f'{MOST_BARE} bytes outside of strings')
    brackets = bare.translate(_AS_SQUARE, _NOT_BRACKETS)
    # Each round removes the innermost pairs, so there are as many rounds as
    # levels; brackets that remain have no partner.
    for _ in range(deepest):
        if b'[]' not in brackets:
            break
        brackets = brackets.replace(b'[]', b'')
    if b'[]' in brackets or brackets.count(b'[') > deepest:
        raise TooDeep(f'it is nested more than {deepest} levels deep')
