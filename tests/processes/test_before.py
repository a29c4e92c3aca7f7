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

"""What is left out of a storm for a previous release."""

from __future__ import annotations

import pathlib

import fixtures
import testtools

from tests.processes import before
from tests.processes import mix as mixes

_ROOT = pathlib.Path(__file__).parents[2]
_SINCE = {'on_refusal': {'queued': 0.0}, 'maintenances': {'booking': False}}


class BeforeTestCase(testtools.TestCase):
    """By the words in its modules."""

    def test_this_release_knows_everything(self) -> None:
        """So that a word that is no longer there leaves nothing out."""
        ours = before.Release.checked_out(_ROOT)
        mix = mixes.Mix.of_all()
        for since in (before.SINCE, _SINCE):
            self.assertEqual(mix, ours.narrow(mix, since))

    def test_what_a_release_does_not_know_is_left_out(self) -> None:
        mix = mixes.Mix.of_all()
        narrowed = before.Release.checked_out(
            self._checkout('maintenances')).narrow(mix, _SINCE)
        self.assertEqual((0.0, True), (narrowed.queued, narrowed.booking))
        self.assertNotEqual(0.0, mix.queued)

    def test_folder_without_a_release_is_refused(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.assertRaises(FileNotFoundError, before.Release.checked_out,
                          folder)

    def _checkout(self, text: str) -> pathlib.Path:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / before.PACKAGE).mkdir()
        (folder / before.PACKAGE / 'module.py').write_text(text)
        return folder
