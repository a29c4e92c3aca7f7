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

"""How deeply JSON is nested, counted before anything reads it.

Python's reader takes a piece of the thread's stack for each level, and Ironic
runs its threads on 128 KiB: two kilobytes of brackets end the process.  Here
nothing is recursive, and nearly all of the work is done by loops in C.
"""

from __future__ import annotations

import re

# NOTE: possessive, so that nothing is kept to go back to: a configuration
# drive is one string of 60 MB. A string without an end goes on to the end of
# the text, so that no byte is looked at twice.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_AS_SQUARE = bytes.maketrans(b'{}', b'[]')
_NOT_BRACKETS = bytes(set(range(256)) - set(b'[]{}'))

#: How many strings there may be, and how many bytes outside of strings.
#: Only a few of them may be long: who sends 60 MB sends a file, not 10
#: million numbers that each become an object.
MOST_STRINGS = 200_000
MOST_BARE = 1024 * 1024


class TooDeep(ValueError):
    """The nesting is deeper than it may be."""


class TooManyParts(ValueError):
    """There are more values than any document of the API has."""


def check(raw: bytes, deepest: int) -> None:
    """Check that JSON can be read on a small stack and in little time.

    What is not JSON may pass, as long as reading it ends before it has gone
    twice as deep as allowed.

    :param raw: JSON in UTF-8.
    :param deepest: how many arrays and objects may be within each other.
    :raises TooDeep: more are.
    :raises TooManyParts: it is of very many values.
    """
    bare, strings = _STRING.subn(b'', raw, MOST_STRINGS)
    if strings == MOST_STRINGS or len(bare) > MOST_BARE:
        raise TooManyParts(
            f'it has more than {MOST_STRINGS} strings, or more than '
            f'{MOST_BARE} bytes outside of strings')
    brackets = bare.translate(_AS_SQUARE, _NOT_BRACKETS)
    # NOTE: each round takes the innermost pairs away, so that as many rounds
    # are needed as there are levels; what is left then has no partner.
    for _ in range(deepest):
        if b'[]' not in brackets:
            break
        brackets = brackets.replace(b'[]', b'')
    if b'[]' in brackets or brackets.count(b'[') > deepest:
        raise TooDeep(f'it is nested more than {deepest} levels deep')
