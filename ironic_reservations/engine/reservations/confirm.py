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

"""Confirm with Ironic the facts that a pick depends on."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import reasons
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick

#: Up to this number, nodes are read one by one; more are read as a list.
_ONE_BY_ONE = 8
#: Reasons from our own rows, which need no confirmation.
_OURS = (reasons.RESERVED, reasons.LEASED, reasons.PROMISED,
         reasons.RESERVATION_REQUIRED, reasons.BUSY, *reasons.OF_PLACEMENT)


class Confirmed:
    """Reads nodes from Ironic, each of them once.

    The answers of Ironic are newer than the snapshot and stay valid: a guarded
    request in between increments the generation of the node, so that the
    commit on this snapshot fails.

    :param observer: a client of Ironic with the caller's credentials;
        ``None``: the mirror is trusted.
    :param one_by_one: the number of nodes to read before a list.
    :ivar failed: the error of a node that Ironic has failed to show, and that
        is left out; it may be free.
    """

    def __init__(self, observer: ironic_client.Ironic | None,
                 one_by_one: int = _ONE_BY_ONE) -> None:
        self._observer = observer
        self._one_by_one = one_by_one
        self._asked: set[str] = set()
        self.failed: errors.IronicUnavailable | None = None
        self._last_failed = False

    def outcome(self, request: pick.NodeRequest, snapshot: pick.Snapshot,
                sees: visibility.Visibility
                ) -> tuple[pick.Picked | pick.Refused, pick.Snapshot]:
        """Pick a node, and confirm with Ironic the facts behind the result.

        :returns: a node as Ironic shows it, with the generation of its row
            (0 if it has none), or the reasons for a refusal; and the snapshot
            with the answers of Ironic.
        """
        while True:
            outcome = pick.pick(request, snapshot, sees)
            doubtful = [uuid for uuid in _rests_on(outcome)
                        if uuid not in self._asked]
            if not doubtful or self._observer is None:
                return outcome, snapshot
            if len(self._asked) + len(doubtful) > self._one_by_one:
                # The mirror seems to be outdated, and reading the nodes one by
                # one would take too long.
                doubtful = [
                    uuid for uuid in request.node_uuids or snapshot.nodes
                    if uuid not in self._asked
                ]
            snapshot = self._confirmed(
                snapshot, doubtful, bool(request.traits or request.forbidden))

    def at(self, snapshot: pick.Snapshot, uuid: str) -> pick.Snapshot:
        """Return the snapshot with one node confirmed."""
        if self._observer is None or uuid in self._asked:
            return snapshot
        return self._confirmed(snapshot, [uuid])

    def _confirmed(self, snapshot: pick.Snapshot, uuids: Collection[str],
                   with_traits: bool = True) -> pick.Snapshot:
        nodes = dict(snapshot.nodes)
        for uuid, node in self._read(snapshot, uuids, with_traits).items():
            self._asked.add(uuid)
            known = snapshot.nodes.get(uuid)
            if node is None:
                nodes.pop(uuid, None)
                continue
            nodes[uuid] = dataclasses.replace(
                node, generation=known.generation if known else 0)
        return dataclasses.replace(snapshot, nodes=nodes)

    def _read(self, snapshot: pick.Snapshot, uuids: Collection[str],
              with_traits: bool) -> dict[str, mirrored_node.Node | None]:
        assert self._observer is not None
        if len(uuids) <= _ONE_BY_ONE:
            # A node that is not mirrored yet is stored with its traits.
            mirrored = {uuid for uuid in uuids if uuid in snapshot.nodes
                        and snapshot.nodes[uuid].generation}
            return {uuid: self._shown(
                self._observer, uuid, with_traits or uuid not in mirrored)
                for uuid in uuids}
        there = {node.uuid: node for node in self._observer.nodes()}
        return {uuid: there.get(uuid) for uuid in uuids}

    def _shown(self, observer: ironic_client.Ironic, uuid: str,
               with_traits: bool) -> mirrored_node.Node | None:
        """Return a node, or ``None`` if Ironic does not show it.

        :raises IronicUnavailable: two in a row failed, so Ironic seems to be
            down.
        """
        try:
            node = observer.confirm(uuid, with_traits)
        except errors.IronicUnavailable as exc:
            if self._last_failed:
                raise
            self._last_failed, self.failed = True, exc
            return None
        self._last_failed = False
        return node


def _rests_on(outcome: pick.Picked | pick.Refused) -> list[str]:
    if isinstance(outcome, pick.Picked):
        skipped, last = outcome.skipped, [outcome.node.uuid]
    else:
        skipped, last = outcome.reasons, []
    return [reason.node_uuid for reason in skipped
            if reason.code not in _OURS] + last
