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

"""Use settings of Ironic as the defaults of ours.

These are policies, proxies and the URL.
"""

from __future__ import annotations

from oslo_config import cfg
from oslo_policy import policy

#: Ironic parses the headers of a proxy after its middleware, and so too late
#: for us.
_IN_GROUPS = (('oslo_policy', 'enforce_scope'),
              ('oslo_policy', 'enforce_new_defaults'),
              ('oslo_middleware', 'enable_proxy_headers_parsing'),
              ('api', 'public_endpoint'))
_ELEVATION = ('rbac_service_role_elevated_access',
              'rbac_service_project_name')


def follow(conf: cfg.ConfigOpts, ironic: cfg.ConfigOpts) -> None:
    """Use Ironic's settings as the defaults of our options.

    Values in our own file win.

    :param ironic: the configuration of Ironic, which is only read.
    """
    for name in _ELEVATION:
        value = getattr(ironic, name, None)
        if value is not None:
            conf.set_default(name, value)
    # The enforcer is made only because this registers the options.
    policy.Enforcer(conf)
    for group, name in _IN_GROUPS:
        value = getattr(getattr(ironic, group, None), name, None)
        if value is not None:
            conf.set_default(name, value, group)
