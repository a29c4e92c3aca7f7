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

"""Report committed changes of leases to the operator's enforcement service.

The terms of a lease that were reported last are compared with its present
terms in the transaction that writes the lease.  If they differ, an entry is
written to the outbox.  An entry exists if and only if the change was
committed, and the numbers of entries are in the order of the changes.
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

from ironic_reservations.db import histories as db_histories
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine.outbox import deliveries
from ironic_reservations.features.enforcement import client as enforcement
from ironic_reservations.features.enforcement import terms as db_terms
from ironic_reservations.model import leases
from ironic_reservations.model import notices

Kind = notices.CommitKind

#: Without the URL, so waiting entries are sent to a new URL.
_TARGET = 'enforcement'
#: The maximum number of leases that one transaction catches up with.
_BATCH = 100


def wanted(conf: cfg.ConfigOpts) -> bool:
    """Return whether the operator has configured an enforcement service."""
    return conf.leases.enforcement_commit_url is not None


def write(conf: cfg.ConfigOpts, connection: sa.Connection,
          lease_ids: Collection[str], now: datetime.datetime) -> None:
    """Write entries for changed leases, last in the transaction.

    Does nothing if no service is configured, which is the default.

    :param now: the time of the database.
    :raises Conflict: another process reports one of the leases.
    :raises oslo_db.exception.DBDuplicateEntry: as Conflict.
    """
    if not wanted(conf) or not lease_ids:
        return
    # One order for all transactions, so that there is no deadlock.
    ids = sorted(set(lease_ids))
    known = db_terms.read(connection, ids)
    there = {lease.id: lease for lease in db_leases.read(connection, ids)}
    live = {lease_id: lease for lease_id, lease in there.items()
            if not lease.status.over}
    classes = db_nodes.read_classes_of(connection, {
        booking.node_uuid for lease in live.values()
        for booking in lease.bookings})
    history = db_histories.read_number(connection)
    entries = []
    for lease_id in ids:
        before, lease = known.get(lease_id), live.get(lease_id)
        terms = None if lease is None else _terms(lease, classes)
        if terms == (None if before is None else before.terms):
            continue
        owner = before or lease
        assert owner is not None
        after = db_terms.SentTerms(
            lease_id, owner.project_id, owner.user_id,
            1 if before is None else before.sequence + 1, terms or {})
        db_terms.replace(connection, before, None if terms is None else after)
        entries.append(_entry(after, None if before is None else before.terms,
                              terms, there.get(lease_id), now, history))
    db_outbox.insert(connection, entries)


def _terms(lease: leases.Lease,
           classes: Mapping[str, str]) -> dict[str, Any]:
    """Return the terms of a lease on which a charge could depend."""
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


def _entry(sent: db_terms.SentTerms, before: dict[str, Any] | None,
           after: dict[str, Any] | None, lease: leases.Lease | None,
           now: datetime.datetime, history: int) -> notices.Notice:
    """Return the body of an entry."""
    kind = (Kind.GRANTED if before is None else
            Kind.CHANGED if after is not None else Kind.ENDED)
    ident = str(uuid_module.uuid4())
    ended_at = None
    if after is None and before is not None:
        # A lease that ends by itself ends at its end date, even if noticed
        # late.
        end = (datetime.datetime.fromisoformat(before['end_date'])
               if lease is None else lease.end)
        ended_at = min(end, now).isoformat()
    return notices.Notice(
        ident, ident, notices.Channel.ENFORCEMENT, _TARGET, kind,
        sent.lease_id, sent.project_id, sent.user_id, {
            'id': ident, 'type': kind.value.removeprefix('commit_'),
            'history': history, 'sequence': sent.sequence,
            'timestamp': now.isoformat(),
            'lease_id': sent.lease_id, 'project_id': sent.project_id,
            'user_id': sent.user_id, 'before': before, 'after': after,
            'ended_at': ended_at}, now, sequence=sent.sequence)


def catch_up(engine: Engine, continues: Callable[[], bool]) -> None:
    """Write entries for changes made while no service was configured.

    :param continues: called before each transaction; ``False`` ends the pass.
    :raises Contention: the leases have been changing all the time.
    :raises OutcomeUnknown: some entries may have been written; the next pass
        continues.
    """
    with engine.database.read() as connection:
        ids = db_terms.read_unlike(connection, engine.clock())
    for first in range(0, len(ids), _BATCH):
        if not continues():
            return
        _catch_up(engine, ids[first:first + _BATCH])


def _catch_up(engine: Engine, lease_ids: Collection[str]) -> None:
    # A lease that another process reports must not delay the others.
    retry.write(engine, lambda connection: write(
        engine.conf, connection, lease_ids, engine.clock()), repeatable=True)


def deliver(engine: Engine, continues: Callable[[], bool]) -> int:
    """Send waiting entries until the service refuses one or all are sent.

    :param continues: called before each entry; ``False`` ends the pass.
    :returns: the number of entries that the service has accepted.
    :raises Conflict: another process has sent one of them.
    """
    return deliveries.deliver(engine, deliveries.Receiver(
        notices.Channel.ENFORCEMENT, _TARGET,
        engine.conf.leases.enforcement_timeout,
        lambda entry, now: enforcement.commit(
            engine.conf, json.dumps(entry.payload).encode())), continues)
