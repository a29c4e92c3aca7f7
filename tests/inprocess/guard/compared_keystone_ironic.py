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

"""The Ironic of :mod:`.keystone_ironic` that confirms in both ways."""

from ironic_reservations.guard import mount
from tests.inprocess.guard import compared_ironic
from tests.inprocess.guard import keystone_ironic


def main() -> None:
    """Serve with the arguments of the service."""
    mount.Mount = compared_ironic.Mount  # type: ignore[misc]
    keystone_ironic.main()
