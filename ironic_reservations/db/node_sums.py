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

"""Sums over ``nodes``, by which a process detects that its copy is stale."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses

import sqlalchemy as sa

from ironic_reservations.db import changes
from ironic_reservations.db import histories
from ironic_reservations.db import tables

_n = tables.nodes.c
#: The number of ids in a bucket.
_BUCKET = 64
_c = tables.changes.c
_BUCKET_OF = (_n.id - _n.id % _BUCKET).label('bucket')
# SELECT id DIV 64, COUNT(*), SUM(id), SUM(generation + revision),
#   (SELECT seq FROM changes ORDER BY seq DESC LIMIT 1),
#   (SELECT node_uuid ...), (SELECT generation ...),
#   (SELECT MIN(seq) FROM changes),
#   (SELECT MIN(seq) FROM changes WHERE seq BETWEEN ? AND ?
#     AND node_uuid = ? AND generation = ?),
#   (SELECT generation FROM histories),
#   (SELECT COUNT(*) FROM histories WHERE server <> ...)
#   FROM nodes GROUP BY 1
_SUMS = sa.select(
    _BUCKET_OF, sa.func.count().label('nodes'),
    sa.func.sum(_n.id).label('ids'),
    sa.func.sum(_n.generation + _n.revision).label('versions'),
    *(sa.select(column).order_by(_c.seq.desc()).limit(1).scalar_subquery()
      .label(column.key) for column in (_c.seq, _c.node_uuid, _c.generation)),
    sa.select(sa.func.min(_c.seq)).scalar_subquery().label('oldest'),
    sa.select(sa.func.min(_c.seq)).where(
        _c.seq.between(sa.bindparam('first'), sa.bindparam('last')),
        _c.node_uuid == sa.bindparam('of_uuid'),
        _c.generation == sa.bindparam('written')
    ).scalar_subquery().label('found'),
    histories.GENERATION.label('history'),
    histories.ELSEWHERE.label('elsewhere')
).group_by(_BUCKET_OF)
# SELECT uuid, id, id DIV 64, generation, revision FROM nodes
_VERSIONS = sa.select(_n.uuid, _n.id, _BUCKET_OF, _n.generation, _n.revision)
# The range is for the index.
_VERSIONS_OF = _VERSIONS.where(
    _n.id.between(sa.bindparam('first'), sa.bindparam('last')),
    (_n.id - _n.id % _BUCKET).in_(sa.bindparam('buckets', expanding=True)))


@dataclasses.dataclass(frozen=True)
class Version:
    """The version of a node, by which a change is found.

    :ivar id: the id of the row of the node.
    :ivar bucket: the number of the bucket in which the node is summed up.
    :ivar generation: the generation of the bookings of the node.
    :ivar revision: the revision of the state of the node in Ironic.
    """

    id: int
    bucket: int
    generation: int
    revision: int


@dataclasses.dataclass(frozen=True)
class Sums:
    """Sums that change with each node, and the last row of ``changes``.

    :ivar buckets: three sums for each bucket: the number of nodes, their ids,
        and their generations and revisions, which never fall.
    :ivar last: the change with the highest number; ``None``: there is none.
    :ivar lost: whether the change that should exist is missing, although it
        is too new to be purged.
    :ivar history: the generation of the history.
    :ivar elsewhere: whether another server has written the history.
    """

    buckets: Mapping[int, tuple[int, int, int]]
    last: tuple[int, str | None, int | None] | None = None
    lost: bool = False
    history: int = 0
    elsewhere: bool = False


def read_sums(connection: sa.Connection,
              landmark: changes.Landmark | None = None) -> Sums:
    """Return sums that change with each node.

    :param landmark: a change that should exist.
    """
    rows = connection.execute(_SUMS, {
        'first': landmark.first, 'last': landmark.last,
        'of_uuid': landmark.node_uuid, 'written': landmark.generation
    } if landmark else {
        'first': 0, 'last': 0, 'of_uuid': '', 'written': 0}).all()
    if not rows:
        return Sums({})
    first = rows[0]
    return Sums({int(row.bucket): (int(row.nodes), int(row.ids),
                                   int(row.versions)) for row in rows},
                None if first.seq is None else (
                    first.seq, first.node_uuid, first.generation),
                landmark is not None and first.found is None
                and (first.oldest or 0) <= landmark.known, first.history or 0,
                bool(first.elsewhere))


def read_versions(connection: sa.Connection,
                  buckets: Collection[int] | None = None
                  ) -> dict[str, Version]:
    """Return the versions of nodes, by uuid.

    :param buckets: ``None``: all of them.
    """
    rows = (connection.execute(_VERSIONS) if buckets is None
            else connection.execute(_VERSIONS_OF, {
                'first': min(buckets), 'last': max(buckets) + _BUCKET - 1,
                'buckets': list(buckets)}))
    return {uuid: Version(ident, bucket, generation, revision)
            for uuid, ident, bucket, generation, revision in rows}
