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


"""The Compute service: its API, conductor, scheduler, and compute hosts."""

from __future__ import annotations

from collections.abc import Mapping

from tools import all_in_one
from tools.stack import ground as stack_ground
from tools.stack import people

NAME = 'nova'
API, CONDUCTOR, SCHEDULER = 'nova-api', 'nova-conductor', 'nova-scheduler'
COMPUTE = 'nova-compute'
#: Below nova.virt.
STOCK_DRIVER = 'ironic.IronicDriver'

_MAIN = ('from nova.cmd import {0} as command; sys.argv[0] = "nova-{0}"; '
         'sys.exit(command.main())')
_PROVIDER_CONFIG = (
    'from ironic_reservations.cmd import manage; sys.exit(manage.main(['
    '"nova", "provider-config", *sys.argv[1:]]))')


def make(ground: stack_ground.Ground, databases: Mapping[str, str],
         broker: str, keystone: str) -> None:
    """Make its tables and its cell.

    :param databases: by the names nova_api, nova and nova_cell0.
    :param broker: the transport URL.
    :raises NotStarted: a command of it failed.
    """
    path = ground.configure(
        NAME, 'nova.conf', _common(ground, broker, keystone), {
            'api_database': {'connection': databases['nova_api']},
            'database': {'connection': databases['nova']},
            'conductor': {'workers': 1},
            'quota': {'instances': -1, 'cores': -1, 'ram': -1},
            'scheduler': {'workers': 1, 'discover_hosts_in_cells_interval': 3},
        })
    for arguments in (
            ('api_db', 'sync'),
            ('cell_v2', 'map_cell0', '--database_connection',
             databases['nova_cell0']),
            ('db', 'sync'), ('cell_v2', 'create_cell', '--name', 'cell1')):
        ground.run(NAME, _MAIN.format('manage'), '--config-file', str(path),
                   *arguments)


def start(ground: stack_ground.Ground) -> None:
    """Start all but the compute hosts."""
    folder = ground.folder_of(NAME)
    ground.serve(API, 'nova.wsgi.osapi_compute', {
        'OS_NOVA_CONFIG_DIR': str(folder),
        # NOTE: the first of them is where it looks for its pipeline.
        'OS_NOVA_CONFIG_FILES':
            f'{stack_ground.DATA / "nova/api-paste.ini"};nova.conf'})
    ground.spawn(CONDUCTOR, _MAIN.format('conductor'),
                 ['--config-file', str(folder / 'nova.conf')])
    start_scheduler(ground)


def start_scheduler(ground: stack_ground.Ground,
                    environment: Mapping[str, str] | None = None,
                    more: str = '') -> None:
    """Start the scheduler, or start it again.

    :param more: of its configuration, as it is written.
    """
    if SCHEDULER in ground.children:
        ground.kill(SCHEDULER)
    path = ground.folder_of(SCHEDULER) / 'more.conf'
    path.write_text(more)
    ground.spawn(SCHEDULER, _MAIN.format('scheduler'),
                 ['--config-file', str(ground.folder_of(NAME) / 'nova.conf'),
                  '--config-file', str(path)], environment)


def ironic_options(keystone: str) -> dict[str, object]:
    """Return the options of [ironic], by which Nova logs in there."""
    return {**people.login(keystone, NAME, people.SYSTEM),
            'valid_interfaces': 'public', 'region_name': people.REGION,
            'api_max_retries': 15, 'api_retry_interval': 1}


class Compute:
    """One nova-compute.

    :param driver: of its own, below nova.virt; by default the one for Ironic.
    :param slots: how many servers of leases fit on each of its compute
        hosts; ``None``: its hosts are nodes of Ironic.
    :param options: of its configuration, above those here.
    """

    def __init__(self, ground: stack_ground.Ground, broker: str,
                 keystone: str, host: str = 'compute-ironic',
                 driver: str = STOCK_DRIVER, slots: int | None = None,
                 options: all_in_one.Options | None = None,
                 environment: Mapping[str, str] | None = None) -> None:
        self.name = f'{COMPUTE}-{host}'
        self.host = host
        self._ground = ground
        self._environment = environment
        folder = ground.folder_of(self.name)
        slots_folder = folder / 'providers'
        slots_folder.mkdir(exist_ok=True)
        ground.run('provider-config', _PROVIDER_CONFIG,
                   *(() if slots is None else ('--total', str(slots))),
                   '--output', str(slots_folder / 'slots.yaml'))
        # NOTE: one that has a database is told off by itself.
        self.config_file = ground.configure(
            self.name, 'nova-compute.conf',
            _common(ground, broker, keystone, folder), {
                'DEFAULT': {'host': host, 'compute_driver': driver,
                            # NOTE: tells of each cycle.
                            'default_log_levels':
                                'oslo_service.periodic_task=DEBUG',
                            'periodic_fuzzy_delay': 0,
                            'update_resources_interval': 4,
                            'heal_instance_info_cache_interval': -1,
                            # NOTE: fake hardware is deployed powered off,
                            # so that all servers would be stopped.
                            'sync_power_state_interval': -1,
                            'reserved_host_memory_mb': 0},
                'compute': {'provider_config_location': slots_folder,
                            'resource_provider_association_refresh': 15},
                'ironic': ironic_options(keystone),
            }, options or {})

    def start(self) -> None:
        """Start it; it is there when the scheduler has found it."""
        self._ground.spawn(self.name, _MAIN.format('compute'),
                           ['--config-file', str(self.config_file)],
                           self._environment)

    def kill(self) -> None:
        """Kill it on the spot."""
        self._ground.kill(self.name)


def _common(ground: stack_ground.Ground, broker: str, keystone: str,
            folder: object = None) -> dict[str, dict[str, object]]:
    login = people.service_login(keystone, NAME)
    folder = folder or ground.folder_of(NAME)
    return {
        'DEFAULT': {'transport_url': broker, 'state_path': folder,
                    'my_ip': '127.0.0.1', 'use_stderr': True,
                    # NOTE: a dead one is not waited for as long.
                    'report_interval': 5, 'service_down_time': 30},
        'keystone_authtoken': people.token_options(keystone, NAME),
        'service_user': {**people.login(keystone, NAME,
                                        people.SERVICE_PROJECT),
                         'send_service_user_token': True},
        'placement': dict(login), 'neutron': dict(login),
        'glance': {'valid_interfaces': 'public',
                   'region_name': people.REGION},
        'oslo_concurrency': {'lock_path': f'{folder}/locks'},
        'vnc': {'enabled': False}, 'spice': {'enabled': False},
    }
