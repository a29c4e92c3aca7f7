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

"""Mirrors compute hosts that may have changed in Placement."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime

from oslo_log import log

from ironic_reservations.clouds import placement
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import Engine
from ironic_reservations.engine import mirror
from ironic_reservations.features.placement import compute_hosts
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition

LOG = log.getLogger(__name__)

#: The generation of a provider, its usage, and whether it is down.
_Version = tuple[int, Mapping[str, int] | None, bool]


@dataclasses.dataclass(frozen=True)
class _Seen:
    """The state of a compute host when it was last read.

    :ivar node: the host as it was written to the mirror.
    """

    version: _Version
    node: mirrored_node.Node


class ComputeMirror:
    """Mirrors compute hosts, and skips those without a change.

    :param engine: an engine with a client for Placement.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._seen: dict[str, _Seen] = {}
        #: The hosts that were down at the last pass, without an outage.
        self._suspected: frozenset[str] = frozenset()
        self._outage_since: datetime.datetime | None = None

    def refresh(self) -> None:
        """Read the hosts that have changed."""
        with self._engine.database.read() as connection:
            known = db_nodes.read_compute_hosts(connection)
        if not known:
            self._seen.clear()
            return
        there = {provider.uuid: provider for provider
                 in hold_calls.client(self._engine).providers()}
        if not there:
            LOG.error('Placement shows no providers at all, and %d compute '
                      'hosts are known, so none of them is forgotten. Check '
                      'the user of [placement].', len(known))
            return
        used = compute_hosts.usages(self._engine, known.keys() & there.keys())
        down = self._down(known)
        versions: dict[str, _Version] = {
            uuid: (there[uuid].generation, used.get(uuid), uuid in down)
            for uuid in known if uuid in there}
        # A host that changes while it is read is read again next time.
        found = refresh(self._engine, [
            uuid for uuid, node in known.items()
            if not self._unchanged(node, versions.get(uuid))], there, down)
        for uuid in self._seen.keys() - versions.keys():
            del self._seen[uuid]
        self._seen.update({
            uuid: _Seen(versions[uuid], node)
            for uuid, node in found.items() if uuid in versions})

    def _down(self, known: Mapping[str, mirrored_node.Node]
              ) -> frozenset[str]:
        """Return the hosts that count as down or disabled.

        A service counts as down at the second pass that finds it down, since
        services that an outage stops do not stop at the same moment.
        """
        before = frozenset(uuid for uuid, node in known.items()
                           if _was_down(node))
        said = compute_hosts.services(self._engine, known.keys())
        if said is None:
            return before
        now = self._engine.clock()
        self._outage_since = (self._outage_since or now if said.outage
                              else None)
        if self._outage_since is not None:
            grace = datetime.timedelta(
                seconds=self._engine.conf.nova.outage_grace)
            until = self._outage_since + grace
            if now < until:
                LOG.error(
                    'Nova says that the services of %d of %d compute hosts '
                    'are down. The reason may be one that they share, such as '
                    'RabbitMQ, so none more counts as down before %s',
                    len(said.down), len(known), until)
                self._suspected = frozenset()
                return said.disabled | said.down & before
        suspected, self._suspected = self._suspected, said.down
        return said.disabled | said.down & (suspected | before)

    def _unchanged(self, known: mirrored_node.Node,
                   version: _Version | None) -> bool:
        seen = self._seen.get(known.uuid)
        return (seen is not None and seen.version == version
                and dataclasses.replace(seen.node, generation=known.generation
                                        ) == known)


def refresh(engine: Engine, uuids: Collection[str],
            providers: Mapping[str, placement.Provider] | None = None,
            down: Collection[str] | None = None
            ) -> dict[str, mirrored_node.Node]:
    """Read some compute hosts, and write the changed ones.

    :param providers: all providers, if they are known.
    :param down: the hosts whose nova-compute is down or disabled, if known.
    :returns: the hosts by uuid.
    """
    asked_at = engine.clock()
    with engine.database.read() as connection:
        known = db_nodes.read_nodes(connection, uuids)
    if down is None:
        down = _closed(engine, known.values())
    found = {uuid: _read(engine, node, providers, uuid in down)
             for uuid, node in known.items() if node.compute}
    for uuid in mirror.write_known(engine, known, found.values(), known,
                                   asked_at):
        LOG.info('Compute host %s has changed', known[uuid].name or uuid)
    return found


def refresh_hosts(engine: Engine, nodes: Iterable[mirrored_node.Node],
                  whole: bool = False) -> bool:
    """Read compute hosts that have just been disabled, or have gone down.

    :param nodes: as they are mirrored.
    :param whole: whether to read all of them.
    :returns: whether any was read.
    """
    if whole:
        return bool(refresh(engine, [node.uuid for node in nodes]))
    closed = _closed(engine, (node for node in nodes if not node.maintenance))
    if closed:
        refresh(engine, closed, down=closed)
    return bool(closed)


def _closed(engine: Engine, nodes: Iterable[mirrored_node.Node]) -> set[str]:
    """Return the compute hosts that are down or disabled now.

    In an outage, only hosts that were down before it count as down.
    """
    asked = [node for node in nodes if node.compute]
    before = {node.uuid for node in asked if _was_down(node)}
    said = {node.uuid: compute_hosts.is_unusable(engine, node.uuid)
            for node in asked}
    closed = {uuid for uuid, each in said.items()
              if each or (each is None and uuid in before)}
    if closed - before:
        with engine.database.read() as connection:
            known = db_nodes.read_compute_hosts(connection)
        there = compute_hosts.services(engine, known.keys())
        if there is not None and there.outage:
            closed -= there.down - before
    return closed


def _was_down(known: mirrored_node.Node) -> bool:
    """Return whether a host was down when Nova was last asked.

    While its state is unknown, no lease is moved away or back.
    """
    return known.maintenance and compute_hosts.DISABLED not in known.traits


def _read(engine: Engine, known: mirrored_node.Node,
          providers: Mapping[str, placement.Provider] | None,
          down: bool) -> mirrored_node.Node:
    provider = (hold_calls.client(engine).provider(known.uuid)
                if providers is None else providers.get(known.uuid))
    found = None if provider is None else compute_hosts.read(
        engine, provider, down)
    # It may have bookings, so its row is kept until the host is deleted.
    return found or dataclasses.replace(known,
                                        provision_state=node_condition.GONE)
