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


"""Hosts that are cleaned, and hosts that another project lends."""

from __future__ import annotations

import datetime

from playwright import sync_api
import sqlalchemy as sa

from tests.processes.browser import base

expect = sync_api.expect


class HostStatesTestCase(base.BrowserCase):
    """Two hosts; one is lent, with a notice of a day."""

    hosts = {'gold': 2}

    @classmethod
    def serve(cls):
        """Start a service with a host of another project."""
        service = base.Service(cls.hosts, reservations={
            'leases': {'owner_notice': '86400'}})
        service.ask_ironic('PATCH', 'nodes/gold-1', [
            {'op': 'add', 'path': '/owner', 'value': 'somebody'}])
        return service

    def put_into_state(self, name, state):
        """Write a state into Ironic's database, as if a conductor had.

        NOTE: the fake hardware is cleaned in no time.
        """
        database = sa.create_engine(self.service.ironic.database)
        self.addCleanup(database.dispose)
        with database.begin() as connection:
            connection.execute(
                sa.text('UPDATE nodes SET provision_state = :state,'
                        ' updated_at = :now WHERE name = :name'), {
                    'state': state, 'name': name,
                    'now': datetime.datetime.now(datetime.UTC).strftime(
                        '%Y-%m-%d %H:%M:%S.%f')})

    def pixels(self, name):
        """Return how many colours a row has right of now."""
        plot = self.page.locator('#plot canvas').first.bounding_box()
        row = self.row(name).bounding_box()
        return self.page.evaluate('''([x, y, width, height]) => {
            const canvas = document.querySelector('#plot canvas');
            const ratio = canvas.width / canvas.clientWidth;
            const {data} = canvas.getContext('2d').getImageData(
              x * ratio, y * ratio, width * ratio, height * ratio);
            const seen = new Set();
            for (let at = 0; at < data.length; at += 4) {
              seen.add(data.slice(at, at + 4).join());
            }
            return seen.size;
          }''', [plot['width'] - 120, row['y'] - plot['y'] + 2, 100,
                 row['height'] - 4])

    def test_node_in_cleaning_has_a_pattern_of_its_own(self):
        self.put_into_state('gold-0', 'clean wait')
        self.addCleanup(self.put_into_state, 'gold-0', 'available')
        self.open(open='gold')
        expect(self.row('gold-0').locator('.condition')).to_have_text(
            'cleaning')
        expect(self.row('gold-0').locator('.said')).to_contain_text(
            'cleaning; no bookings')
        self.says('#legend-list', 'in cleaning')
        self.check_accessible()

    def test_lent_host_says_so(self):
        """In words, in the legend, and where it is not to be had."""
        self.open(open='gold', **self.window(-1, 71))
        expect(self.row('gold-1').locator('.condition')).to_have_text('lent')
        expect(self.row('gold-1').locator('.said')).to_contain_text(
            'lent by its owner, until')
        expect(self.row('gold-0').locator('.said')).to_have_text(
            'usable; no bookings')
        self.says('#legend-list', 'lent')
        self.assertGreater(self.pixels('gold-1'), self.pixels('gold-0'))
        self.check_accessible()

    def test_lent_for_longer_than_is_shown(self):
        self.open(open='gold', **self.window(-1, 5))
        expect(self.row('gold-1').locator('.said')).to_have_text(
            'usable; lent by its owner; no bookings')
