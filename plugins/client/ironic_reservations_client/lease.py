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

"""Leases through python-ironicclient."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
import datetime
import itertools
from typing import Any

from ironicclient import exc

from ironic_reservations_client import lease_payload
from ironic_reservations_client import payload
from ironic_reservations_client import resource
from ironic_reservations_client import resources
from ironic_reservations_client import times
from ironic_reservations_client import waiting

_POLL = 1.0
#: The service ends a lease that ends now a second later, and clocks differ.
_AT_ONCE = datetime.timedelta(seconds=10)


class Lease(resource.Resource):
    """A named window, and the hosts that are promised in it.

    Its attributes are those of the API: ``id``, ``name``, ``start_date``,
    ``end_date``, ``status``, ``reservations``, ``events`` and so on; the
    answer to a dry run also has ``moves``, the leases that make room (since
    1.15).
    """

    describes = resources.LEASE

    @property
    def node_uuids(self) -> list[str]:
        """The nodes that are promised, by their UUIDs."""
        return [node['uuid'] for reservation in self.reservations
                for node in reservation['nodes']]


class LeaseManager(resource.Collection[Lease]):
    """The operations on leases."""

    resource_class = Lease

    def create(self, name: str, end: times.Instant | str | None,
               reservations: Iterable[Mapping[str, Any]],
               start: times.Instant | str = times.NOW,
               before_end: times.Instant | str | None = None,
               dry_run: bool = False, key: str | None = None,
               duration: int | None = None) -> Lease:
        """Request a lease.

        :param name: the name of the lease, for people.
        :param end: the end, in UTC if it has no zone; ``None`` with a
            duration.
        :param reservations: the hosts or instances, all or nothing; each as
            ``lease_payload.hosts`` returns it.
        :param start: the start.
        :param before_end: the time of the notification that the end is near.
        :param dry_run: whether to plan the lease without creating it.
        :param key: the idempotency key: a request that is sent twice is
            carried out once. The default is a new key, which protects the
            retries of this call.
        :param duration: the duration in seconds, instead of the end.
        :raises Conflict: the lease is refused; ``reasons`` has the obstacles,
            and ``offers`` has requests that would be accepted.
        """
        return self.post(lease_payload.creation(
            name, end, reservations, start, before_end, duration), dry_run,
            key)

    def post(self, body: Mapping[str, Any], dry_run: bool = False,
             key: str | None = None) -> Lease:
        """Request a lease with a body of the API, such as the one of an offer.

        :param body: the body of the request, such as
            ``refused.offers[0]['lease']``.
        :param dry_run: whether to plan the lease without creating it.
        :param key: as for ``create``.
        :raises Conflict: as for ``create``.
        """
        return self._ask('POST', self._path(), body=dict(body),
                         **payload.once(key, dry_run))

    def list(self, project: str | None = None, limit: int | None = None,
             marker: str | None = None, **chosen: Any
             ) -> builtins.list[Lease]:
        """List the leases that the caller may see, the oldest first.

        :param project: the project; by default the leases that the caller may
            see.
        :param limit: the maximum number of leases; all by default.
        :param marker: the id of the last lease of the previous page.
        :param chosen: filters, which a manager with a version below 1.27 does
            not have: ``name``; ``statuses``; ``node``, the UUID of a node that
            they have; ``since``, the time after which they end; ``until``, the
            time before which they start.
        """
        asked = resources.LEASE_FILTER.body(**chosen)
        statuses = [each.upper() for each in asked.pop('status', ())]
        return self._list(
            {'project': project, 'marker': marker, 'limit': limit or None,
             **asked, 'status': ','.join(statuses) or None}, limit)

    def find(self, ident: str) -> Lease:
        """Get one lease by its id or by its name.

        :param ident: the id or the name.
        :raises NotFound: no lease with that id or name is visible.
        :raises ironicclient.exc.CommandError: several leases have that name.
        """
        return self._find(
            ident, lambda: self.list(name=ident), over, 'lease',
            ' that you may see. "reservation lease list" lists your leases.')

    def change(self, lease_id: str, *, dry_run: bool = False,
               key: str | None = None, **changes: Any) -> Lease:
        """Extend, shorten, move, grow, shrink, heal or rename a lease.

        All changes are made, or none of them.

        :param lease_id: its id.
        :param dry_run: whether to plan the change without making it.
        :param key: as for ``create``.
        :param changes: as for ``lease_payload.change``: ``name``, ``start``,
            ``end``, ``before_end``, ``reservations``, ``heal``, ``between``,
            ``duration``, ``fix_before``.
        :raises Conflict: the change is refused; ``reasons`` has the obstacles.
        """
        return self.put(lease_id, lease_payload.change(**changes), dry_run,
                        key)

    def put(self, lease_id: str, body: Mapping[str, Any],
            dry_run: bool = False, key: str | None = None) -> Lease:
        """Change a lease with a body of the API, such as the one of an offer.

        :param lease_id: its id.
        :param body: the body of the request, such as
            ``refused.offers[0]['lease']``.
        :param dry_run: whether to plan the change without making it.
        :param key: as for ``create``.
        :raises Conflict: as for ``change``.
        """
        return self._ask('PUT', self._path_of(lease_id), body=dict(body),
                         **payload.once(key, dry_run))

    def wait(self, lease_id: str, timeout: float = 0) -> Lease:
        """Wait until a lease has started, or is over.

        :param lease_id: its id.
        :param timeout: in seconds; 0 waits for ever.
        :raises ironicclient.exc.StateTransitionTimeout: the time is up.
        """
        return self._wait(lease_id, timeout, lambda found: (
            found.status == 'ACTIVE' or over(found)))

    def wait_carried_out(self, lease_id: str, timeout: float = 0) -> Lease:
        """Wait until a lease has exactly the nodes that it should have.

        For a lease that starts later, this returns at once. A lease that has
        started must have all of its nodes, and no nodes that were removed from
        it; a lease that is ending must have ended.

        :param lease_id: its id.
        :param timeout: in seconds; 0 waits for ever.
        :raises ironicclient.exc.StateTransitionTimeout: the time is up.
        """
        return self._wait(lease_id, timeout, _carried_out)

    def wait_ended(self, lease_id: str, timeout: float = 0) -> None:
        """Wait until the nodes of a deleted lease have been released.

        :param lease_id: its id.
        :param timeout: in seconds; 0 waits for ever.
        :raises ironicclient.exc.StateTransitionTimeout: the time is up.
        """
        with contextlib.suppress(exc.NotFound):
            self._wait(lease_id, timeout,
                       lambda found: found.status == 'TERMINATED')

    def _wait(self, lease_id: str, timeout: float,
              done: Callable[[Lease], bool]) -> Lease:
        for _ in waiting.polls(timeout, itertools.repeat(_POLL)):
            found = self.get(lease_id)
            if done(found):
                return found
        raise exc.StateTransitionTimeout(
            f'The lease {lease_id} is still {found.status} after '
            f'{timeout:g} seconds'
            + (f': {found.waiting}' if found.waiting else '.'))


def _carried_out(found: Lease) -> bool:
    now = datetime.datetime.now(datetime.UTC)
    if found.status == 'PENDING':
        return bool(times.parsed(found.start_date) > now)
    if found.status == 'ACTIVE' and times.parsed(
            found.end_date) > now + _AT_ONCE:
        return all(node['state'] == 'bound' for part in found.reservations
                   for node in part['nodes'])
    return found.status in ('TERMINATED', 'ERROR')


def over(lease: Lease) -> bool:
    """Return whether a lease is over."""
    return lease.status in lease_payload.OVER
