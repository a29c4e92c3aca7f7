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

"""Leases, hosts and what is free, through openstacksdk.

Each function takes a connection and uses its bare metal service::

    conn = openstack.connect(cloud='metal')
    made = leases.lease(conn, 'training', end, [lease_payload.hosts(4)])
    leases.end(conn, made)
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from urllib import parse

from openstack import connection
from openstack import utils
import requests

from ironic_reservations_client import calendar as client_calendar
from ironic_reservations_client import lease_payload
from ironic_reservations_client import payload
from ironic_reservations_client import times
from ironic_reservations_client.sdk import transport
from ironic_reservations_client.sdk.lease import Host
from ironic_reservations_client.sdk.lease import Lease

__all__ = ['Host', 'Lease', 'availability', 'calendar', 'change',
           'change_host', 'close_host', 'end', 'get', 'get_host', 'hosts',
           'lease', 'leases', 'open_host', 'post']


def lease(conn: connection.Connection, name: str,
          end: times.Instant | str, reservations: Iterable[Mapping[str, Any]],
          start: times.Instant | str = times.NOW,
          before_end: times.Instant | str | None = None,
          dry_run: bool = False, key: str | None = None) -> Lease:
    """Ask for a lease.

    :param conn: a connection.
    :param name: what people call it.
    :param end: when it ends; in UTC where it names no zone.
    :param reservations: what it holds, all or nothing; each as
        ``lease_payload.hosts`` gives it.
    :param start: when it starts.
    :param before_end: when to tell that the end is near.
    :param dry_run: only tell whether and how it could be had.
    :param key: a name for the request: sent twice, it is served once.
    :raises Conflict: it cannot be had; ``reasons`` say why, and ``offers``
        have what would be accepted.
    """
    return post(conn, lease_payload.creation(
        name, end, reservations, start, before_end), dry_run, key)


def post(conn: connection.Connection, body: Mapping[str, Any],
         dry_run: bool = False, key: str | None = None) -> Lease:
    """Ask for a lease in the words of the API, such as those of an offer.

    :param conn: a connection.
    :param body: of the request; for one, ``refused.offers[0]['lease']``.
    :param dry_run: only tell whether and how it could be had.
    :param key: as for ``lease``.
    :raises Conflict: as for ``lease``.
    """
    return _read(transport.request(
        conn, 'POST', Lease.base_path, of_leases=True, json=dict(body),
        **payload.once(key, dry_run)))


def leases(conn: connection.Connection,
           project: str | None = None) -> list[Lease]:
    """List the leases that the caller may see, the oldest first.

    :param conn: a connection.
    :param project: only those of this project.
    """
    query = {} if project is None else {'project': project}
    return transport.ask_of_leases(
        conn, lambda proxy: list(Lease.list(proxy, **query)))


def get(conn: connection.Connection, lease: str | Lease) -> Lease:
    """Get one lease.

    :param conn: a connection.
    :param lease: its id, or a lease to look at again.
    :raises NotFound: no lease of that id is visible.
    """
    wanted = Lease.new(id=transport.ident(lease))
    return transport.ask_of_leases(conn, lambda proxy: wanted.fetch(proxy))


def change(conn: connection.Connection, lease: str | Lease, *,
           dry_run: bool = False, key: str | None = None,
           **changes: Any) -> Lease:
    """Extend, shorten, move, grow, shrink, give back, heal or rename.

    It is done as a whole, or nothing changes.

    :param conn: a connection.
    :param lease: the lease, or its id.
    :param dry_run: only tell whether and how it could be done.
    :param key: as for ``lease``.
    :param changes: as for ``lease_payload.change``: ``name``, ``start``,
        ``end``, ``before_end``, ``reservations``, ``heal``, ``between``,
        ``duration``, ``fix_before``.
    :raises Conflict: it cannot be done; ``reasons`` say why.
    """
    return _read(transport.request(
        conn, 'PUT', utils.urljoin(Lease.base_path, transport.ident(lease)),
        of_leases=True, json=lease_payload.change(**changes),
        **payload.once(key, dry_run)))


def end(conn: connection.Connection, lease: str | Lease) -> None:
    """End a lease at once, or take it back before it starts.

    :param conn: a connection.
    :param lease: the lease, or its id.
    :raises NotFound: no lease of that id is visible.
    """
    wanted = Lease.new(id=transport.ident(lease))
    transport.ask_of_leases(conn, lambda proxy: wanted.delete(proxy))


def availability(conn: connection.Connection, **asked: Any
                 ) -> dict[str, Any]:
    """Count the free hosts, and find the earliest start.

    :param conn: a connection.
    :param asked: as for ``lease_payload.look``: ``start``, ``end``,
        ``resource_class``, ``traits`` and ``conditions`` select; ``hosts``
        and ``duration``, in seconds, ask for the earliest start, and
        ``slots`` for so many within the window (since 1.7).
    :returns: ``classes``, each with its ``spans``, ``earliest``, and
        ``slots`` if they were asked for.
    :raises ValueError: a condition cannot be read, or one of ``hosts`` and
        ``duration`` comes without the other, or ``slots`` without both.
    """
    found: dict[str, Any] = transport.request(
        conn, 'GET', '/availability', of_leases=True,
        params=lease_payload.look(**asked)).json()['availability']
    return found


def calendar(conn: connection.Connection,
             start: times.Instant | str | None = None,
             end: times.Instant | str | None = None,
             resource_classes: Iterable[str] = (),
             rows: bool = False) -> dict[str, Any]:
    """Return when how many hosts are free, and who has which one when.

    :param conn: a connection.
    :param start: of the window; by default the hour that it is.
    :param end: of the window; by default 30 days after its start.
    :param resource_classes: only these; by default all.
    :param rows: whether the hosts are wanted, with what each is promised to.
    :raises NotFound: the service is older than version 1.7 of the API.
    """
    whole: dict[str, Any] = transport.request(
        conn, 'GET', '/calendar', params=client_calendar.query_of(
            start, end, resource_classes, rows)).json()['calendar']
    following = client_calendar.next_page(whole)
    while following:
        page = transport.request(
            conn, 'GET', following.removeprefix('/v1')).json()['calendar']
        client_calendar.add_page(whole, page)
        following = client_calendar.next_page(page)
    return whole


def hosts(conn: connection.Connection) -> list[Host]:
    """List all hosts.

    :param conn: a connection.
    """
    return transport.ask_of_leases(conn, lambda proxy: list(Host.list(proxy)))


def get_host(conn: connection.Connection, host: str | Host) -> Host:
    """Get one host.

    :param conn: a connection.
    :param host: its id, or the name or the UUID of its node; or a host to
        look at again.
    :raises NotFound: there is none.
    """
    wanted = Host.new(id=transport.ident(host))
    return transport.ask_of_leases(conn, lambda proxy: wanted.fetch(proxy))


def open_host(conn: connection.Connection, name: str,
              capabilities: Mapping[str, str] | None = None) -> Host:
    """Open a node to leases.

    :param conn: a connection.
    :param name: of the node, or its UUID.
    :param capabilities: what to say of it, for leases to ask for.
    :raises NotFound: Ironic has no such node.
    :raises Conflict: it is a host already.
    """
    return _host(transport.request(
        conn, 'POST', Host.base_path, of_leases=True,
        json={**(capabilities or {}), 'name': name}))


def change_host(conn: connection.Connection, host: str | Host,
                reservable: bool | None = None,
                capabilities: Mapping[str, str | None] | None = None
                ) -> Host:
    """Change properties of a host, or close it to new leases.

    :param conn: a connection.
    :param host: the host, its id, or the name or the UUID of its node.
    :param reservable: whether leases may get it.
    :param capabilities: what to say of it; ``None`` takes one back.
    :raises NotFound: there is none.
    """
    body: dict[str, Any] = dict(capabilities or {})
    if reservable is not None:
        body['reservable'] = reservable
    path = utils.urljoin(Host.base_path, parse.quote(transport.ident(host),
                                                     safe=''))
    return _host(transport.request(conn, 'PUT', path, of_leases=True,
                                   json=body))


def close_host(conn: connection.Connection, host: str | Host) -> None:
    """Take a host back from leases.

    :param conn: a connection.
    :param host: the host, its id, or the name or the UUID of its node.
    :raises NotFound: there is none.
    :raises Conflict: leases have been promised it.
    """
    wanted = Host.new(id=transport.ident(host))
    transport.ask_of_leases(conn, lambda proxy: wanted.delete(proxy))


def _host(response: requests.Response) -> Host:
    found = Host.new()
    found._translate_response(response)
    return found


def _read(response: requests.Response) -> Lease:
    found = Lease.new(moves=response.json().get('moves'))
    found._translate_response(response)
    return found
