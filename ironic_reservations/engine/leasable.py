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

"""Hosts that the configuration opens or closes.

With ``[leases] hosts = all`` each node of Ironic is a host.  It gets a row
after it has been mirrored; if it is closed by name or trait, new leases do not
get it.  All other code reads only the rows of hosts.  This module never
changes values that the operator has set on a host.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import functools

from oslo_config import cfg
from oslo_log import log

from ironic_reservations.db import leasable as db_leasable
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import seen
from ironic_reservations.model import count_text
from ironic_reservations.model import mirrored_node

LOG = log.getLogger(__name__)

ALL = 'all'
#: How many nodes one transaction changes.
_BATCH = 500

#: Returns the nodes whose host rows have to change, all or ``among`` some.
_Read = Callable[..., list[str]]
#: Changes the host rows of nodes, at the time ``now``.
_Write = Callable[..., None]


@dataclasses.dataclass(frozen=True)
class Rules:
    """The rules of the configuration.

    :ivar everything: whether all nodes are hosts.
    :ivar names: names and uuids of nodes that are closed.
    :ivar traits: nodes with one of these traits are closed.
    """

    everything: bool = False
    names: frozenset[str] = frozenset()
    traits: frozenset[str] = frozenset()

    def is_closed(self, node: mirrored_node.Node) -> bool:
        """Return whether a node is closed.

        The equivalent in SQL is ``db.conditions.closed``.
        """
        return not node.compute and (
            node.uuid in self.names or (node.name or '') in self.names
            or not self.traits.isdisjoint(node.traits))

    def is_always_open(self, node: mirrored_node.Node) -> bool:
        """Return whether a node is always a host by the configuration."""
        return (self.everything and not node.compute
                and not node.part_of_node and not self.is_closed(node))


def rules(conf: cfg.ConfigOpts) -> Rules:
    """Return the rules; without ``hosts = all`` there are none."""
    options = conf.leases
    if options.hosts != ALL:
        return Rules()
    return Rules(True, frozenset(filter(None, options.closed_nodes)),
                 frozenset(filter(None, options.closed_traits)))


def sync(engine: Engine) -> None:
    """Make the rows of hosts agree with the configuration.

    The next call handles a node that another transaction is changing now.
    """
    here = rules(engine.conf)
    names, traits = sorted(here.names), sorted(here.traits)
    for excluded, what in ((False, 'no longer closed by configuration'),
                           (True, 'closed by configuration')):
        _change(engine, what,
                functools.partial(db_leasable.read_other, names=names,
                                  traits=traits, excluded=excluded),
                functools.partial(db_leasable.update, excluded=excluded))
    if here.everything:
        _change(engine, 'opened to leases',
                functools.partial(db_leasable.read_unopened, names=names,
                                  traits=traits),
                db_leasable.insert)
        _change(engine, 'gone, and no hosts any more', db_leasable.read_gone,
                lambda connection, uuids, now: db_leasable.delete(connection,
                                                                  uuids))


def _change(engine: Engine, what: str, read: _Read, write: _Write) -> None:
    with engine.database.read() as connection:
        found = read(connection)
    changed = sum(_batch(engine, found[start:start + _BATCH], read, write)
                  for start in range(0, len(found), _BATCH))
    if changed:
        LOG.info('%s: %s ([leases] hosts)',
                 count_text.counted(changed, 'node'), what)


def _batch(engine: Engine, node_uuids: Sequence[str], read: _Read,
           write: _Write) -> int:
    """Change the rows of nodes in one transaction.

    If it fails, each half of the nodes is tried, down to single nodes.

    :returns: the number of changed nodes.
    """
    now = engine.clock()
    with engine.database.read() as connection:
        there = seen.read(connection, node_uuids)
        # The commit names the generations, so they are read first.
        found = read(connection, among=node_uuids)
    if not found:
        return 0
    if change.carry_out_once(engine, change.Change(
            now, there.only(found), opaque=True,
            statements=[lambda connection: write(connection, found,
                                                 now=now)])):
        return len(found)
    if len(node_uuids) == 1:
        LOG.debug('Node %s has changed meanwhile; the next pass looks again',
                  node_uuids[0])
        return 0
    half = len(node_uuids) // 2
    return sum(_batch(engine, part, read, write)
               for part in (node_uuids[:half], node_uuids[half:]))
