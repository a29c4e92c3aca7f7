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

"""The calendar agrees with the rows, whatever happens, in two processes.

What has the same tag is the same, whichever process said it and when: so a
client that is told that nothing has changed has what it would be sent.
"""

from unittest import mock

import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st

from ironic_reservations.engine.snapshots import cache
from tests import examples
from tests.inprocess.timeline import calendars
from tests.inprocess.timeline import lease_machine

EXAMPLES = examples.drawn(15)


class Calendars(lease_machine.Leases):
    """Those who look, besides all others."""

    def __init__(self):
        super().__init__()
        self.world.conf.set_override('cleaning_time', 900, 'leases')
        # NOTE: so that nothing is seen a second late.
        self.compared = mock.patch.object(cache, '_COMPARED', -1)
        self.compared.start()
        self.calendars = calendars.Calendars(self.world)
        self.processes = {}
        self.latest = self.world.clock()

    def teardown(self):
        self.compared.stop()
        super().teardown()

    def process(self, engine):
        """Return the application of a process, which may be a new one."""
        there = self.engines[engine]
        if self.processes.get(engine, (None,))[0] is not there:
            self.processes[engine] = (there, calendars.application(there))
        return self.processes[engine][1]

    @stateful.precondition(lambda self: self.promised)
    @stateful.rule(number=lease_machine.Leases.numbers,
                   engine=lease_machine.Leases.served_by,
                   name=st.sampled_from(('one', 'other')))
    def rename(self, number, engine, name):
        self.change(number, engine, name=name)

    @stateful.rule(milliseconds=st.sampled_from((1, 500, 999)))
    def time_passes_a_little(self, milliseconds):
        self.world.clock.now += milliseconds * lease_machine.HOUR / 3_600_000

    @stateful.rule(milliseconds=st.sampled_from((1, 500)))
    def time_is_set_back_a_little(self, milliseconds):
        self.world.clock.set_back(milliseconds / 1000)

    @stateful.invariant()
    def what_is_known_is_what_is_read(self):
        # NOTE: while the time is behind, some of it is known as it was later:
        # what had begun stays begun.
        self.latest = max(self.latest, self.world.clock())
        if self.world.clock() == self.latest:
            super().what_is_known_is_what_is_read()

    @stateful.invariant()
    def calendars_are_as_the_rows(self):
        for engine in (0, 1):
            for viewer in ('operator', 'ours'):
                self.calendars.look(self.process(engine), viewer)


class TestCalendars(Calendars.TestCase):
    """In any order of events."""

    settings = hypothesis.settings(
        max_examples=EXAMPLES, stateful_step_count=25, deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck))


class TestTimeSetBack(Calendars.TestCase):
    """Just after a lease has begun."""

    def runTest(self):
        state = Calendars()
        try:
            state.leasing.create(0, 2)
            state.what_is_known_is_what_is_read()
            state.time_is_set_back_a_little(1)
            state.what_is_known_is_what_is_read()
            state.calendars_are_as_the_rows()
        finally:
            state.teardown()
