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
import json
import random
import tracemalloc
from unittest import mock

import sqlalchemy as sa

from ironic_reservations.api import versions
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
        # NOTE: nor what the engine of this one has for its connections.
        with engine.database.read() as connection:
            connection.execute(sa.select(1))
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

    def test_text_is_that_of_the_version_whatever_is_cached(self):
        """Also where a reason or a loan comes and goes meanwhile."""
        _, engine, _ = self.kept(2)
        page = find.page(engine)
        first = page[0]
        shown = [lease_shape.Outside({}, None), lease_shape.Outside(
            {first.id: 'a node is broken'}, None), lease_shape.Outside({}, {}),
            lease_shape.Outside({}, {first.id: {
                first.bookings[0].node_uuid: first.end}})]
        texts = lease_shape.Texts()
        asked = [(minor, outside) for minor, _ in versions.HISTORY
                 if minor >= versions.DEGRADED for outside in shown
                 if (outside.lent is None) is (minor < versions.LOANS)] * 3
        random.Random(3).shuffle(asked)
        for minor, outside in asked:
            self.assertEqual(
                [lease_shape.shape(each) for each in page],
                [json.loads(text) for text in texts.write(page)])
            self.assertEqual(
                [lease_shape.extended(each, minor, outside) for each in page],
                [json.loads(text) for text in texts.write(
                    page, minor, outside)], (minor, outside))

    def test_text_is_written_once_for_versions_that_show_the_same(self):
        _, engine, texts = self.kept(1)
        page, outside = find.page(engine), lease_shape.Outside({}, {})
        texts.write(page, versions.LOANS, outside)
        with mock.patch.object(lease_shape, 'shape') as shape:
            texts.write(page, versions.LOANS + 1, outside)
        self.assertEqual([], shape.mock_calls)
