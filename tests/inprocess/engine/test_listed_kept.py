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
from ironic_reservations.api.types import lease_document
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
        lease_document.written(find.page(there.world.another_engine()))
        engine = there.world.another_engine()
        # NOTE: nor what the engine of this one has for its connections.
        with engine.database.read() as connection:
            connection.execute(sa.select(1))
        gc.collect()
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        before, _ = tracemalloc.get_traced_memory()
        lease_document.written(find.page(engine))
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return after - before, engine

    def test_lease_takes_about_as_much_as_is_reckoned(self):
        for hosts in (1, 60):
            taken, engine = self.kept(hosts)
            reckoned = 1024 * sum(
                each.kilobytes for each in find.page(engine))
            self.assertLess(taken, 1.5 * reckoned)

    def test_leases_of_many_hosts_are_kept_in_as_few_bytes(self):
        """All that is kept fits, whatever the leases have."""
        for hosts in (1, 60):
            with mock.patch.object(lease_parts, '_MOST', 75):
                taken, _ = self.kept(hosts)
            self.assertLess(taken, 2 * 75 * 1024, hosts)

    def test_page_is_whole_where_not_all_of_it_is_kept(self):
        with mock.patch.object(lease_parts, '_MOST', 20):
            _, engine = self.kept(2)
            first, again = (lease_document.written(find.page(engine))
                            for _ in range(2))
        self.assertEqual(_LEASES, len(set(first)))
        self.assertEqual(first, again)

    def test_text_is_that_of_the_version_whatever_is_cached(self):
        """Also where a reason or a loan comes and goes meanwhile."""
        _, engine = self.kept(2)
        page = find.page(engine)
        first = page[0]
        shown = [lease_document.NOTHING, lease_document.Outside(
            {first.id: 'a node is broken'}), lease_document.Outside(
            lent={first.id: {first.bookings[0].node_uuid: first.end}})]
        asked = [(minor, outside) for minor, _ in versions.HISTORY
                 if minor >= versions.DEGRADED for outside in shown
                 if not outside.lent or minor >= versions.LOANS] * 3
        random.Random(3).shuffle(asked)
        for version in asked:
            self.assertEqual(
                [lease_document.document(each) for each in page],
                [json.loads(text) for text in lease_document.written(page)])
            self.assertEqual(
                [lease_document.document(each, *version) for each in page],
                [json.loads(text)
                 for text in lease_document.written(page, *version)], version)

    def test_texts_differ_between_versions_and_with_the_facts(self):
        _, engine = self.kept(1)
        page = find.page(engine)
        node = page[0].bookings[0].node_uuid
        texts = {lease_document.written(page, *version)[0] for version in (
            (versions.SEED,), (versions.DEGRADED,), (versions.FLEXIBLE,),
            (versions.QUEUE,), (versions.LOANS,),
            (versions.LOANS, lease_document.Outside({page[0].id: 'broken'})),
            (versions.LOANS, lease_document.Outside(
                lent={page[0].id: {node: page[0].end}})))}
        self.assertEqual(7, len(texts))

    def test_text_is_written_once_for_versions_that_show_the_same(self):
        _, engine = self.kept(1)
        page = find.page(engine)
        lease_document.written(page, versions.LOANS)
        with mock.patch.object(lease_document, 'document') as document:
            lease_document.written(page, versions.LOANS + 1)
        self.assertEqual([], document.mock_calls)
