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

"""The HTTP server of ``ironic-reservations-api``."""

from __future__ import annotations

from typing import Any

from cheroot import server as cheroot_server
from cheroot import wsgi as cheroot_wsgi

# cheroot takes the last of two lengths, and a proxy may have taken the first.
# Joined, they are no number.
cheroot_server.comma_separated_headers.append(b'Content-Length')


class Server(cheroot_wsgi.Server):
    """Passes a connection to a thread once its client has sent data.

    cheroot passes a new connection to a thread at once, so as many silent
    connections as there are threads would block the service.
    """

    def process_conn(self, conn: Any) -> None:
        """Serve a connection, or wait until it has a request.

        :param conn: a new connection, or one with a request to read.
        """
        if getattr(conn, 'awaited', False):
            super().process_conn(conn)
            return
        conn.awaited = True
        self._connections.put(conn)
