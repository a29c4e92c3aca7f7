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
    try:
        text = pathlib.Path(file).read_text()
    except (OSError, UnicodeError):
        return None
    wanted = {(group.lower(), option.dest), (group.lower(), option.name),
              *(((old.group or group).lower(), old.name)
                for old in option.deprecated_opts)}
    section, found = '', None
    for number, line in enumerate(text.splitlines(), 1):
        if heading := _SECTION.match(line):
            section = heading['name'].lower()
        elif (key := _KEY.match(line)) and (section, key['name']) in wanted:
            found = number
    return found


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
