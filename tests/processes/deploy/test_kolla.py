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

"""The files for Kolla-Ansible, with its own templates and its own merge.

The package comes from the index, so this test is in the long run.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import fixtures
from oslo_config import cfg
import testtools

_KOLLA = 'kolla-ansible==22.2.0'
_OURS = pathlib.Path(__file__).parents[3] / 'contrib' / 'deploy'
#: The application that uwsgi serves, asked in its own process.
_ASK = """
import sys
sys.argv = ['ironic-api']
from ironic.wsgi import application
import webob
for path in sys.stdin.read().split():
    answer = webob.Request.blank(path).get_response(application)
    print(answer.status_int, answer.text)
"""
#: Values that Kolla-Ansible takes from its inventory and its passwords.
_VALUES = {
    'service_name': 'ironic-api', 'ironic_enable_keystone_integration': True,
    'ironic_logging_debug': False, 'rpc_transport_url': 'rabbit://',
    'notify_transport_url': 'rabbit://', 'api_interface_address': '192.0.2.1',
    'ironic_enabled_notification_topics': [],
    'enable_ironic_prometheus_exporter': False,
    'om_enable_rabbitmq_tls': False,
    'om_enable_rabbitmq_stream_fanout': False, 'ironic_database_user': 'i',
    'ironic_database_password': 'i', 'ironic_database_address': '192.0.2.2',
    'ironic_database_name': 'ironic',
    'ironic_database_enable_tls_internal': False,
    'database_connection_recycle_time': 10, 'database_max_pool_size': 1,
    'keystone_public_url': 'http://k', 'keystone_internal_url': 'http://k',
    'default_project_domain_id': 'default',
    'default_user_domain_id': 'default',
    'ironic_keystone_user': 'ironic', 'ironic_keystone_password': 'i',
    'openstack_region_name': 'RegionOne', 'openstack_cacert': '',
    'memcache_security_strategy': 'ENCRYPT', 'memcache_secret_key': 'k',
    'memcached_port': 11211, 'node_config_directory': '/etc/kolla',
    'container_config_directory': '/var/lib/kolla/config_files',
    'default_extra_volumes': [], 'kolla_dev_mode': False,
    'kolla_dev_repos_pull': False, 'kolla_dev_repos_git': '',
    'ironic_http_interface_address': '192.0.2.3',
    'ironic_tftp_interface_address': '192.0.2.3',
    'ansible_python_interpreter': sys.executable,
}


class KollaAnsibleTest(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        subprocess.run([sys.executable, '-m', 'pip', 'install', '--quiet',
                        '--no-deps', '--target', str(self.folder / 'kolla'),
                        _KOLLA], check=True)
        self.tree = self.folder / 'kolla' / 'share' / 'kolla-ansible/ansible'

    def play(self, **task: Any) -> str:
        """Run a task with Kolla-Ansible's values; return what it wrote."""
        role = self.tree / 'roles' / 'ironic'
        book = self.folder / 'book.yml'
        book.write_text(json.dumps([{
            'hosts': 'localhost', 'gather_facts': False,
            'connection': 'local',
            'vars_files': [*map(str, sorted((self.tree / 'group_vars' / 'all'
                                             ).glob('*.yml'))),
                           str(role / 'defaults' / 'main.yml'),
                           str(_OURS / 'kolla-ansible' / 'globals.yml'),
                           str(self.folder / 'values.yml')],
            'tasks': [task]}]))
        hosts = self.folder / 'hosts'
        hosts.write_text('localhost\n[memcached]\n')
        (self.folder / 'values.yml').write_text(json.dumps(_VALUES))
        done = subprocess.run(
            [str(pathlib.Path(sys.executable).with_name('ansible-playbook')),
             '-i', str(hosts), str(book)], text=True, capture_output=True,
            cwd=self.folder, env={
                **os.environ, 'PYTHONPATH': str(self.folder / 'kolla'),
                'ANSIBLE_ACTION_PLUGINS':
                str(self.tree / 'action_plugins'), 'ANSIBLE_FILTER_PLUGINS':
                str(self.tree / 'filter_plugins')})
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return (self.folder / 'written').read_text()

    def merged(self) -> str:
        """Write Ironic's configuration as Kolla-Ansible does; return it."""
        template = self.tree / 'roles/ironic/templates/ironic.conf.j2'
        return self.play(merge_configs={
            'sources': [str(template),
                        str(_OURS / 'kolla-ansible' / 'ironic-api.conf')],
            'dest': str(self.folder / 'written')})

    def test_ironic_conf_names_the_guard(self) -> None:
        self.merged()
        ironic = cfg.ConfigOpts()
        ironic.register_opt(cfg.ListOpt('middleware'), 'api')
        ironic.register_opt(cfg.StrOpt('connection'), 'database')
        ironic(['--config-file', str(self.folder / 'written')])
        self.assertEqual(['reservations'], ironic.api.middleware)
        self.assertIn('192.0.2.2', ironic.database.connection)

    def test_ironic_starts_with_the_guard(self) -> None:
        # In a home, each program reads its folder as it does the one in /etc.
        for name, text in (
                ('ironic', self.merged()),
                ('ironic-reservations', (_OURS / 'kolla-ansible'
                                         / 'ironic-reservations.conf'
                                         ).read_text())):
            folder = self.folder / f'.{name}'
            folder.mkdir()
            (folder / f'{name}.conf').write_text(text)
        done = subprocess.run(
            [sys.executable, '-c', _ASK], text=True, capture_output=True,
            input='/reservation/healthcheck /v1/reservations /v1/nodes',
            env={**os.environ, 'HOME': str(self.folder),
                 'OS_DEFAULT__LOG_FILE': str(self.folder / 'ironic.log'),
                 'IRONIC_RESERVATIONS_DATABASE__CONNECTION':
                 f'sqlite:///{self.folder}/reservations.sqlite'})
        self.assertEqual(0, done.returncode, done.stderr)
        healthy, ours, nodes = done.stdout.splitlines()
        self.assertEqual('200 OK', healthy)
        self.assertTrue(ours.startswith('401 '), ours)
        self.assertTrue(nodes.startswith('401 '), nodes)

    def test_container_gets_the_options(self) -> None:
        volumes = json.loads(self.play(copy={
            'content': '{{ (ironic_api_default_volumes + '
                       'ironic_api_extra_volumes) | to_json }}',
            'dest': str(self.folder / 'written')}))
        self.assertEqual(
            ['/etc/kolla/ironic-reservations:/etc/ironic-reservations:ro'],
            [each for each in volumes if 'reservations' in each])

    def test_uwsgi_runs_threads(self) -> None:
        written = self.play(template={
            'src': str(next((self.tree / 'roles/service-uwsgi-config'
                             ).rglob('*.j2'))),
            'dest': str(self.folder / 'written')}, vars={
                'service_uwsgi_config_tls_backend': False,
                'service_uwsgi_config_host': '192.0.2.1',
                'service_uwsgi_config_http_port': 6385,
                'service_uwsgi_config_log_dir': 'ironic',
                'service_uwsgi_config_log_file': 'ironic-api.log',
                'service_uwsgi_config_module': 'ironic.wsgi:application',
                'service_uwsgi_config_socket_port': '',
                'service_uwsgi_config_workers': 1,
                'service_uwsgi_config_worker_timeout': 1,
                'kolla_base_distro': 'debian'})
        self.assertIn('enable-threads = true\n', written)
