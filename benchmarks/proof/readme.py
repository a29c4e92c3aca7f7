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

"""The figures of README, each of which links to its line on the page."""

from __future__ import annotations

from collections.abc import Sequence
import re

from benchmarks.proof import headlines

PAGE = 'doc/source/contributor/proof.rst'
_LINK = re.compile(
    rf'`([^`<]+) <{re.escape(PAGE)}#proof-(?!peers)([\w-]+)>`__')


def figures(text: str) -> list[tuple[str, str]]:
    """Return the labels and figures that a text links to the page."""
    return [(label, figure) for figure, label in _LINK.findall(text)]


def filled(text: str, known: Sequence[headlines.Headline]) -> str:
    """Return a text with the figures of a run.

    :raises KeyError: the run has no such line.
    """
    figure_of = {each.label: each.figure for each in known}
    return _LINK.sub(
        lambda found: f'`{figure_of[found[2]]} <{PAGE}#proof-{found[2]}>`__',
        text)
