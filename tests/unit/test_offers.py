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

"""An offer keeps the values of the request, which is posted unchanged."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import testtools

from ironic_reservations.engine.leases import change_offers
from ironic_reservations.engine.leases import offers
from ironic_reservations.model import leases

_END = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
#: Fields that come with another request, or have no meaning in an offer, which
#: has dates of its own.
_LEFT_OUT = {'project_id', 'user_id', 'key', 'flexible', 'queue', 'priority',
             'before_end_now', 'lasts', 'opened'}


class OffersTest(testtools.TestCase):
    """A new field of a request is written to offers as well."""

    def _check(self, kind: type, write: Any, **given: Any) -> None:
        read = set()

        class Recorded(kind):  # type: ignore[misc]
            def __getattribute__(self, name: str) -> Any:
                read.add(name)
                return super().__getattribute__(name)

        write(Recorded(**given))
        fields = {each.name for each in dataclasses.fields(kind)}
        self.assertEqual(
            set(), fields - read - _LEFT_OUT,
            f'{write.__module__}.{write.__name__} does not write these fields '
            f'of {kind.__name__} to an offer. Write them, or add them to '
            '_LEFT_OUT here.')

    def test_new_lease(self) -> None:
        self._check(leases.LeaseRequest, offers.body, name='mine', end=_END,
                    reservations=())

    def test_change(self) -> None:
        self._check(leases.LeaseChange, change_offers._written)
