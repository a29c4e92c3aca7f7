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

"""Mirror the nodes of Ironic, and end reservations that are over."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime
import functools
import logging

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import node_windows as db_windows
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine import seen
from ironic_reservations.engine.reservations import release
from ironic_reservations.lifecycle import lifecycle
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_reservation

LOG = log.getLogger(__name__)

#: The seconds for which the mirror shows a node as taken before its
#: reservation ends.  A request that took effect too late is undone within this
#: time.
TAKEN_FOR = 10.0


@dataclasses.dataclass(frozen=True)
class _Rows:
    """The rows and the generations before Ironic was read.

    Each change names these generations, so that it fails if a reservation or a
    guarded request came in between.
    """

    at: datetime.datetime
    nodes: Mapping[str, mirrored_node.Node]
    reservations: Mapping[str, node_reservation.Reservation]
    busy: Mapping[str, datetime.datetime]
    awaited: frozenset[tuple[str, str, str]]
    hosts: frozenset[str] = frozenset()


def _read_rows(engine: Engine,
               node_uuids: Collection[str] | None = None) -> _Rows:
    now = engine.clock()
    with engine.database.read() as connection:
        return _Rows(
            at=now,
            # Compute hosts are not in Ironic.
            nodes={uuid: node for uuid, node in db_nodes.read_nodes(
                connection, node_uuids).items() if not node.compute},
            reservations=db_host_views.read_unleased(connection,
                                                     node_uuids)[0],
            busy=db_in_flight.read_busy(connection, node_uuids),
            awaited=db_in_flight.read_instances(connection),
            hosts=db_lease_work.read_concerned(connection, node_uuids))


def _ironic(engine: Engine) -> ironic_client.Ironic:
    if engine.ironic is None:
        raise ValueError('there is no Ironic to read nodes from')
    return engine.ironic


def refresh_node(engine: Engine, uuid: str) -> None:
    """Mirror one node, and end its reservation if it is over.

    :raises IronicUnavailable: Ironic does not answer.
    """
    rows = _read_rows(engine, (uuid,))
    node = _ironic(engine).node(uuid)
    _apply(engine, rows, [] if node is None else [node])
    if node is None and uuid in rows.nodes:
        _forget(engine, rows, uuid)


def refresh_changed(engine: Engine) -> None:
    """Mirror the nodes that were updated last, until one is unchanged.

    A change behind a page of nodes that were updated but not changed is found
    by the next :func:`refresh_all`.
    """
    asked_at = engine.clock()
    pages = iter(_ironic(engine).lately_changed())
    while True:
        with engine.database.read() as connection:
            # Before Ironic is asked: a later allocation of the same uuid is
            # not the one that it shows.
            awaited = db_in_flight.read_instances(connection)
        page = next(pages, None)
        if page is None:
            return
        rows = _read_rows(engine, [node.uuid for node in page])
        changed = _write_facts(engine, rows, page, asked_at)
        _close_allocations(engine, awaited, page)
        # These rows are newer than Ironic's answer, so nodes with a
        # reservation, for which the order matters, are read again.
        _each([node.uuid for node in page
               if (held := _unsettled(rows, node)) is not None
               and _judge(engine, held, node) != lifecycle.KEEP],
              functools.partial(refresh_node, engine))
        if not changed:
            return


def follow_awaited(engine: Engine) -> None:
    """Mirror the nodes that were updated last, if a lease waits for a node.

    :raises IronicUnavailable: Ironic does not answer.
    """
    with engine.database.read() as connection:
        awaited = db_lease_work.read_awaited(connection, engine.clock())
    if awaited:
        refresh_changed(engine)


def refresh_all(engine: Engine) -> None:
    """Mirror all nodes, and delete the nodes that Ironic no longer has."""
    rows = _read_rows(engine)
    nodes = list(_ironic(engine).nodes())
    if not nodes and rows.nodes:
        # NOTE: Ironic gives a service user with the wrong scope an empty list.
        LOG.error('Ironic shows no nodes at all, and %d are known, so none of '
                  'them is forgotten. Check that the user of [ironic] has the '
                  'role reader with the scope system.', len(rows.nodes))
        return
    _apply(engine, rows, nodes)
    there = {node.uuid for node in nodes}

    def forget(uuid: str) -> None:
        if _ironic(engine).node(uuid) is None:
            _forget(engine, rows, uuid)
    _each([uuid for uuid in rows.nodes if uuid not in there], forget)


def settle_starting(engine: Engine) -> None:
    """Settle reservations whose proof was used by a process that died."""
    with engine.database.read() as connection:
        starting = db_reservations.read_starting(connection)
        busy = db_in_flight.read_busy(connection, starting)
    _each(starting - busy.keys(), functools.partial(refresh_node, engine))


def _each(uuids: Iterable[str], follow: Callable[[str], None]) -> None:
    """Follow nodes; one that Ironic fails to show keeps no other.

    :raises IronicUnavailable: two in a row failed, so Ironic seems to be down.
    """
    failed = False
    for uuid in uuids:
        try:
            follow(uuid)
        except errors.IronicUnavailable as exc:
            if failed:
                raise
            failed = True
            LOG.warning('Node %s stays as it is known until Ironic shows it '
                        'again: %s', uuid, exc)
        else:
            failed = False


def _apply(engine: Engine, rows: _Rows,
           nodes: Collection[mirrored_node.Node]) -> None:
    _write_facts(engine, rows, nodes, rows.at)
    for node in nodes:
        held = _unsettled(rows, node)
        if held is not None:
            _settle(engine, rows, held, node)
    _close_allocations(engine, rows.awaited, nodes)


def _unsettled(rows: _Rows, node: mirrored_node.Node
               ) -> node_reservation.Reservation | None:
    """Return the live reservation of a node that Ironic's answer can settle.

    If the node had no row when the rows were read, its reservation is newer
    than the answer, and the next pass settles it.
    """
    held = rows.reservations.get(node.uuid)
    if (held is None or not held.live(rows.at) or node.uuid in rows.busy
            or node.uuid not in rows.nodes):
        return None
    return held


def _close_allocations(engine: Engine,
                       awaited: Collection[tuple[str, str, str]],
                       nodes: Collection[mirrored_node.Node]) -> None:
    shown = {(node.uuid, node.instance_uuid) for node in nodes}
    bound = {token for uuid, instance, token in awaited
             if (uuid, instance) in shown}
    if bound:
        with engine.database.write() as connection:
            db_in_flight.delete_settled(connection, bound)


def _write_facts(engine: Engine, rows: _Rows,
                 nodes: Collection[mirrored_node.Node],
                 asked_at: datetime.datetime) -> set[str]:
    known = write_known(engine, rows.nodes, nodes, rows.hosts, asked_at)
    new = [node for node in nodes if node.uuid not in rows.nodes]
    for node in new:
        # After a conflict, another process has mirrored it.
        retry.write_once(engine, functools.partial(
            db_nodes.insert_in_any_case, node=node, now=asked_at))
    return known | {node.uuid for node in new}


def write_known(engine: Engine, before: Mapping[str, mirrored_node.Node],
                nodes: Collection[mirrored_node.Node], hosts: Collection[str],
                asked_at: datetime.datetime) -> set[str]:
    """Write the changes of nodes that are already mirrored.

    :param before: the nodes as in their rows.
    :param hosts: the nodes whose leases become due if they change.  One that
        another project has enrolled again stays gone.
    :returns: the nodes that have changed.
    """
    known, other_traits = [], []
    for node in nodes:
        old = before.get(node.uuid)
        if old is not None and node.enrolled_at is None:
            # Not all reads of Ironic include this field.
            node = dataclasses.replace(node, enrolled_at=(
                _ironic(engine).enrolled_at(node.uuid)
                if node.uuid in hosts and not node.compute
                and (old.provision_state == node_condition.GONE
                     or node.owner not in (None, old.owner))
                else None) or old.enrolled_at)
        if (old is not None and node.uuid in hosts and node.replaces(old)
                and node.owner not in (None, old.owner)):
            # A project may enroll a machine of its own with the uuid of a host
            # that was deleted.
            if old.provision_state != node_condition.GONE:
                LOG.warning('The node %(node)s was enrolled again with the '
                            'owner %(owner)s, so the host is gone until it is '
                            'deleted and opened again.', {
                                'node': node.uuid, 'owner': node.owner})
            node = _gone(old)
        if old is not None and dataclasses.replace(
                node, generation=old.generation) != old:
            if node.replaces(old) and not _write_another(engine, old, node,
                                                         asked_at):
                continue
            known.append(node)
            if node.traits != old.traits:
                other_traits.append(node)
    changed = {node.uuid for node in known}
    if known:
        with engine.database.write() as connection:
            db_nodes.update_facts(connection, known, asked_at)
            db_nodes.replace_traits(connection, other_traits, asked_at)
            db_lease_work.wake(connection, changed & {*hosts},
                               engine.clock())
    return changed


def _write_another(engine: Engine, old: mirrored_node.Node,
                   node: mirrored_node.Node,
                   asked_at: datetime.datetime) -> bool:
    """Record that a node was deleted and enrolled again with the same uuid.

    The new node lacks the values that a lease had written to it, so its leases
    become due and write them again.  Meanwhile the rows still contain these
    values, since a worker may be writing them now, and they have to be removed
    at the end of the lease.

    :returns: whether this was recorded; otherwise the next pass does it.
    """
    now = engine.clock()
    with engine.database.read() as connection:
        there = {booking: (booking.lessee, booking.lessee_before
                           if node.lessee == booking.lessee else node.lessee)
                 for booking, _
                 in db_bookings.read_with_wants(connection, (old.uuid,))
                 if booking.lessee is not None and not booking.ending}
    if not change.carry_out_once(engine, change.Change(
            now, seen.of_nodes([old]), opaque=True,
            statements=[
                functools.partial(db_bookings.update_lessees, lessees=there),
                functools.partial(db_nodes.update_facts, nodes=[node],
                                  now=asked_at, replaced=True),
                functools.partial(db_lease_work.wake, node_uuids=(old.uuid,),
                                  now=now)])):
        LOG.debug('The bookings of node %s have changed meanwhile; the next '
                  'pass looks again', old.uuid)
        return False
    LOG.warning('Node %s was deleted and enrolled again%s', old.uuid,
                ' while it was leased; its lessee is written again'
                if there else '')
    return True


def _judge(engine: Engine, held: node_reservation.Reservation,
           node: mirrored_node.Node) -> lifecycle.Verdict:
    return lifecycle.judge(held, node,
                           engine.conf.reservations.end_on_maintenance)


def _settle(engine: Engine, rows: _Rows, held: node_reservation.Reservation,
            node: mirrored_node.Node) -> None:
    verdict = _judge(engine, held, node)
    if (verdict.end is lifecycle.End.NODE_TAKEN
            and not _stays_taken(engine, node, rows.at)):
        return
    generation = rows.nodes[held.node_uuid].generation
    if verdict.end is not None:
        _end(engine, held, generation, verdict.end)
    elif verdict.state is not None:
        now = engine.clock()
        if not change.carry_out_once(engine, change.Change(
                now, seen.Seen({held.node_uuid: generation}),
                [change.Write(held, dataclasses.replace(
                    held, state=verdict.state, updated_at=now),
                    change.Cause.SEEN_USED)])):
            LOG.debug('The bookings of node %s have changed meanwhile; the '
                      'next pass looks again', held.node_uuid)


def _stays_taken(engine: Engine, node: mirrored_node.Node,
                 at: datetime.datetime) -> bool:
    """Return whether the state of a node has not changed for some time.

    A process whose request took effect too late may be about to undo it for
    the holder of the reservation, see
    :mod:`~ironic_reservations.engine.in_flight.overtaken`.

    :param at: a time before Ironic was asked.
    """
    with engine.database.read() as connection:
        since = db_nodes.read_state_since(connection, node)
    return since is not None and since + datetime.timedelta(
        seconds=TAKEN_FOR) <= at


def _forget(engine: Engine, rows: _Rows, uuid: str) -> None:
    if uuid in rows.busy:
        return
    if uuid in rows.hosts:
        _forget_host(engine, rows, uuid)
        return
    held = rows.reservations.get(uuid)
    here = seen.of_nodes([rows.nodes[uuid]])
    if not change.carry_out_once(engine, change.Change(
            engine.clock(), here,
            [] if held is None else [change.Write(
                held, None, change.Cause.OVER,
                reason=lifecycle.End.NODE_DELETED)],
            opaque=True, statements=[
                functools.partial(db_windows.delete_of_node, node_uuid=uuid),
                functools.partial(db_nodes.delete_node, uuid=uuid,
                                  generation=here.raised()[uuid])],
            events=[change.NodeGone(uuid, rows.at)])):
        LOG.debug('Node %s has been reserved while it was being forgotten; '
                  'the next pass looks again', uuid)
        return
    LOG.info('Node %s is gone from Ironic', uuid)
    if held is not None:
        _log_end(held, lifecycle.End.NODE_DELETED)


def _forget_host(engine: Engine, rows: _Rows, uuid: str) -> None:
    """Mark a host as gone because Ironic no longer has its node.

    The node may be promised, so its row stays until the host is removed.
    """
    _write_facts(engine, rows, [_gone(rows.nodes[uuid])], rows.at)
    held = rows.reservations.get(uuid)
    if held is not None:
        _end(engine, held, rows.nodes[uuid].generation,
             lifecycle.End.NODE_DELETED)


def _gone(node: mirrored_node.Node) -> mirrored_node.Node:
    return dataclasses.replace(node, provision_state=node_condition.GONE,
                               instance_uuid=None)


def _end(engine: Engine, held: node_reservation.Reservation, generation: int,
         why: lifecycle.End) -> None:
    if release.release_on(engine, held, generation, why):
        _log_end(held, why)


def _log_end(held: node_reservation.Reservation, why: lifecycle.End) -> None:
    # A freed node is the regular end.
    level = (logging.INFO if why is lifecycle.End.NODE_FREED
             else logging.WARNING)
    LOG.log(level, 'The reservation for instance %s on node %s is over: %s',
            held.instance_uuid, held.node_uuid, why)
