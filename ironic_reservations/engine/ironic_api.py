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

"""The API of the Ironic that this process works with."""

from __future__ import annotations

from oslo_log import log

from ironic_reservations.clouds import ironic_versions

LOG = log.getLogger(__name__)


class IronicApi:
    """The newest version that Ironic serves.

    :ivar newest: ``None`` until it is known.
    """

    def __init__(self) -> None:
        self.newest: str | None = None

    def see(self, newest: str | None) -> None:
        """Store the version, and log once that it was not reviewed."""
        if newest is None or newest == self.newest:
            return
        self.newest = newest
        if not_reviewed(newest):
            LOG.warning('%s', warning(newest))


def not_reviewed(newest: str) -> bool:
    """Return whether Ironic serves versions that are newer than reviewed."""
    return ironic_versions.minor(newest) > ironic_versions.REVIEWED_MINOR


def warning(newest: str) -> str:
    """Return the warning for the operator of a newer Ironic."""
    return (f'Ironic serves version {newest} of its API, and this release of '
            f'ironic-reservations covers it up to {ironic_versions.REVIEWED}. '
            'The guard refuses new kinds of changes of reserved and leased '
            'nodes. Install a release of ironic-reservations that covers '
            f'{newest}, or see open_routes in [guard].')
