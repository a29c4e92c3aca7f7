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

"""A user gets at most one mail an hour, and urgent notices at once."""

from __future__ import annotations

import datetime

from hypothesis import given
from hypothesis import strategies as st
import testtools

from ironic_reservations.features.notices import mail_times as mail_digests
from ironic_reservations.model import notices

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
HOUR, MINUTE = datetime.timedelta(hours=1), datetime.timedelta(minutes=1)
STARTED, BROKEN = notices.Kind.STARTED, notices.Kind.BROKEN


def due(*waiting, last=None):
    return mail_digests.due_at(waiting, last, HOUR, MINUTE)


class TestDue(testtools.TestCase):

    def test_nothing_is_never_due(self):
        self.assertIsNone(due(last=NOON))

    def test_urgent_one_is_due_at_once(self):
        self.assertEqual(NOON, due((BROKEN, NOON)))
        self.assertEqual(NOON + MINUTE / 2, due(
            (STARTED, NOON), (BROKEN, NOON + MINUTE / 2)))

    def test_other_one_waits_for_more(self):
        self.assertEqual(NOON + MINUTE, due((STARTED, NOON)))

    def test_last_mail_counts_but_for_urgent_ones(self):
        self.assertEqual(NOON + HOUR, due((STARTED, NOON + MINUTE),
                                          last=NOON))
        self.assertEqual(NOON + MINUTE, due(
            (STARTED, NOON), (BROKEN, NOON + MINUTE), last=NOON))

    @given(st.lists(st.tuples(st.sampled_from(notices.Kind),
                              st.integers(0, 20000)), max_size=30))
    def test_whatever_comes_up(self, written):
        """Urgent notices are mailed at once, and all others hourly."""
        coming = sorted(((NOON + datetime.timedelta(seconds=at), kind)
                         for kind, at in written), key=lambda each: each[0])
        told, sent = [], []
        now = NOON
        while len(told) < len(coming):
            waiting = [(kind, at) for at, kind in coming[len(told):]
                       if at <= now]
            when = due(*waiting, last=sent[-1] if sent else None)
            if when is not None and when <= now:
                urgent = [at for kind, at in waiting if kind.urgent]
                self.assertTrue(now in urgent or not urgent)
                self.assertTrue(urgent or not sent or now - sent[-1] >= HOUR)
                sent.append(now)
                told.extend(waiting)
                continue
            later = [at for at, _ in coming if at > now]
            now = min([each for each in (when, *later[:1])
                       if each is not None])
        self.assertEqual(len(coming), len(told))
