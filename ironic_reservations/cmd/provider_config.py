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

_HEAD = """\
# Written by ironic-reservations-manage nova provider-config. It belongs into
# the folder [compute] provider_config_location of nova.conf, of each
# nova-compute, which reads it when it starts.
#
# {whose}
meta:
  schema_version: '1.0'
providers:
  - identification:
      uuid: $COMPUTE_NODE
    inventories:
      additional:
"""
_NODES = """\
One entry stands for all hosts of a nova-compute, that is, for all its nodes
# of Ironic, except those that another entry names by uuid or name."""
_COMPUTE_HOST = """\
For compute hosts, not for the nova-compute of Ironic."""
# All fields are named: in each of its cycles, Nova would send again each field
# for which Placement has filled in another value.
_SLOT = """\
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
    nova = add('nova', help='Settings that Nova needs for reservations.')
    actions = nova.add_subparsers(dest='action', required=True,
                                  metavar='<action>')
    command = actions.add_parser(
        'provider-config',
        help='Write the provider.yaml with which nova-compute adds slots '
             '([nova] slot_class) to each of its hosts. Without slots, a '
             'server whose flavor requests only reserved instances is not '
             'placed.')
    command.add_argument('--output', metavar='<file>',
                         help='The file to write, completely or not at all. '
                              'By default, the text is printed.')
    command.add_argument('--total', metavar='<servers>', type=_positive,
                         help='For compute hosts: the number of servers of '
                              'leases that each host may have. Omit it for '
                              'nodes of Ironic, which have one.')


def run(conf: cfg.ConfigOpts, options: Any) -> int:
    """Write or print the file, and return the exit status.

    :param options: the parsed command line.
    :raises OSError: the file cannot be written.
    """
    text = _text(conf, options.total)
    if options.output is None:
        sys.stdout.write(text)
    else:
        _write(options.output, text)
    return 0


def _text(conf: cfg.ConfigOpts, total: int | None) -> str:
    if total is not None:
        return _HEAD.format(whose=_COMPUTE_HOST) + _SLOT.format(
            slot_class=conf.nova.lease_slot_class, total=total)
    return _HEAD.format(whose=_NODES) + ''.join(
        _SLOT.format(slot_class=slot_class, total=1)
        for slot_class in dict.fromkeys((conf.nova.slot_class,
                                         conf.nova.lease_slot_class)))


def _positive(word: str) -> int:
    number = int(word)
    if number < 1:
        raise ValueError(word)
    return number


def _write(path: str, text: str) -> None:
    """Replace a file atomically, so that no reader sees a part of it."""
    descriptor, beside = tempfile.mkstemp(
        prefix='.', suffix='.new', dir=os.path.dirname(path) or '.')
    try:
        with os.fdopen(descriptor, 'w') as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # nova-compute runs as another user.
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
