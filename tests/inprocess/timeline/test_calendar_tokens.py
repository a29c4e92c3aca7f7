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

"""Tokens of calendars, made and revoked at once, on each database."""

from concurrent import futures

from ironic_reservations import errors
from ironic_reservations.features.calendar import tokens as calendar_tokens
from tests import servers
from tests.inprocess.engine import timelines

AT_ONCE = 8
ROLES = ('member', 'reader')


@servers.also
class TestTokens(timelines.TestCase):
    """One user has one token in a project, however it came about."""

    def _holder(self, token: str) -> calendar_tokens.Holder | None:
        try:
            return calendar_tokens.holder(self.engine, token)
        except errors.CalendarNotFound:
            return None

    def test_made_at_once(self) -> None:
        """All get one, and one of them is good."""
        with futures.ThreadPoolExecutor(AT_ONCE) as pool:
            made = list(pool.map(
                lambda _: calendar_tokens.make(self.engine, 'me', 'red',
                                               ROLES, ''),
                range(AT_ONCE)))
        self.assertEqual(AT_ONCE, len(set(made)))
        good = [each for each in made if self._holder(each) is not None]
        self.assertEqual(1, len(good))
        self.assertEqual(frozenset(ROLES), self._holder(good[0]).roles)

    def test_names_that_differ_in_little(self) -> None:
        """Are others: in case, and in what some databases do not tell."""
        names = ('me', 'ME', 'me ', 'mé', '')
        made = [calendar_tokens.make(self.engine, user, project, ROLES, '')
                for user in names for project in names]
        for token in made:
            self.assertIsNotNone(self._holder(token))
        calendar_tokens.revoke(self.engine, 'me', 'red')
        calendar_tokens.revoke(self.engine, 'ME', 'me')
        self.assertEqual(1, sum(self._holder(each) is None for each in made))

    def test_password_of_then(self) -> None:
        """Is kept as its fingerprint; with another one there is no token."""
        first = calendar_tokens.make(self.engine, 'me', None, ROLES, 'one')
        for fingerprint, there in (('one', True), ('ONE', False),
                                   ('', False), (None, False)):
            self.assertEqual(there, self._holder(first).has(fingerprint))
            self.assertEqual(there, calendar_tokens.show(
                self.engine, 'me', None, fingerprint) is not None)
        second = calendar_tokens.make(self.engine, 'me', None, ROLES, 'two')
        self.assertIsNone(self._holder(first))
        self.assertTrue(self._holder(second).has('two'))

    def test_nobody_in_particular(self) -> None:
        """Has one, too, where users are not told apart."""
        token = calendar_tokens.make(self.engine, None, None, (), '')
        found = self._holder(token)
        self.assertEqual((None, None), (found.user_id, found.project_id))
        self.assertEqual(found, calendar_tokens.show(
            self.engine, None, None, ''))
        calendar_tokens.revoke(self.engine, None, None)
        self.assertIsNone(self._holder(token))
