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


"""Maintenance windows that are booked over nodes, with leases and without."""

from ironic_reservations import errors
from ironic_reservations.engine import earlier
from ironic_reservations.features.maintenance import create
from tests import leasing
from tests.inprocess.reconciler import leases


def book(engine, start, end, nodes=None, dry_run=False, key=None, **more):
    """Book nodes for maintenance, from some hour to another."""
    ask = create.WindowRequest(
        'firmware', 'New firmware', leasing.at(end),
        None if start is None else leasing.at(start),
        None if nodes is None else tuple(nodes), **more)
    return create.create(
        engine, ask, dry_run,
        None if key is None else earlier.of_request(
            'maintenance', ask.project_id, key, ask))


class MaintenanceTestCase(leases.TestCase):
    """Nodes, leases of them, and windows."""

    def book(self, start, end, *nodes, dry_run=False, **more):
        """Book nodes for maintenance."""
        return book(self.engine, start, end, nodes or None, dry_run, **more)

    def refused(self, *args, **more):
        """Return the reasons of a refusal, as pairs of a node and a code."""
        before = leasing.tables_as_text(self.world)
        exc = self.assertRaises(errors.MaintenanceRefused, self.book, *args,
                                **more)
        self.assertEqual(before, leasing.tables_as_text(self.world))
        return {(each['node_uuid'], each['code'])
                for each in exc.details['reasons']}
