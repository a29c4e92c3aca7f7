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

"""The operator's condition on hosts, for leases that have none."""

from __future__ import annotations

import dataclasses

from oslo_config import cfg

from ironic_reservations.model import leases
from ironic_reservations.model import requirements


def check(conf: cfg.ConfigOpts) -> None:
    """Check that the condition of the operator is valid.

    :raises oslo_config.cfg.Error: the condition is not valid.
    """
    try:
        requirements.parse('', conf.leases.default_resource_properties)
    except (cfg.NoSuchOptError, cfg.TemplateSubstitutionError) as exc:
        raise cfg.ConfigFileValueError(
            '[leases] default_resource_properties has a $, which refers to '
            'another option in a configuration file. Write $$ for it, like '
            '["==", "$$vcpus", "4"].') from exc
    except ValueError as exc:
        raise cfg.ConfigFileValueError(
            '[leases] default_resource_properties cannot be read: '
            f'{exc}') from exc


def of(conf: cfg.ConfigOpts, resource_properties: str) -> str:
    """Return a condition, or the operator's instead of an empty one."""
    default: str = conf.leases.default_resource_properties
    if not default:
        return resource_properties
    try:
        asked = requirements.parse('', resource_properties)
    except ValueError:
        # The check of its reservation refuses it later.
        return resource_properties
    return resource_properties if asked.terms else default


def added(conf: cfg.ConfigOpts,
          request: leases.LeaseRequest) -> leases.LeaseRequest:
    """Return a request with the operator's condition where it has none."""
    return dataclasses.replace(request, reservations=tuple(
        dataclasses.replace(each, resource_properties=of(
            conf, each.resource_properties))
        for each in request.reservations))
