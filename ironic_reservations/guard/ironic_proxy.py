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

"""Trust the headers of a proxy if Ironic does."""

from __future__ import annotations

from oslo_config import cfg

_GROUP = 'oslo_middleware'
_OPTION = 'enable_proxy_headers_parsing'


def follow(conf: cfg.ConfigOpts, ironic: cfg.ConfigOpts) -> None:
    """Use Ironic's setting as the default of our option.

    A value in our own file wins.  Ironic parses these headers after its
    middleware, and so after us.

    :param ironic: the configuration of Ironic, which is only read.
    """
    value = getattr(getattr(ironic, _GROUP, None), _OPTION, None)
    if value is not None:
        conf.set_default(_OPTION, value, _GROUP)
