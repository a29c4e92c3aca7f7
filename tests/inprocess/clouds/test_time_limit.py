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

"""What is left of exchanges that take too long."""

import threading

import testtools

from ironic_reservations.clouds import time_limit


class TestWithin(testtools.TestCase):

    def test_one_thread_at_most_is_left_for_a_receiver(self):
        """Each attempt would leave one, where names cannot be looked up."""
        over = threading.Event()
        begun = []

        def hangs(cut):
            begun.append(cut)
            over.wait(300)
        for _ in range(3):
            self.assertRaises(time_limit.TooLate, time_limit.within, 0.1,
                              'one', hangs)
        self.assertEqual(2, time_limit.within(300, 'another', lambda cut: 2))
        over.set()
        time_limit._left['one'].join(300)
        self.assertEqual(1, len(begun))
        self.assertEqual(3, time_limit.within(300, 'one', lambda cut: 3))
