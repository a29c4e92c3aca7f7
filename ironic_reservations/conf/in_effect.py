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

"""The options that are set, with their values and locations."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import re
from typing import Any

from oslo_config import cfg

from ironic_reservations.conf import known
from ironic_reservations.conf import source_lines
from ironic_reservations.conf import values

MASK = '***'
#: A user's password in a URL, which any option may contain.
_PASSWORD = re.compile(r'(?<=://)(?P<user>[^/?#\s:]*):[^/?#\s]*(?=@)')
#: Secrets that are URLs: only the password and the parameters are masked.
_URLS = ('connection', 'slave_connection', 'transport_url')
_URL = re.compile(r'(?P<scheme>[\w+.-]+://)'
                  r'(?:(?P<user>[^\s:@/?#]*)(?::(?P<password>[^\s@/?#]*))?@)?'
                  r'(?P<rest>[^\s@?#]*)(?:\?[^\s@#]*)?')


@dataclasses.dataclass(frozen=True)
class Setting:
    """An option that is set.

    :ivar value: the value in use, with secrets masked.
    :ivar source: a file and a line, a variable, or the command line.
    :ivar instead_of: the line of a file that has no effect, since the source
        takes precedence.
    """

    section: str
    option: str
    value: Any
    source: str
    instead_of: str | None = None


def settings(conf: cfg.ConfigOpts) -> Sequence[Setting]:
    """Return each option that is set, in the order of sections and names.

    :param conf: the configuration with the names of its files.
    :raises oslo_config.cfg.Error: a value is not valid.
    """
    everything = known.everything(conf)
    return [setting for group, option in sorted(
                everything.options, key=lambda pair: (pair[0], pair[1].dest))
            if (setting := _setting(everything.conf, group, option))]


def _setting(conf: cfg.ConfigOpts, group: str,
             option: cfg.Opt) -> Setting | None:
    section = None if group == known.DEFAULT else group
    try:
        location = conf.get_location(option.dest, section)
        if location is None or not location.location.is_user_controlled:
            return None
        value = (conf[group] if section else conf)[option.dest]
    except (cfg.Error, ValueError) as exc:
        raise cfg.ConfigFileValueError(
            values.not_valid(conf, group, option, exc)) from exc
    in_files = source_lines.set_in(conf, group, option)
    if location.location is cfg.Locations.user:
        return Setting(group, option.dest, _shown(option, value),
                       in_files or location.detail)
    return Setting(group, option.dest, _shown(option, value),
                   location.detail or 'command line', in_files)


def _shown(option: cfg.Opt, value: Any) -> Any:
    """Return a value without its secrets."""
    if option.secret:
        return value and (_without_password(str(value))
                          if option.dest in _URLS else MASK)
    if isinstance(value, str):
        return _PASSWORD.sub(rf'\g<user>:{MASK}', value)
    if isinstance(value, list):
        return [_shown(option, each) for each in value]
    if isinstance(value, dict):
        return {name: _shown(option, each) for name, each in value.items()}
    return value


def _without_password(secret: str) -> str:
    """Return a URL without its password; any other text is masked."""
    url = _URL.fullmatch(secret)
    if url is None:
        return MASK
    if url['user'] is None:
        return f'{url["scheme"]}{url["rest"]}'
    password = '' if url['password'] is None else f':{MASK}'
    return f'{url["scheme"]}{url["user"]}{password}@{url["rest"]}'
