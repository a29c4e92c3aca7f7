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

"""The parser of the installed Nova, in a process of its own.

Nova's and Ironic's options are registered in the same global object, where
they conflict.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import subprocess
import sys
from typing import Any

import fixtures

from ironic_reservations.model import flavors
from tests.unit.model import nova_flavors


class InstalledNova(fixtures.Fixture):
    """Reads flavors as the installed Nova does."""

    def _setUp(self) -> None:
        self._process = _reader()

    def read(self, flavor: flavors.Flavor
             ) -> tuple[nova_flavors.Groups, str | None]:
        """Return the groups by their suffixes, and the policy."""
        assert self._process.stdin and self._process.stdout
        print(json.dumps(dataclasses.asdict(flavor)),
              file=self._process.stdin, flush=True)
        told = json.loads(self._process.stdout.readline())
        return {suffix: (resources, frozenset(required),
                         frozenset(forbidden))
                for suffix, (resources, required, forbidden)
                in told['groups'].items()}, told['policy']


@functools.cache
def _reader() -> subprocess.Popen[str]:
    """Return the process that reads for all tests of this one.

    It ends after this process, when its pipe ends; Nova takes seconds to load.
    """
    return subprocess.Popen(
        [sys.executable, '-W', 'ignore', '-m', __name__],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True)


def _read(flavor: dict[str, Any]) -> dict[str, Any]:
    from nova import objects
    from nova.scheduler import utils
    request = utils.ResourceRequest.from_request_spec(objects.RequestSpec(
        flavor=objects.Flavor(
            vcpus=flavor['vcpus'], memory_mb=flavor['ram_mb'],
            root_gb=flavor['disk_gb'], ephemeral_gb=flavor['ephemeral_gb'],
            swap=flavor['swap_mb'], extra_specs=flavor['extra_specs']),
        is_bfv=flavor['boots_from_volume'], requested_resources=[],
        request_level_params=objects.RequestLevelParams()))
    return {'policy': request.group_policy, 'groups': {
        group.requester_id or '': (
            dict(group.resources), sorted(group.required_traits),
            sorted(group.forbidden_traits))
        for group in request._rg_by_id.values()}}


def main() -> None:
    """Read a flavor from each line, and write Nova's interpretation of it."""
    from nova import objects
    import nova.conf
    objects.register_all()
    nova.conf.CONF([], project='nova', default_config_files=[])
    for line in sys.stdin:
        print(json.dumps(_read(json.loads(line))), flush=True)


if __name__ == '__main__':
    main()
