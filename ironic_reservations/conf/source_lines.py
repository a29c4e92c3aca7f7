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

"""Determines the file and the line that set an option."""

from __future__ import annotations

from collections.abc import Iterator
import pathlib
import re

from oslo_config import cfg

_SECTION = re.compile(r'\[(?P<name>[^\]]+)\]')
#: A line that begins with a space continues the previous value.
_KEY = re.compile(r'(?P<name>[^\s#;=:\[][^=:]*?)\s*[=:]')


def line_of(file: str, group: str, option: cfg.Opt) -> int | None:
    """Return the number of the last line of a file that sets an option.

    :param file: a path.
    :param group: the section of the option.
    :returns: ``None`` if there is no such line, or the file cannot be read.
    """
    wanted = {(group.lower(), option.dest), (group.lower(), option.name),
              *(((old.group or group).lower(), old.name)
                for old in option.deprecated_opts)}
    found = None
    for number, section, name in _keys(file):
        if (section.lower(), name) in wanted:
            found = number
    return found


def keys(conf: cfg.ConfigOpts) -> Iterator[tuple[str, str, str]]:
    """Yield each line of the files that sets something.

    :returns: the place, for people, the section and the name.
    """
    for file in _files(conf):
        for number, section, name in _keys(file):
            yield f'{file}, line {number}', section, name


def _keys(file: str) -> Iterator[tuple[int, str, str]]:
    try:
        text = pathlib.Path(file).read_text()
    except (OSError, UnicodeError):
        return
    section = ''
    for number, line in enumerate(text.splitlines(), 1):
        if heading := _SECTION.match(line):
            section = heading['name']
        elif key := _KEY.match(line):
            yield number, section, key['name']


def set_in(conf: cfg.ConfigOpts, group: str, option: cfg.Opt) -> str | None:
    """Return the place in the files where an option is set, for people.

    :returns: the last place, which takes effect; ``None`` if there is none.
    """
    for file in reversed(_files(conf)):
        number = line_of(file, group, option)
        if number is not None:
            return f'{file}, line {number}'
    return None


def _files(conf: cfg.ConfigOpts) -> list[str]:
    """Return the files of a configuration, in the order of reading."""
    return [*conf.config_file,
            *(str(file) for folder in conf.config_dir or ()
              for file in sorted(pathlib.Path(folder).glob('*.conf')))]
