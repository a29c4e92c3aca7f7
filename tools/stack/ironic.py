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


"""The Bare Metal service, with reservations in it."""

from __future__ import annotations

from collections.abc import Sequence
import time

import requests

from tools import all_in_one
from tools import enrolment
from tools import free_ports
from tools.stack import ground as stack_ground
from tools.stack import people

NAME = 'ironic'
_POWER_TIMEOUT = 60
_DBSYNC = ('from ironic_reservations.cmd import dbsync; '
           'sys.exit(dbsync.main(sys.argv[1:]))')


class Ironic(all_in_one.AllInOne):
    """API and conductor in one process, which asks Keystone who calls.

    :param database: of Ironic.
    :param ours: the database of the reservations.
    :param reservations: options of ours, above those here.
    :ivar policy_file: rules of ours; whatever is written to it holds from the
        next request on.
    """

    def __init__(self, ground: stack_ground.Ground, database: str, ours: str,
                 keystone: str, reservations: all_in_one.Options) -> None:
        self.keystone = keystone
        self._ground = ground
        tokens = people.token_options(keystone, NAME)
        self.policy_file = (ground.folder_of(NAME)
                            / 'reservations-policy.yaml')
        self.policy_file.touch()
        super().__init__(
            ground.folder_of(NAME), database=database, options={
                'DEFAULT': {'auth_strategy': 'keystone'},
                'keystone_authtoken': tokens,
                # NOTE: a rebuild looks at the image.
                'glance': people.service_login(keystone, NAME)},
            reservations=_merge({
                'database': {'connection': ours},
                'oslo_policy': {'policy_file': self.policy_file},
                'ironic': {**people.login(keystone, 'ironic-reservations',
                                          people.SYSTEM),
                           'poll_interval': 1},
                'placement': {
                    'enabled': True,
                    **people.service_login(keystone, 'ironic-reservations')},
                'nova': {
                    'enabled': True,
                    **people.service_login(keystone, 'ironic-reservations')},
            }, reservations))
        self.port = ground.ports.setdefault(NAME, free_ports.free_port())
        self.log_file = ground.logs / f'{NAME}.log'

    def session(self) -> requests.Session:
        """A session of HTTP as the administrator of the system."""
        session = super().session()
        session.headers['X-Auth-Token'] = people.session(
            self.keystone, people.SYSTEM_ADMIN).get_token()
        return session

    def make(self) -> None:
        """Make the tables of Ironic and ours.

        :raises NotStarted: a command failed.
        """
        self.create_schema()
        self._ground.run('ironic-reservations', _DBSYNC, '--config-file',
                         str(self.reservations_config_file), 'upgrade')

    def restart(self, *reservations: all_in_one.Options) -> None:
        """Start again with these options of ours, the last ones above."""
        self.reservations = _merge(*reservations)
        self.kill()
        self.start(stack_ground.START_TIMEOUT)

    def enroll(self, count: int, resource_class: str, prefix: str,
               **fields: object) -> list[enrolment.Enrolled]:
        """Enrol nodes that Nova can have."""
        with self.session() as session:
            nodes = enrolment.enroll(
                session, self.url, count, resource_class=resource_class,
                prefix=prefix, workers=4, **fields)
            self._power_off(session, nodes)
        return nodes

    def _power_off(self, session: requests.Session,
                   nodes: Sequence[enrolment.Enrolled]) -> None:
        """NOTE: Nova gives no server to a node of unknown power."""
        version = {'X-OpenStack-Ironic-API-Version': 'latest'}
        deadline = time.monotonic() + _POWER_TIMEOUT
        wanted = {node.uuid for node in nodes}
        for uuid in wanted:
            session.put(f'{self.url}/v1/nodes/{uuid}/states/power',
                        json={'target': 'power off'}, timeout=60,
                        headers=version).raise_for_status()
        while True:
            known = {each['uuid'] for each in session.get(
                f'{self.url}/v1/nodes?fields=uuid,power_state', timeout=60,
                headers=version).json()['nodes'] if each['power_state']}
            if wanted <= known:
                return
            if time.monotonic() > deadline:
                raise all_in_one.NotStarted(
                    f'Ironic does not know the power of {wanted - known}.')
            time.sleep(0.2)


def _merge(*layers: all_in_one.Options) -> dict[str, dict[str, object]]:
    merged: dict[str, dict[str, object]] = {}
    for layer in layers:
        for section, options in layer.items():
            merged.setdefault(section, {}).update(options)
    return merged
