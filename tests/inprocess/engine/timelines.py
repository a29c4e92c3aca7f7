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

"""A timeline of leases, which has to stay sound."""

import contextlib
from typing import Any

from ironic_reservations import errors
from tests import leasing
from tests import world


class TestCase(world.TestCase):
    """With a timeline of leases.

    :cvar options: of the configuration, as ``group__name``.
    :cvar opened: how many hosts are open when a test begins.
    """

    options: dict[str, Any] = {}
    opened = 0

    def setUp(self):
        super().setUp()
        self.begin(**self.options)

    def begin(self, **options):
        """Begin with a timeline on which nothing is."""
        self.world = self.new_world(**options)
        self.leasing = leasing.Leasing(self.world)
        self.engine = self.leasing.engine
        self.opened_hosts = self.leasing.hosts(self.opened)
        self.addCleanup(self.assert_sound, self.leasing)

    def another(self):
        """Return what another process does on the same rows."""
        return leasing.Leasing(self.world, self.world.another_engine())

    def configure(self, **options):
        """Change options of [leases], as another start of a process does."""
        for name, value in options.items():
            self.engine.conf.set_override(name, value, 'leases')
        self.engine.__post_init__()

    def limit(self, hosts):
        """Limit how many hosts a project may have at once."""
        self.configure(project_limits=True, max_hosts_per_project=hosts)

    def listen(self):
        """Return the list of what is told of leases: which, and why."""
        told = []
        world.hear(self.engine, notify_lease=(
            lambda event, lease, reason=None: told.append((lease.id, reason))))
        return told

    def listen_to_all(self):
        """Return the list of all that is told: what, of which, and why."""
        told = []

        def note(event, what, reason=None):
            told.append((event, getattr(what, 'uuid', None) or what.id,
                         reason))
        world.hear(self.engine, notify=note, notify_lease=note)
        return told

    def gold_and_silver(self, gold=1):
        """Open hosts of gold and one of silver; return a wish for each."""
        wishes = []
        for name, count in (('gold', gold), ('silver', 1)):
            self.leasing.hosts(count, resource_class=name)
            wishes.append(leasing.wish_of(name))
        return wishes

    def home(self, lease):
        """Return the only node that a lease has."""
        (node,) = self.leasing.nodes(lease)
        return node

    def promised(self, hosts=2):
        """Return a lease from 1 to 3 and its node; others may be free."""
        self.leasing.hosts(hosts)
        lease = self.leasing.create(1, 3)
        return lease, self.home(lease)

    def statements(self, engine=None):
        """Note what is sent to the database meanwhile, and with what."""
        return self.world.statements(engine or self.engine)

    def refuse(self, lease, **changes):
        """Return the refusal of a change that there is no room for."""
        return self.assertRaises(errors.LeaseRefused, self.leasing.change,
                                 lease, **changes)

    def unavailable(self, *nodes, **ask):
        """Return the reasons for which no node can be reserved."""
        return self.assertRaises(
            errors.NoNodeAvailable, self.world.reserve, *nodes,
            **ask).details['reasons']

    def codes(self, *nodes, **ask):
        """Return the codes of those reasons."""
        return [reason['code'] for reason in self.unavailable(*nodes, **ask)]

    def code(self, refusal):
        """Return the code of the first reason of a refusal."""
        return refusal.details['reasons'][0]['code']

    def assert_sound(self, there=None):
        """Assert that no host is promised twice, nor anything outdated.

        So does the end of each test.
        """
        there = there or self.leasing
        self.assertEqual([], there.overlaps())
        self.assertEqual([], there.overfull())
        self.assertEqual({}, there.stale())

    def offer(self, refusal, kind):
        """Return the only offer of a kind."""
        (offer,) = (each for each in refusal.details['offers']
                    if each['kind'] == kind)
        return offer

    @contextlib.contextmanager
    def unchanged(self):
        """Assert that no row changes meanwhile."""
        before = leasing.tables_as_text(self.world)
        yield
        self.assertEqual(before, leasing.tables_as_text(self.world))

    def assert_refused(self, error, lease, **changes):
        """Assert that a change is refused, and changes nothing."""
        with self.unchanged():
            return self.assertRaises(error, self.leasing.change, lease,
                                     **changes)

    def windows(self, lease):
        """Return from when until when a lease has its hosts."""
        return {(booking.starts_at, booking.ends_at)
                for booking in self.leasing.reload(lease).bookings}
