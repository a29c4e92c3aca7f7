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

"""Texts of others, before they reach a terminal."""

from __future__ import annotations


def plain(text: str) -> str:
    """Return a text without characters that a terminal would obey.

    Others choose names and classes, and drivers write errors; lines stay.
    """
    return ''.join(each if each.isprintable() or each == '\n'
                   else '\N{REPLACEMENT CHARACTER}' for each in text)
