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

"""What is left out of a storm for a release before."""

from __future__ import annotations

import pathlib

import fixtures
import testtools

from tests.processes import before
from tests.processes import mix as mixes

_ROOT = pathlib.Path(__file__).parents[2]


class BeforeTestCase(testtools.TestCase):
    """By the words in its modules."""

    def test_this_release_knows_everything(self) -> None:
        """So that a word that is no longer there leaves nothing out."""
        ours = before.Release.checked_out(_ROOT)
        mix = mixes.Mix.of_all()
        self.assertEqual(mix, ours.narrow(mix))
        self.assertTrue(ours.tells)
        self.assertTrue(ours.commits)

    def test_one_without_limits_is_not_judged_by_them(self) -> None:
        checkout = self._checkout('fix_before on_refusal maintenances')
        mix = before.Release.checked_out(checkout).narrow(
            mixes.Mix.of_all())
        self.assertEqual(({}, {}, {}, 0, 0.0, 0.0), (
            mix.of_class, mix.reserved_of_class, mix.no_show,
            mix.owner_notice, mix.owned, mix.all_hosts))
        self.assertTrue({'repeat', 'act'}.isdisjoint(mix.lives))
        self.assertTrue(mix.booking)
        self.assertEqual(mixes.Mix.of_all().queued, mix.queued)

    def test_one_that_puts_nothing_back_has_no_holders_who_act(self) -> None:
        checkout = self._checkout('planned_at')
        mix = before.Release.checked_out(checkout).narrow(
            mixes.Mix.of_all())
        self.assertNotIn('act', mix.lives)
        self.assertIn('repeat', mix.lives)

    def test_one_without_notices_tells_nobody(self) -> None:
        release = before.Release.checked_out(self._checkout('fix_before'))
        self.assertFalse(release.tells)
        self.assertFalse(release.commits)

    def test_folder_without_a_release_is_refused(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.assertRaises(FileNotFoundError, before.Release.checked_out,
                          folder)

    def _checkout(self, text: str) -> pathlib.Path:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / before.PACKAGE).mkdir()
        (folder / before.PACKAGE / 'module.py').write_text(text)
        return folder
