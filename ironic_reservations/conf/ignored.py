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

"""Warns of our variables, and lines of files, that have no effect."""

from __future__ import annotations

from collections.abc import Iterable
import difflib
import os
import re

from oslo_config import cfg

from ironic_reservations.conf import environment
from ironic_reservations.conf import known
from ironic_reservations.conf import source_lines

#: The similarity of two names from which one may be meant by the other.
_ALIKE = 0.8
#: The sections of libraries begin with these words.
_SECTIONS = (known.DEFAULT, 'keystone_authtoken', 'oslo')
_HOW = (f'The name of one is {environment.PREFIX}<SECTION>__<OPTION>, in '
        'upper case.')


def variables(conf: cfg.ConfigOpts) -> list[str]:
    """Return a sentence for each variable with our prefix without effect.

    No sentence contains the value of a variable, which may be a secret.

    :param conf: the configuration whose files may add options.
    """
    given = sorted(name for name in os.environ
                   if name.startswith(environment.PREFIX))
    if not given:
        return []
    own = known.own()
    sections = {group for group, _ in own}
    given = [name for name in given if _is_meant(name, sections)]
    if not given:
        return []
    names = _names(own)
    former: dict[str, str] = {}
    # To list the options of libraries, these must be loaded.
    if not names.issuperset(given):
        options = known.everything(conf).options
        names, former = _names(options), _former(options)
    return [sentence for name in given
            if (sentence := _sentence(name, names, former))]


def lines(conf: cfg.ConfigOpts) -> list[str]:
    """Return a sentence for each line of the files that sets no option.

    No sentence contains a value, which may be a secret.

    :param conf: the configuration with the names of its files.
    """
    found = list(source_lines.keys(conf))
    if not found:
        return []
    names = {(group.lower(), name.replace('-', '_'))
             for group, option in known.everything(conf).options
             for name, group in (
                 (option.dest, group), (option.name, group),
                 *((old.name, old.group or group)
                   for old in option.deprecated_opts))}
    spelled = {f'[{group}] {name}' for group, name in names}
    return [_of_line(where, f'[{section}] {name}', spelled)
            for where, section, name in found
            if (section.lower(), name.replace('-', '_')) not in names]


def _of_line(where: str, name: str, spelled: Iterable[str]) -> str:
    close = difflib.get_close_matches(name.lower(), sorted(spelled), 1,
                                      _ALIKE)
    meant = f' Is {close[0]} meant?' if close else ''
    return f'{name} ({where}) is ignored, since it names no option.{meant}'


def _is_meant(name: str, sections: Iterable[str]) -> bool:
    """Return whether a variable seems to be meant for an option.

    Other programs, such as the tests, have variables with our prefix.
    """
    rest = name.removeprefix(environment.PREFIX)
    return '__' in rest or rest.startswith(tuple(
        f'{section.upper()}_' for section in (*sections, *_SECTIONS)))


def _names(options: Iterable[tuple[str, cfg.Opt]]) -> set[str]:
    return {environment.variable(group, option.dest)
            for group, option in options}


def _former(options: Iterable[tuple[str, cfg.Opt]]) -> dict[str, str]:
    """Return the present variable for each former name of an option."""
    return {environment.variable(old.group or group,
                                 old.name.replace('-', '_')):
            environment.variable(group, option.dest)
            for group, option in options for old in option.deprecated_opts}


def _sentence(name: str, names: set[str],
              former: dict[str, str]) -> str | None:
    if name in names:
        return None if environment.value_of(name) else (
            f'The environment variable {name} is empty and is ignored. Set '
            'the option in the configuration file if it is to be empty.')
    meant = former.get(name) or _alike(name, names)
    return (f'The environment variable {name} is ignored, since it names no '
            f'option. {_HOW if meant is None else f"Is {meant} meant?"}')


def _alike(name: str, names: set[str]) -> str | None:
    """Return the variable with the most similar name, or ``None``."""
    by_words = {_words(each): each for each in sorted(names)}
    close = difflib.get_close_matches(_words(name), by_words, 1, _ALIKE)
    return by_words[close[0]] if close else None


def _words(name: str) -> str:
    return re.sub('_+', '_', name.removeprefix(environment.PREFIX))
