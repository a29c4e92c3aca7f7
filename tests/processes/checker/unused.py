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


"""From when on a node that a lease does not use may be released."""

from __future__ import annotations

import math

from tests.processes.checker import history


class Unused:
    """What may become of the nodes of leases that nobody deploys."""

    def __init__(self, told: history.History) -> None:
        self._classes: dict[str, set[str]] = {
            node: {name} for node, name in told.classes.items()}
        self._no_show = told.no_show
        # NOTE: when a proof has surely deployed a node.
        self._used: dict[tuple[str, str], float] = {}
        for each in told.exchanges:
            node = each.path.split('/')[3] if each.path.startswith(
                '/v1/nodes/') else ''
            if each.op == 'deploy' and each.status == 202 and each.proof:
                self._used.setdefault((node, each.proof), each.got)
            elif each.op in ('reclass', 'operate-enroll') and isinstance(
                    each.body, list):
                self._classes.setdefault(node, set()).update(
                    item['value'] for item in each.body
                    if item['path'] == '/resource_class')

    def soonest(self) -> float:
        """Return after how many seconds any node may be released."""
        return min(self._no_show.values(), default=math.inf)

    def kept_until(self, node: str, proof: str, start: float,
                   seen: float) -> float:
        """Return until when a lease surely keeps a node that it has.

        :param start: of the lease.
        :param seen: when it was seen to have the node.
        """
        if self._used.get((node, proof), math.inf) <= seen:
            return math.inf
        return start + min((self._no_show[name] for name
                            in self._classes.get(node, ())
                            if name in self._no_show), default=math.inf)
