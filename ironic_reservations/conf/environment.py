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

"""Options from the environment, under a prefix of our own.

oslo.config reads OS_<SECTION>__<OPTION> for every program. In one process with
Ironic, Ironic's database would become ours.
"""

from __future__ import annotations

import os
import re
from typing import Any

from oslo_config import cfg
from oslo_config import sources

#: The name of each variable begins with this.
PREFIX = 'IRONIC_RESERVATIONS_'
_DEFAULT = 'DEFAULT'


def variable(group: str | None, name: str) -> str:
    """Return the name of the variable that sets an option.

    :param group: the section of the option; ``None`` means [DEFAULT].
    :param name: the option.
    """
    return f'{PREFIX}{(group or _DEFAULT).upper()}__{name.upper()}'


def value_of(name: str) -> str:
    """Return the value of a variable; an empty one counts as missing.

    A variable is often empty by accident, and must not hide the value in the
    file. As in a file, spaces and line ends around the value do not count.
    """
    return os.environ.get(name, '').strip()


def is_used() -> bool:
    """Return whether any variable may set an option, by naming a section."""
    return any(name.startswith(PREFIX) and '__' in name
               for name in os.environ)


class OwnConfigOpts(cfg.ConfigOpts):  # type: ignore[misc]
    """A configuration that reads variables with our prefix only.

    :raises RuntimeError: this oslo.config reads the environment in another
        way, so Ironic's variables would be read.
    """

    def __init__(self) -> None:
        super().__init__()
        if not hasattr(self, '_env_driver'):
            raise RuntimeError(
                'The installed oslo.config reads the environment in a way '
                'that ironic-reservations does not know. Install a release '
                'of oslo.config that this one was tested with, or a newer '
                'ironic-reservations.')
        self._env_driver = _Environment()


class _Environment(sources.ConfigurationSource):  # type: ignore[misc]
    """Reads an option from the environment in the syntax of a file."""

    @staticmethod
    def get_name(group_name: str | None, option_name: str) -> str:
        """Return the name of the variable; oslo.config names it in errors."""
        return variable(group_name, option_name)

    def get(self, group_name: str | None, option_name: str,
            opt: cfg.Opt) -> tuple[Any, cfg.LocationInfo | None]:
        """Return the value of an option and its location."""
        name = variable(group_name, option_name)
        value = value_of(name)
        if not value:
            return sources._NoValue, None
        literal = _literal(value)
        found = cfg.LocationInfo(cfg.Locations.environment, name)
        if opt.multi:
            return [each.strip() for each in literal.split(',')], found
        return literal, found


def _literal(value: str) -> str:
    r"""Return a text that oslo.config converts to the given value.

    It replaces $name by other options, and \$ by $; a password from the
    environment may contain both.
    """
    return re.sub(r'\\?\$',
                  lambda found: r'\\$' if len(found[0]) == 2 else '$$', value)
