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

"""The use cases: read a snapshot, plan, commit; repeat after a conflict."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime

from oslo_config import cfg

from ironic_reservations import clock as clock_module
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.clouds import nova as nova_client
from ironic_reservations.clouds import placement as placement_client
from ironic_reservations.db import claimed_rows
from ironic_reservations.db import clock as db_clock
from ironic_reservations.db import connection
from ironic_reservations.db import lease_parts
from ironic_reservations.db import serialized
from ironic_reservations.engine import announce
from ironic_reservations.engine import audit_trail
from ironic_reservations.engine import default_condition
from ironic_reservations.engine import feature
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine import ironic_api
from ironic_reservations.engine import snapshots as snapshots_module
from ironic_reservations.engine import unfinished
from ironic_reservations.engine.in_flight import pending_outcomes
from ironic_reservations.engine.snapshots import cache
from ironic_reservations.model import limits
from ironic_reservations.model import requirements


@dataclasses.dataclass(frozen=True)
class Engine:
    """The dependencies of all use cases.

    :ivar clock: the time of the database, by which all promises are judged.
    :ivar timer: monotonic seconds, for deadlines of this process.
    :ivar audit: the record of each change and its author.
    :ivar snapshots: the cached snapshot of all hosts.
    :ivar lease_parts: the cache of listed leases.
    :ivar pending_outcomes: outcomes of requests that are not recorded yet.
    :ivar ironic: the client of Ironic; ``None`` for tools that only need the
        mirror.
    :ivar placement: the client of Placement; ``None`` if nodes are not held.
    :ivar nova: the client of Nova; ``None`` if leases get no flavors.
    :ivar unsent: notices that this process has claimed and does not send.
    :ivar hard_requests: the requests that take long to plan, by project.
    :ivar ironic_api: the version of Ironic's API.
    :ivar all_features: all features, in the order in which they are called.
    :ivar features: the features that are on.
    :ivar hooks: the features that are on, by the hooks that they define.
    :ivar limits: what a caller may have at most that is not exempt, by the
        group of options, and whether there are projects.
    """

    conf: cfg.ConfigOpts
    database: connection.Database
    clock: clock_module.Clock
    announcer: announce.Announcer
    audit: audit_trail.AuditTrail
    snapshots: cache.SnapshotCache
    ironic: ironic_client.Ironic | None = None
    placement: placement_client.Placement | None = None
    nova: nova_client.Nova | None = None
    timer: clock_module.Timer = clock_module.elapsed
    lease_parts: lease_parts.KnownParts = dataclasses.field(
        default_factory=lease_parts.KnownParts)
    unsent: unfinished.Unfinished[claimed_rows.Taken] = dataclasses.field(
        default_factory=unfinished.Unfinished)
    pending_outcomes: pending_outcomes.PendingOutcomes = dataclasses.field(
        default_factory=pending_outcomes.PendingOutcomes)
    hard_requests: hard_requests.HardRequests = dataclasses.field(
        default_factory=hard_requests.HardRequests)
    ironic_api: ironic_api.IronicApi = dataclasses.field(
        default_factory=ironic_api.IronicApi)
    all_features: tuple[feature.Feature, ...] = ()
    features: tuple[feature.Feature, ...] = dataclasses.field(init=False)
    hooks: Mapping[str, tuple[feature.Feature, ...]] = dataclasses.field(
        init=False)
    limits: Mapping[tuple[str, bool], limits.Limits] = dataclasses.field(
        init=False)

    def __post_init__(self) -> None:
        # A request then costs no call of a feature that is off, or that has
        # nothing to do with the hook.
        object.__setattr__(self, 'features', tuple(
            each for each in self.all_features if each.is_on(self)))
        object.__setattr__(self, 'hooks', feature.by_hook(self.features))
        object.__setattr__(self, 'limits', {
            (group, projects): feature.first(
                each.allowed(self, group, projects)
                for each in self.hooks['allowed']) or limits.NONE
            for group in limits.GROUPS for projects in (True, False)})

    def snapshot(self, now: datetime.datetime,
                 wanted: Iterable[requirements.Requirement] = (),
                 compared: bool = True) -> snapshots_module.Snapshot:
        """Return all hosts and their promises, as :class:`.SnapshotCache`."""
        return self.snapshots.snapshot(self.database, now, wanted, compared)

    def serialized(self) -> Engine:
        """Return this engine with a database for one thread at a time."""
        return dataclasses.replace(
            self, database=serialized.SerializedDatabase(self.database))


def build(conf: cfg.ConfigOpts,
          ironic: ironic_client.Ironic | None = None,
          clock: clock_module.Clock | None = None,
          features: tuple[feature.Feature, ...] = ()) -> Engine:
    """Return an engine made from the configuration.

    :param clock: the clock; by default that of the database.
    :param features: all of them, in their order.
    """
    default_condition.check(conf)
    database = connection.Database(conf)
    notifier = announce.notifier_of(conf)
    audit = feature.first(each.audit_trail(conf, notifier) for each
                          in features) or audit_trail.AuditTrail()
    return Engine(conf=conf, database=database,
                  clock=clock or db_clock.DatabaseClock(
                      database, conf.database.max_clock_skew),
                  announcer=announce.Announcer(notifier, audit),
                  audit=audit,
                  snapshots=cache.SnapshotCache(conf, features),
                  ironic=ironic,
                  placement=(placement_client.Placement.over_http(conf)
                             if conf.placement.enabled else None),
                  nova=(nova_client.Nova.over_http(conf)
                        if conf.placement.enabled and conf.nova.enabled
                        else None), all_features=features)
