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

"""plugins/nova, installed beside the Nova that is installed."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import fixtures
import testtools

from tests.real import distribution

PLUGIN = pathlib.Path(__file__).parents[3] / 'plugins' / 'nova'
_LOAD = '''
import nova.conf
from nova.scheduler import filters
from nova.virt import driver
from nova.virt import ironic_reservations as ours
nova.conf.CONF([], project='nova', default_config_files=[])
loaded = driver.load_compute_driver(
    None, 'ironic_reservations.ReservingIronicDriver')
kinds = filters.HostFilterHandler().get_matching_classes([
    'nova.scheduler.filters.all_filters',
    'nova.virt.ironic_reservations.scheduler_filter.IronicReservationFilter'])
print(type(loaded).__module__, ours.__file__)
print([kind.__name__ for kind in kinds].count('IronicReservationFilter'))
print(nova.conf.CONF.ironic_reservations.timeout)
'''


class InstallTest(testtools.TestCase):
    """Built, installed, and found by Nova."""

    def setUp(self) -> None:
        """Install it in a folder of its own."""
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        distribution.install(PLUGIN, self.folder / 'plugin')

    def test_nothing_of_nova_s_own_is_replaced(self) -> None:
        """One folder, and what pip writes about the distribution."""
        found = {path.parent.relative_to(self.folder / 'plugin').as_posix()
                 for path in (self.folder / 'plugin').rglob('*.py')}
        self.assertEqual({'nova/virt/ironic_reservations'}, found)
        self.assertEqual(
            {path.name for path in
             (PLUGIN / 'nova' / 'virt' / 'ironic_reservations').glob('*.py')},
            {path.name for path in
             (self.folder / 'plugin').rglob('*.py')})

    def test_nova_loads_the_driver_and_the_filter(self) -> None:
        """In the site-packages that Nova is in, which is copied for that."""
        site = self.folder / 'site'
        spec = importlib.util.find_spec('nova')
        assert spec is not None and spec.origin is not None
        shutil.copytree(pathlib.Path(spec.origin).parent, site / 'nova',
                        copy_function=os.symlink)
        shutil.copytree(self.folder / 'plugin', site, dirs_exist_ok=True)
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', _LOAD],
            env={**os.environ, 'PYTHONPATH': str(site)}, text=True,
            capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(
            ['nova.virt.ironic_reservations.driver '
             f'{site}/nova/virt/ironic_reservations/__init__.py', '1', '60'],
            done.stdout.splitlines())
