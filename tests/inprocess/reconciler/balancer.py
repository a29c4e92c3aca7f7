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


"""A balancer in front of Ironic that delivers late."""

from ironic_reservations import errors


class Balancer:
    """Keeps requests that their client has given up, and delivers them.

    :ivar holding: whether it does, instead of passing them on.
    :ivar only: how the paths begin for which it does.
    """

    def __init__(self, transport):
        self._transport = transport
        self.holding = False
        self.only: tuple[str, ...] = ('/',)
        self._held = []

    def send(self, method, path, headers, body=None):
        if method == 'GET' or not self.holding or (
                not path.startswith(self.only)):
            return self._transport.send(method, path, headers, body)
        self._held.append((method, path, headers, body))
        raise errors.IronicUnavailable('There was no answer in time.')

    def deliver(self):
        """Deliver all of it, and return the statuses."""
        held, self._held = self._held, []
        return [self._transport.send(*each)[0] for each in held]
