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

"""ironic-reservations-status config: the options that are set, and where."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

from oslo_config import cfg

from ironic_reservations.conf import ignored
from ironic_reservations.conf import in_effect


def run(conf: cfg.ConfigOpts, as_json: bool) -> int:
    """Print each option that is set, and return the exit status.

    :param conf: the configuration with the names of its files.
    :raises oslo_config.cfg.Error: a value is not valid.
    """
    found = in_effect.settings(conf)
    sentences = [*ignored.variables(conf), *ignored.lines(conf)]
    if as_json:
        print(json.dumps({
            'files': conf.config_file,
            'options': [dataclasses.asdict(each) for each in found],
            'ignored': sentences}, indent=2))
        return 0
    for each in found:
        print(f'[{each.section}] {each.option} = {_as_in_a_file(each.value)}')
        print(f'    {each.source}' if each.instead_of is None else
              f'    {each.source}, instead of {each.instead_of}')
    if not found:
        print('No option is set; each has its default.')
    print('Files: ' + (', '.join(conf.config_file) or 'none'))
    for sentence in sentences:
        print(sentence, file=sys.stderr)
    return 0


def _as_in_a_file(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ','.join(map(str, value))
    if isinstance(value, dict):
        return ','.join(f'{name}:{each}' for name, each in value.items())
    return str(value)
