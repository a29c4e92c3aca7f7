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

"""The first requests that a process serves, on several threads at once."""

from collections.abc import Iterator
from unittest import mock

import testtools
from wsme import types as wtypes

from ironic_reservations.api import app  # noqa: F401


def _ours(base: type = wtypes.Base) -> Iterator[type]:
    for datatype in base.__subclasses__():
        if datatype.__module__.startswith('ironic_reservations.'):
            yield datatype
        yield from _ours(datatype)


class TestFirstRequests(testtools.TestCase):

    def test_none_resolves_a_datatype(self):
        """WSME resolves a type on first use; two threads at once fail."""
        found = 0
        with mock.patch.object(
                wtypes.registry, 'resolve_type',
                side_effect=AssertionError('on the first request')):
            for datatype in _ours():
                for part in wtypes.list_attributes(datatype):
                    self.assertIsNotNone(part.datatype)
                    found += 1
        self.assertGreater(found, 50)
