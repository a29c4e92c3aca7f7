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

"""Checks that all values are valid, before any of them is needed."""

from __future__ import annotations

from oslo_config import cfg
import sqlalchemy as sa
from sqlalchemy import exc as sa_exc

from ironic_reservations.conf import environment
from ironic_reservations.conf import known
from ironic_reservations.conf import source_lines

#: The section and the name of the option that is a URL of a database.
_URL = ('database', 'connection')


def check(conf: cfg.ConfigOpts) -> None:
    """Check the value of each option that is set.

    oslo.config checks a value when it is read, which may be during a request.

    :raises oslo_config.cfg.Error: values are not valid; the message names
        each, and its location.
    """
    if not (conf.config_file or conf.config_dir or environment.is_used()):
        return
    wrong = []
    for group, option in known.own():
        values = conf if group == known.DEFAULT else (
            conf[group] if group in conf else ())
        if option.dest not in values:
            continue
        try:
            values[option.dest]
        except (cfg.Error, ValueError) as exc:
            wrong.append(
                f'[{group}] {option.dest} ({_source(conf, group, option)}) is '
                f'not valid: {_why(exc, option)}')
            continue
        if ((group, option.dest) == _URL and conf.database.connection
                and not _is_url(conf.database.connection)):
            # The URL is not shown, since it has a password.
            wrong.append(
                f'[{group}] {option.dest} ({_source(conf, group, option)}) is '
                'not valid: it is no URL of a database, such as '
                'mysql+pymysql://USER:PASSWORD@HOST/ironic_reservations')
    if wrong:
        raise cfg.ConfigFileValueError('\n'.join(wrong))


def _is_url(text: str) -> bool:
    try:
        sa.make_url(text)
    except (sa_exc.ArgumentError, ValueError):
        return False
    return True


def _source(conf: cfg.ConfigOpts, group: str, option: cfg.Opt) -> str:
    variable = environment.variable(group, option.dest)
    if environment.value_of(variable):
        return f'environment variable {variable}'
    return source_lines.set_in(conf, group, option) or 'command line'


def _why(exc: Exception, option: cfg.Opt) -> str:
    if option.secret:
        return 'the value is a secret and is not shown'
    return str(exc.__context__ if isinstance(exc.__context__, ValueError)
               else exc)
