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


"""UUIDs, which callers may write in any case, with or without hyphens.

Ironic finds such a node if its database compares texts without their case.
"""

import re

_DIGITS = re.compile('[0-9a-f]{32}')


def canonical(ident: str) -> str:
    """Return a uuid in its canonical form, or a name unchanged.

    Ironic takes the same texts for uuids.
    """
    digits = ident.lower().replace('urn:', '').replace('uuid:', '').strip(
        '{}').replace('-', '')
    if not _DIGITS.fullmatch(digits):
        return ident
    return '-'.join((digits[:8], digits[8:12], digits[12:16], digits[16:20],
                     digits[20:]))
