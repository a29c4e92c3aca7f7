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
"""Leases that were listed are kept within a number of bytes, not of leases."""

import gc
import tracemalloc
from unittest import mock

from ironic_reservations.api.controllers.v1 import lease_shape
from ironic_reservations.db import lease_parts
from ironic_reservations.engine.leases import find
from tests import leasing
from tests import world

_LEASES = 12


class TestListedKept(world.TestCase):

    def kept(self, hosts):
        """Return how many bytes leases of hosts take, and what is known."""
        there = leasing.Leasing(self.new_world())
        there.hosts(hosts)
        for place in range(_LEASES):
            there.create(1 + 2 * place, 2.5 + 2 * place, leasing.wish(hosts))
        # NOTE: what is made at the first time for all is not counted.
        lease_shape.Texts().write(find.page(there.world.another_engine()))
        engine, texts = there.world.another_engine(), lease_shape.Texts()
        gc.collect()
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        before, _ = tracemalloc.get_traced_memory()
        texts.write(find.page(engine))
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return after - before, engine, texts

    def test_lease_takes_about_as_much_as_is_reckoned(self):
        for hosts in (1, 60):
            taken, engine, _ = self.kept(hosts)
            reckoned = 1024 * sum(
                each.kilobytes for each in find.page(engine))
            self.assertLess(taken, 1.5 * reckoned)

    def test_leases_of_many_hosts_are_kept_in_as_few_bytes(self):
        """All that is kept fits, whatever the leases have."""
        for hosts in (1, 60):
            with mock.patch.object(lease_parts, '_MOST', 75), (
                    mock.patch.object(lease_shape, '_MOST', 75)):
                taken, _, _ = self.kept(hosts)
            self.assertLess(taken, 2 * 75 * 1024, hosts)

    def test_page_is_whole_where_not_all_of_it_is_kept(self):
        with mock.patch.object(lease_parts, '_MOST', 20), (
                mock.patch.object(lease_shape, '_MOST', 20)):
            _, engine, texts = self.kept(2)
            first, again = (texts.write(find.page(engine)) for _ in range(2))
        self.assertEqual(_LEASES, len(set(first)))
        self.assertEqual(first, again)
