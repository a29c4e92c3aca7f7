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

"""Version documents in the form that keystoneauth discovers."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from ironic_reservations.api import expose
from ironic_reservations.api import url
from ironic_reservations.api import versions as api_versions


def current(call: expose.Call, conf: cfg.ConfigOpts) -> dict[str, Any]:
    """Return the document of the only major version."""
    root = url.root(call.environ, conf)
    return {
        'id': f'v{api_versions.MAJOR}', 'status': 'CURRENT',
        'min_version': api_versions.text(api_versions.MINIMUM),
        'version': api_versions.text(api_versions.MAXIMUM),
        'links': [{'rel': 'self', 'href': f'{root}/v{api_versions.MAJOR}/'},
                  {'rel': 'describedby', 'type': expose.JSON,
                   'href': f'{root}/openapi.json'}]}


def versions(call: expose.Call, conf: cfg.ConfigOpts) -> dict[str, Any]:
    """Return the document of all major versions."""
    version = current(call, conf)
    return {'name': 'OpenStack bare metal reservations',
            'description': 'Reserves bare metal nodes of Ironic.',
            'versions': [version], 'default_version': version}
