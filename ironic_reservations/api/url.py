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

"""URLs of this API as its clients see them."""

from __future__ import annotations

from wsgiref import util

from oslo_config import cfg

from ironic_reservations.api import wsgi

#: Where the API lies inside that of Ironic, besides /v1/reservations.
PREFIX = '/reservation'


def root(environ: wsgi.Environ, conf: cfg.ConfigOpts) -> str:
    """Give the URL of the root, without a slash at the end.

    :param conf: ``[api] public_endpoint`` is for services behind a proxy.
    """
    public = conf.api.public_endpoint
    if not public:
        return util.application_uri(environ).rstrip('/')
    public = public.rstrip('/')
    script = environ.get('SCRIPT_NAME', '').rstrip('/')
    # NOTE: inside Ironic's API one endpoint has the resource both below
    # the prefix and beside Ironic's own.
    if script.endswith(PREFIX) and not public.endswith(PREFIX):
        public += PREFIX
    return str(public)
