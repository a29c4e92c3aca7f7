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

"""ironic-reservations-manage nova provider-config: a slot for each host."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from oslo_config import cfg

# NOTE: all fields are named. Nova sends again, in each of its cycles, what
# differs from what Placement has filled in.
_DOCUMENT = """\
# Written by ironic-reservations-manage nova provider-config. It belongs into
# the folder [compute] provider_config_location of nova.conf, of each
# nova-compute, which reads it when it starts.
#
# One entry stands for all hosts that a nova-compute has, all nodes of Ironic,
# but for those that another entry names by uuid or name.
meta:
  schema_version: '1.0'
providers:
  - identification:
      uuid: $COMPUTE_NODE
    inventories:
      additional:
        - {slot_class}:
            total: {total}
            reserved: 0
            min_unit: 1
            max_unit: 1
            step_size: 1
            allocation_ratio: 1.0
"""


def add_parser(add: Any) -> None:
    """Add ``nova`` to the commands.

    :param add: adds a parser to the commands.
    """
    nova = add('nova', help='What Nova has to know of reservations.')
    actions = nova.add_subparsers(dest='action', required=True,
                                  metavar='<action>')
    command = actions.add_parser(
        'provider-config',
        help='Write the provider.yaml by which nova-compute gives each of '
             'its hosts a slot ([nova] slot_class), without which no server '
             'of a flavor that asks for reserved instances only is ever '
             'placed.')
    command.add_argument('--output', metavar='<file>',
                         help='The file to write, whole or not at all; by '
                              'default it is printed.')
    command.add_argument('--total', metavar='<servers>', type=_positive,
                         default=1,
                         help='How many servers a host may have; 1, the '
                              'default, for nodes of Ironic.')


def run(conf: cfg.ConfigOpts, options: Any) -> int:
    """Write the file, or print it; gives the exit status.

    :param options: the words of the command line.
    :raises OSError: the file cannot be written.
    """
    text = _DOCUMENT.format(slot_class=conf.nova.slot_class,
                            total=options.total)
    if options.output is None:
        sys.stdout.write(text)
    else:
        _write(options.output, text)
    return 0


def _positive(word: str) -> int:
    number = int(word)
    if number < 1:
        raise ValueError(word)
    return number


def _write(path: str, text: str) -> None:
    """Replace a file, so that nobody ever reads half of it."""
    descriptor, beside = tempfile.mkstemp(
        prefix='.', suffix='.new', dir=os.path.dirname(path) or '.')
    try:
        with os.fdopen(descriptor, 'w') as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # NOTE: nova-compute is another user.
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
