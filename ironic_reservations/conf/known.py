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

"""All options that the service may read, including those of libraries."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import functools
from importlib import metadata
from typing import Any

from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1 import loading
from oslo_config import cfg

from ironic_reservations.conf import environment
from ironic_reservations.conf import opts

#: The libraries that also read our file, as namespaces of its sample.
LIBRARIES = ('keystonemiddleware.auth_token', 'oslo.log', 'oslo.messaging',
             'oslo.policy')
_ENTRY_POINTS = 'oslo.config.opts'
#: The default way to authenticate to a service.
_USUAL = 'password'
#: The section whose options belong to the configuration itself.
DEFAULT = 'DEFAULT'


@dataclasses.dataclass(frozen=True)
class Known:
    """All options, and a configuration in which they are registered.

    :ivar conf: a configuration for this purpose only.
    :ivar options: pairs of a section and an option in it.
    """

    conf: cfg.ConfigOpts
    options: Sequence[tuple[str, cfg.Opt]]


@functools.cache
def own() -> Sequence[tuple[str, cfg.Opt]]:
    """Return the options of the project, without those of libraries."""
    return tuple(_pairs(opts.list_opts()))


def everything(conf: cfg.ConfigOpts) -> Known:
    """Return all options, with the values in the files of a configuration.

    :param conf: the configuration with the names of its files.
    """
    options = {(group, option.dest): option for group, option in own()}
    for entry in metadata.entry_points(group=_ENTRY_POINTS):
        if entry.name in LIBRARIES:
            for group, option in _pairs(entry.load()()):
                options.setdefault((group, option.dest), option)
    known = environment.OwnConfigOpts()
    opts.register(known)
    known([], project=conf.project, default_config_files=conf.config_file,
          default_config_dirs=conf.config_dir)
    # Registered only after reading, since some unused options are required.
    _register(known, options)
    for group in [group for group, name in options if name == 'auth_type']:
        section, options_there = _of_plugin(known, group)
        plugin = {(section, option.dest): option for option in options_there
                  if (section, option.dest) not in options}
        options.update(plugin)
        _register(known, plugin)
    return Known(known, [(group, option)
                         for (group, _), option in options.items()])


def _pairs(listed: Iterable[tuple[Any, Iterable[cfg.Opt]]]
           ) -> Iterator[tuple[str, cfg.Opt]]:
    """Yield each option that a library lists, with its section."""
    for group, options in listed:
        section = getattr(group, 'name', group) or DEFAULT
        for option in options:
            yield section, option


def _register(conf: cfg.ConfigOpts,
              options: dict[tuple[str, str], cfg.Opt]) -> None:
    for (group, _), option in options.items():
        # An option may be registered already, with our default.
        with contextlib.suppress(cfg.DuplicateOptError):
            conf.register_opt(option, None if group == DEFAULT else group)


def _of_plugin(conf: cfg.ConfigOpts,
               group: str) -> tuple[str, Sequence[cfg.Opt]]:
    """Return the options of the authentication plugin of a service.

    :returns: their section, and the options.
    """
    try:
        return (conf[group].auth_section or group,
                loading.get_auth_plugin_conf_options(
                    conf[group].auth_type or _USUAL))
    except ksa_exc.NoMatchingPlugin:
        return group, ()
