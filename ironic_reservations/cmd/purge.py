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

"""``ironic-reservations-manage purge``: deletes leases that are over."""

from __future__ import annotations

import argparse
import datetime
from typing import Any

from oslo_config import cfg

from ironic_reservations import engine as engine_module
from ironic_reservations.engine.leases import purge


def add_parser(add: Any) -> None:
    """Add the command to the commands of ``ironic-reservations-manage``."""
    parser = add(
        'purge', help='Delete leases that have been over for a long time, in '
                      'batches, as the reconciler does; one short row for '
                      'each of their reservations is kept as history. Safe '
                      'while the service runs; can be interrupted at any '
                      'time.')
    parser.add_argument('--before', type=_instant, metavar='<date>',
                        help='Delete leases that were over before this date, '
                             'such as 2026-01-31 or 2026-01-31T12:00, in UTC. '
                             'Default: set by [leases] retention.')
    parser.add_argument('--batch', type=_count, default=purge.BATCH,
                        metavar='<number>',
                        help='Number of leases that one transaction deletes. '
                             '(default: %(default)s)')


def _instant(text: str) -> datetime.datetime:
    try:
        given = datetime.datetime.fromisoformat(text)
        return (given.replace(tzinfo=datetime.UTC) if given.tzinfo is None
                else given.astimezone(datetime.UTC))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a date; write it like 2026-01-31') from None


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a number from 1 to 10000')
    return int(text)


def run(engine: engine_module.Engine, options: cfg.SubCommandOpt) -> int:
    """Delete all leases up to a date, and print their number.

    :param options: the parsed command line.
    :raises ValueError: leases are kept for ever, and no date was given.
    """
    before, days = options.before, engine.conf.leases.retention
    if before is None:
        if not days:
            raise ValueError('leases are kept for ever ([leases] retention is '
                             '0). Set with --before which leases to delete.')
        before = engine.clock() - datetime.timedelta(days=days)
    elif before > engine.clock():
        raise ValueError(f'{_shown(before)} is in the future. Use a date that '
                         'has passed.')
    gone = 0
    while done := purge.purge(engine, before, options.batch):
        gone += done
    print(f'Deleted leases that were over before {_shown(before)}: {gone}')
    return 0


def _shown(instant: datetime.datetime) -> str:
    return f'{instant:%Y-%m-%d %H:%M:%S} UTC'
