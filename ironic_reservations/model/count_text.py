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

"""Numbers of things in sentences: ``1 host``, ``2 hosts``."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """Return a number with the name of the counted things.

    :param thing: the name of one such thing.
    """
    return f'{number} {thing}' if number == 1 else f'{number} {thing}s'
