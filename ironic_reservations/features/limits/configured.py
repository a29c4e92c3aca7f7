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

"""The limits of callers, as the operator has configured them."""

from __future__ import annotations

from oslo_config import cfg

from ironic_reservations.model import limits

#: The origins of a value that is not configured.
_DEFAULTS = (cfg.Locations.opt_default, cfg.Locations.set_default)
#: The limits in each group of options.
BY_GROUP = {
    'leases': ('max_leases_per_project', 'max_hosts_per_project',
               'max_host_hours_per_project', 'max_instances_per_project',
               'max_instance_hours_per_project', 'max_duration',
               'max_horizon', *limits.EXTENSIONS),
    'reservations': ('max_per_project', 'max_lifetime')}
#: The limits of a project for whole hosts, and for instances: at the same
#: time, and in hours.
PER_PROJECT = (
    (True, 'host', 'max_hosts_per_project', 'max_host_hours_per_project'),
    (False, 'instance', 'max_instances_per_project',
     'max_instance_hours_per_project'))
#: The limits by resource class.
BY_CLASS = {'leases': ('max_hosts_per_class', 'max_host_hours_per_class'),
            'reservations': ('max_per_class',)}


def of(conf: cfg.ConfigOpts, group: str,
       projects: bool = True) -> limits.Limits:
    """Return the limits of a caller from a group of options.

    :param group: a key of :data:`BY_GROUP`.
    :param projects: whether there are projects.  Without them, all callers
        count as one project, and since the defaults are meant for one project
        of many, only limits that the operator has set apply.
    """
    if not conf.leases.project_limits:
        return limits.NONE
    options = conf[group]
    found = {name: value for name in (*BY_GROUP[group], *BY_CLASS[group])
             if (value := options[name])
             and (projects or _is_set(conf, group, name))}
    return limits.Limits(**found) if found else limits.NONE


def _is_set(conf: cfg.ConfigOpts, group: str, name: str) -> bool:
    there = conf.get_location(name, group)
    return there is not None and there.location not in _DEFAULTS
