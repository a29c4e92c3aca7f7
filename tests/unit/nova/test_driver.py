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

"""The driver of plugins/nova, with a service that gives prepared answers."""

from __future__ import annotations

from tests import nova_child


@nova_child.mirrors('tests.unit.nova.driver_cases')
class DriverTest(nova_child.ChildTestCase):
    """In a process with Nova."""
