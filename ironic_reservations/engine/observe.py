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

"""Checking with Ironic the facts that an answer is about to rest on."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses

from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.planner import facts
from ironic_reservations.planner import pick
from ironic_reservations.planner import reasons

#: Up to so many nodes are asked for one by one, more with one list.
_ONE_BY_ONE = 8
#: What our own rows say needs no confirmation.
_OURS = (reasons.RESERVED, reasons.BUSY)


def confirmed(ask: pick.Ask, snapshot: pick.Snapshot, sees: facts.Visibility,
              observer: ironic_client.Ironic
              ) -> pick.Picked | pick.Refused:
    """Pick, with every fact about Ironic that the pick rests on confirmed.

    NOTE: the snapshot is older than the answers of Ironic.  A guarded
    request that came in between has raised the node's generation, so that
    the commit on this snapshot fails; that is what makes the facts hold.

    :param observer: Ironic through the caller's eyes.
    :returns: a node as Ironic shows it, with the generation of its row (0
        where it has none), or the reasons.
    """
    asked: set[str] = set()
    nodes = dict(snapshot.nodes)
    while True:
        outcome = pick.pick(ask, dataclasses.replace(snapshot, nodes=nodes),
                            sees)
        doubtful = [uuid for uuid in _rests_on(outcome) if uuid not in asked]
        if not doubtful:
            return outcome
        if len(asked) + len(doubtful) > _ONE_BY_ONE:
            # NOTE: a mirror that was wrong so often may be wrong about the
            # rest as well, and a question for each would take for ever.
            doubtful = [uuid for uuid in ask.node_uuids or snapshot.nodes
                        if uuid not in asked]
        for uuid, node in _look(doubtful, observer).items():
            asked.add(uuid)
            known = snapshot.nodes.get(uuid)
            if node is None:
                nodes.pop(uuid, None)
                continue
            nodes[uuid] = dataclasses.replace(
                node, generation=known.generation if known else 0)


def _rests_on(outcome: pick.Picked | pick.Refused) -> list[str]:
    if isinstance(outcome, pick.Picked):
        skipped, last = outcome.skipped, [outcome.node.uuid]
    else:
        skipped, last = outcome.reasons, []
    return [reason.node_uuid for reason in skipped
            if reason.code not in _OURS] + last


def _look(uuids: Collection[str], observer: ironic_client.Ironic
          ) -> dict[str, facts.Node | None]:
    if len(uuids) <= _ONE_BY_ONE:
        return {uuid: observer.node(uuid) for uuid in uuids}
    there = {node.uuid: node for node in observer.nodes()}
    return {uuid: there.get(uuid) for uuid in uuids}
