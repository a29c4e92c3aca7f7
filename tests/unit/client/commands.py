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

"""The commands of the client."""

from __future__ import annotations

import configparser
import importlib
import pathlib
from typing import Any

_FILE = (pathlib.Path(__file__).parents[3] / 'plugins' / 'client'
         / 'setup.cfg')


def described() -> list[tuple[str, Any]]:
    """Return the commands that setup.cfg names, each with its class."""
    setup = configparser.ConfigParser()
    setup.read(_FILE)
    found = []
    for line in setup.get('options.entry_points',
                          'openstack.baremetal.v1').strip().splitlines():
        name, _, place = line.partition(' = ')
        module, _, kind = place.partition(':')
        found.append((name.removeprefix('baremetal_reservation_'),
                      getattr(importlib.import_module(module), kind)))
    return found
