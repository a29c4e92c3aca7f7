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

import math
import os

from oslo_config import cfg
import sqlalchemy as sa
from sqlalchemy import exc as sa_exc

from ironic_reservations.conf import environment
from ironic_reservations.conf import known
from ironic_reservations.conf import source_lines

#: The section and the name of the option that is a URL of a database.
_URL = ('database', 'connection')
#: Those of the folder of the SQLite file, if there is no URL.
_FOLDER = (known.DEFAULT, 'state_path')
_BACKENDS = ('sqlite', 'mysql', 'mariadb', 'postgresql')
#: The errors of oslo.config if "$" refers to an option that does not exist.
_DANGLING = (cfg.NoSuchOptError, cfg.NoSuchGroupError,
             cfg.TemplateSubstitutionError)


class _NotUsable(Exception):
    """A URL is not usable; the text has the reason and no secret."""


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
            value = values[option.dest]
            if (group, option.dest) == _URL and value:
                _check_url(value)
            elif (group, option.dest) == _FOLDER:
                _check_path(value)
            elif isinstance(value, float) and math.isnan(value):
                raise _NotUsable('it is not a number')
        except _NotUsable as exc:
            wrong.append(_sentence(conf, group, option, str(exc)))
        except (cfg.Error, ValueError) as exc:
            wrong.append(not_valid(conf, group, option, exc))
    if wrong:
        raise cfg.ConfigFileValueError('\n'.join(wrong))


def not_valid(conf: cfg.ConfigOpts, group: str, option: cfg.Opt,
              exc: Exception) -> str:
    """Return a sentence about a value that oslo.config refuses.

    :param exc: the error when the value was read.
    """
    return _sentence(conf, group, option, _why(exc, option))


def _sentence(conf: cfg.ConfigOpts, group: str, option: cfg.Opt,
              why: str) -> str:
    return (f'[{group}] {option.dest} ({_source(conf, group, option)}) is '
            f'not valid: {why}')


def _check_url(text: str) -> None:
    """Check the URL of the database; it is not shown, for its password.

    :raises _NotUsable: the URL leads to no database of ours.
    """
    try:
        url = sa.make_url(text)
        backend = url.get_backend_name()
    except (sa_exc.ArgumentError, ValueError) as exc:
        raise _NotUsable(
            'it is no URL of a database, such as '
            'mysql+pymysql://USER:PASSWORD@HOST/ironic_reservations'
        ) from exc
    if backend not in _BACKENDS:
        raise _NotUsable(
            f'"{backend}" is none of the databases of this service. The URL '
            'begins with sqlite, mysql+pymysql or postgresql+psycopg2, for '
            'instance')
    if backend == 'sqlite':
        _check_path(url.database)
    elif backend != 'postgresql' and not url.database:
        raise _NotUsable('it names no database')
    elif text.partition('?')[0].count('@') > 1:
        raise _NotUsable(
            'the characters @ : / ? # % of a user or a password are written '
            '%40 %3A %2F %3F %23 %25 in a URL')


def _check_path(path: str | None) -> None:
    """Check the path of the SQLite file or of its folder.

    :raises _NotUsable: the path is not the same for all processes.
    """
    if not os.path.isabs(path or ''):
        raise _NotUsable(
            'its path is not absolute, so each process may have a database of '
            'its own and promise the same nodes. Write a path such as '
            '/var/lib/ironic-reservations; in a URL, four slashes precede it: '
            'sqlite:////var/lib/ironic-reservations/reservations.sqlite')


def _source(conf: cfg.ConfigOpts, group: str, option: cfg.Opt) -> str:
    variable = environment.variable(group, option.dest)
    if environment.value_of(variable):
        return f'environment variable {variable}'
    return source_lines.set_in(conf, group, option) or 'command line'


def _why(exc: Exception, option: cfg.Opt) -> str:
    if isinstance(exc, _DANGLING):
        # The missing name may be a part of a password.
        return ('"$" refers to another option in a file, and there is none of '
                'that name; write "$$" for "$"')
    if option.secret:
        return 'the value is a secret and is not shown'
    return str(exc.__context__ if isinstance(exc.__context__, ValueError)
               else exc)
