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
"""End the leases of projects that Keystone does not have any more.

The leases of a deleted project remain: no user can use or end them, and they
keep their nodes.  They end when each check during [leases] end_of_gone_project
has found that the project is gone.
"""

from __future__ import annotations

from collections.abc import Callable
import datetime
import uuid as uuid_module

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import keystone_projects
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import observations as db_observations
from ironic_reservations.engine import Engine
from ironic_reservations.engine.leases import end as lease_end

LOG = log.getLogger(__name__)

_NAMESPACE = uuid_module.UUID('6b0a5a0c-9d3e-4c58-9d0b-3f1d0a6d4e21')
_PREFIX = 'gone:'
#: A project that is not checked for so many intervals may have existed
#: meanwhile.
_BREAK = 3


def wanted(engine: Engine) -> bool:
    """Return whether leases of deleted projects end, and can be found."""
    return bool(engine.conf.leases.end_of_gone_project) and (
        engine.conf.ironic.auth_type not in (None, 'none', 'http_basic'))


def interval(engine: Engine) -> float:
    """Return the time between two checks, in seconds."""
    return float(min(3600, max(10, engine.conf.leases.end_of_gone_project
                               / 4)))


def end(engine: Engine, projects: keystone_projects.KeystoneProjects,
        continues: Callable[[], bool] = lambda: True) -> None:
    """Record the projects that are gone, and end the leases that are due.

    :param continues: called before each lease; ``False`` ends the pass.
    :raises Conflict: another process was quicker.
    """
    now = engine.clock()
    with engine.database.read() as connection:
        having = db_leases.read_projects(connection)
        known = db_observations.read_all(connection, _PREFIX)
    try:
        gone = projects.gone(having) if having else frozenset()
    except errors.KeystoneUnavailable as exc:
        LOG.warning('It is not known which projects are gone, so no lease '
                    'ends because of that: %s', exc)
        return
    longest = datetime.timedelta(seconds=_BREAK * interval(engine))
    since = {}
    with engine.database.write() as connection:
        for project_id in gone:
            before = known.pop(_name(project_id), None)
            since[project_id] = (before and before.unbroken(now, longest)
                                 ) or now
            db_observations.write(connection, _name(project_id), before,
                           db_observations.Observation(since[project_id], now))
        db_observations.delete(connection, known.keys())
    after = datetime.timedelta(seconds=engine.conf.leases.end_of_gone_project)
    for project_id, begun in since.items():
        if now - begun >= after:
            _end_all(engine, projects, project_id, begun, continues)
        elif begun == now:
            LOG.warning('The project %s is gone from Keystone; its leases end '
                        'in %s, unless it is back by then', project_id, after)


def _end_all(engine: Engine, projects: keystone_projects.KeystoneProjects,
             project_id: str, since: datetime.datetime,
             continues: Callable[[], bool]) -> None:
    with engine.database.read() as connection:
        found = db_leases.read_of_project(connection, project_id)
    for lease_id in found:
        if not continues():
            return
        try:
            # The process may have been stopped, and the project be back.
            if not projects.gone(frozenset((project_id,))):
                return
            lease_end.end(engine, lease_id, project_id)
        except (errors.KeystoneUnavailable, errors.LeaseNotFound,
                errors.Contention) as exc:
            LOG.info('The lease %s is ended later: %s', lease_id, exc)
            continue
        LOG.warning('Ended the lease %s, since its project %s is gone from '
                    'Keystone since %s', lease_id, project_id, since)


def _name(project_id: str) -> str:
    """Return the name of the checks of a project.

    The column has 32 characters.
    """
    return _PREFIX + uuid_module.uuid5(_NAMESPACE, project_id).hex[:27]
