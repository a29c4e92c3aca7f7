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

"""Hosts and leases at random, and what an oracle makes of both."""

import hypothesis

from ironic_reservations import errors
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.planner import host_sets
from tests import examples
from tests import leasing
from tests import world
from tests.judges import oracle

SETTINGS = hypothesis.settings(
    max_examples=examples.drawn(30),
    suppress_health_check=list(hypothesis.HealthCheck))


def hours(instant):
    """Return the hours from noon."""
    return (instant - world.NOON).total_seconds() / 3600


class Ground:
    """A timeline for one example.

    :ivar nodes: those of the hosts, in their order.
    :ivar classes: theirs, where that is what tells hosts apart.
    """

    def __init__(self, classes=(), **options):
        self.world = world.World(**options)
        self.world.setUp()
        self.leasing = leasing.Leasing(self.world)
        self.engine = self.world.engine
        self.classes = classes
        self.nodes = [self.leasing.hosts(resource_class=name)[0]
                      for name in classes]

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.world.cleanUp()

    def eligible(self, properties):
        """Return the hosts that have the properties, as a mask."""
        return host_sets.mask(
            number for number, name in enumerate(self.classes)
            if properties in ('', leasing.of_class(name)))

    def asked(self, case, ask):
        """Ask for a lease, and return it, or its refusal.

        It is granted if and only if the oracle can serve it, with as many
        hosts as the oracle finds.
        """
        best = oracle.best(case)
        try:
            made = lease_create.create(self.engine, ask)
        except errors.LeaseRefused as exc:
            assert best is None, 'refused, and it could be served'
            assert all(reason['proved'] for reason in exc.details['reasons'])
            self.check()
            return exc
        granted = [len(each.bookings) for each in made.reservations]
        assert best == granted, (best, granted)
        return made

    def check(self):
        """Check that no host is promised twice, nor anything outdated."""
        assert not self.leasing.overlaps()
        assert not self.leasing.stale()

    def accept(self, offers, project_id=leasing.PROJECT):
        """Have each offer accepted as it is."""
        for offer in offers:
            made = lease_create.create(self.engine, leasing.posted(
                offer, self.world.clock(), project_id))
            self.check()
            self.leasing.end(made)
