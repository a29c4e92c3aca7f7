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


"""Horizon with blazar-dashboard, which is a client of our endpoint."""

from __future__ import annotations

import secrets

from tools.stack import ground as stack_ground

NAME = 'horizon'

_SETTINGS = """\
import blazar_dashboard.enabled
import openstack_dashboard.local.enabled
from openstack_dashboard.settings import HORIZON_CONFIG

# As if its files had been copied there, as its documentation says.
openstack_dashboard.local.enabled.__path__ += blazar_dashboard.enabled.__path__

# What it has done is told for as long as the page is there.
HORIZON_CONFIG['auto_fade_alerts']['types'] = []
ALLOWED_HOSTS = ['127.0.0.1']
WEBROOT = '/'
SECRET_KEY = {secret!r}
OPENSTACK_KEYSTONE_URL = {keystone!r}
TIME_ZONE = 'UTC'
# Sessions are there beside everything that is compiled for a page.
CACHES = {{'default': {{
    'BACKEND': 'django.core.cache.backends.locmem.LocMemCache',
    'OPTIONS': {{'MAX_ENTRIES': 100000}}}}}}
# Each is compiled when the first page is shown.
AVAILABLE_THEMES = [('default', 'Default', 'themes/default')]
STATIC_ROOT = {static!r}
LOGGING = {{
    'version': 1, 'disable_existing_loggers': False,
    'handlers': {{'console': {{'class': 'logging.StreamHandler'}}}},
    'root': {{'handlers': ['console'], 'level': 'INFO'}}}}
"""


def start(ground: stack_ground.Ground, keystone: str) -> str:
    """Start it, and wait until it answers.

    :returns: its URL.
    :raises NotStarted: it does not answer.
    """
    folder = ground.folder_of(NAME)
    # NOTE: Horizon imports its settings as local.local_settings.
    (folder / 'local').mkdir(exist_ok=True)
    (folder / 'local/__init__.py').touch()
    (folder / 'local/local_settings.py').write_text(_SETTINGS.format(
        secret=secrets.token_hex(32), keystone=f'{keystone}/v3',
        static=str(folder / 'static')))
    ground.serve(NAME, 'tools.stack.horizon_wsgi', {
        'DJANGO_SETTINGS_MODULE': 'openstack_dashboard.settings',
        'PYTHONPATH': f'{folder}:{stack_ground.SOURCE}'})
    ground.wait_for(NAME)
    return ground.url(NAME)
