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

"""The page explains each code of the source, and no other code."""

from __future__ import annotations

import pathlib
import re

import testtools

from ironic_reservations import errors
from ironic_reservations.engine import announce
from ironic_reservations.lifecycle import lifecycle
from ironic_reservations.model import reasons

DOC = pathlib.Path(__file__).parents[2] / 'doc' / 'source'
PAGE = DOC / 'user' / 'troubleshooting.rst'


def every_error() -> set[type[errors.ReservationError]]:
    """Return all errors that can be answered, at any depth."""
    found, left = set(), [errors.ReservationError]
    while left:
        known = left.pop()
        found.add(known)
        left.extend(known.__subclasses__())
    return found


def entries(page: str) -> dict[str, str]:
    """Return the text below each heading that is a code."""
    parts = re.split(r'^([a-z]+\.[a-z_]+)\n-+\n', page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def first_cells(page: str) -> list[str]:
    """Return the literals that are alone in the first cell of a row."""
    return re.findall(r'^   \* - ``(\w+)``$', page, flags=re.MULTILINE)


class TroubleshootingTest(testtools.TestCase):
    """The page and the source know the same codes."""

    def setUp(self) -> None:
        super().setUp()
        self.page = PAGE.read_text()

    def test_each_code_has_an_entry_and_each_entry_a_code(self):
        """A new code without an explanation fails here."""
        self.assertEqual({error.code for error in every_error()},
                         set(entries(self.page)))

    def test_each_entry_tells_the_status_and_what_to_do(self):
        """Each entry has the status of its class."""
        told = entries(self.page)
        for error in every_error():
            with self.subTest(code=error.code):
                text = told[error.code]
                self.assertIn(f'*{error.status}.*', text)
                self.assertIn('**Do:**', text)

    def test_each_reason_has_a_row_and_each_row_a_reason(self):
        """In the table of reasons."""
        self.assertEqual(sorted(
            value for name, value in vars(reasons).items()
            if name.isupper() and isinstance(value, str)),
            sorted(first_cells(self.page)))

    def test_each_end_has_a_row(self):
        """In the page about notifications."""
        page = (DOC / 'install' / 'notifications.rst').read_text()
        self.assertEqual(sorted([announce.EXPIRED, *lifecycle.End]),
                         sorted(first_cells(page)))
