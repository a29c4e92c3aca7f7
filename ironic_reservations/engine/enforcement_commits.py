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

"""Telling the operator's enforcement service what has been committed.

What it is to know of a lease is compared with what the lease has become, in
the very transaction that writes the lease.  Where they differ, an entry goes
into the outbox: it is there if and only if the change has been committed, and
its number says which one comes after it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import datetime
import json
from typing import Any
import uuid as uuid_module

from oslo_config import cfg
import sqlalchemy as sa

from ironic_reservations.clouds import enforcement
from ironic_reservations.db import enforcement_terms as db_terms
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine.notices import deliveries
from ironic_reservations.model import leases
from ironic_reservations.model import notices

Kind = notices.CommitKind

#: NOTE: not the URL: what waits is for the service, wherever it is by now.
_TARGET = 'enforcement'
#: Of so many leases one transaction catches up, so that none gets long.
_BATCH = 100


def wanted(conf: cfg.ConfigOpts) -> bool:
    """Return whether the operator has a service that is to be told."""
    return conf.leases.enforcement_commit_url is not None


def write(conf: cfg.ConfigOpts, connection: sa.Connection,
          lease_ids: Collection[str], now: datetime.datetime) -> None:
    """Write what has become of leases, last in the transaction of it.

    Without a service, which is the default, it does nothing.

    :param now: when, by the clock of the database.
    :raises Conflict: another process tells of one of the leases.
    :raises oslo_db.exception.DBDuplicateEntry: the same.
    """
    if not wanted(conf) or not lease_ids:
        return
    # NOTE: in one order, so that two that tell of the same leases do not wait
    # for each other.
    ids = sorted(set(lease_ids))
    known = db_terms.read(connection, ids)
    there = {lease.id: lease for lease in db_leases.read(connection, ids)}
    live = {lease_id: lease for lease_id, lease in there.items()
            if not lease.status.over}
    classes = db_terms.read_classes(connection, {
        booking.node_uuid for lease in live.values()
        for booking in lease.bookings})
    entries = []
    for lease_id in ids:
        before, lease = known.get(lease_id), live.get(lease_id)
        terms = None if lease is None else _terms(lease, classes)
        if terms == (None if before is None else before.terms):
            continue
        owner = before or lease
        assert owner is not None
        after = db_terms.Told(
            lease_id, owner.project_id, owner.user_id,
            1 if before is None else before.sequence + 1, terms or {})
        db_terms.replace(connection, before, None if terms is None else after)
        entries.append(_entry(after, None if before is None else before.terms,
                              terms, there.get(lease_id), now))
    db_outbox.insert(connection, entries)


def _terms(lease: leases.Lease,
           classes: Mapping[str, str]) -> dict[str, Any]:
    """Return what is charged for."""
    hosts: dict[str, int] = {}
    resources: dict[str, int] = {}
    instances = 0
    for each in lease.reservations:
        for booking in each.bookings:
            if booking.state is leases.BookingState.ENDING:
                continue
            if each.instances is None:
                name = classes.get(booking.node_uuid, '')
                hosts[name] = hosts.get(name, 0) + 1
                continue
            instances += 1
            for name, amount in dict(each.instances.need.amounts).items():
                resources[name] = resources.get(name, 0) + amount
    return {'start_date': lease.start.isoformat(),
            'end_date': lease.end.isoformat(), 'hosts': hosts,
            'instances': instances, 'resources': resources}


def _entry(told: db_terms.Told, before: dict[str, Any] | None,
           after: dict[str, Any] | None, lease: leases.Lease | None,
           now: datetime.datetime) -> notices.Notice:
    """Return what is to be told.

    :param lease: as it has become; ``None``: it is gone.
    """
    kind = (Kind.GRANTED if before is None else
            Kind.CHANGED if after is not None else Kind.ENDED)
    ident = str(uuid_module.uuid4())
    ended_at = None
    if after is None and before is not None:
        # NOTE: by the clock it ends at its end, however late that is noticed;
        # that may have changed while nobody told of it.
        end = (datetime.datetime.fromisoformat(before['end_date'])
               if lease is None else lease.end)
        ended_at = min(end, now).isoformat()
    return notices.Notice(
        ident, ident, notices.Channel.ENFORCEMENT, _TARGET, kind,
        told.lease_id, told.project_id, told.user_id, {
            'id': ident, 'type': kind.value.removeprefix('commit_'),
            'sequence': told.sequence, 'timestamp': now.isoformat(),
            'lease_id': told.lease_id, 'project_id': told.project_id,
            'user_id': told.user_id, 'before': before, 'after': after,
            'ended_at': ended_at}, now, sequence=told.sequence)


def catch_up(engine: Engine, goes_on: Callable[[], bool]) -> None:
    """Write of leases that were made or ended while nobody was to know.

    And of those whose dates have changed meanwhile.

    :param goes_on: asked before each transaction.
    :raises Contention: they have been changing all the time.
    :raises OutcomeUnknown: some may have been written; the next pass sees.
    :raises DatabaseUnavailable: the database does not answer.
    """
    with engine.database.read() as connection:
        ids = db_terms.read_unlike(connection, engine.clock())
    for first in range(0, len(ids), _BATCH):
        if not goes_on():
            return
        _catch_up(engine, ids[first:first + _BATCH])


def _catch_up(engine: Engine, lease_ids: Collection[str]) -> None:
    def attempt() -> None:
        with engine.database.write() as connection:
            write(engine.conf, connection, lease_ids, engine.clock())
    # NOTE: what another process tells of meanwhile holds up no other lease.
    retry.until_committed(attempt, repeatable=True)


def deliver(engine: Engine, goes_on: Callable[[], bool]) -> int:
    """Send what waits for the service, until it takes nothing more.

    :param goes_on: asked before each entry.
    :returns: how many entries it has taken.
    :raises DatabaseUnavailable: nothing can be read or written.
    :raises Conflict: another process was quicker.
    """
    return deliveries.deliver(engine, deliveries.Receiver(
        notices.Channel.ENFORCEMENT, _TARGET,
        engine.conf.leases.enforcement_timeout,
        lambda entry, now: enforcement.commit(
            engine.conf, json.dumps(entry.payload).encode())), goes_on)
