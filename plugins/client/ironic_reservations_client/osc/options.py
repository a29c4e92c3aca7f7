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


"""Options that several commands have: for waiting, and for pages of lists."""

from __future__ import annotations

import argparse

from ironicclient import exc


def add_wait(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--wait``.

    :param what: is waited for.
    """
    parser.add_argument(
        '--wait',
        type=int,
        dest='wait_timeout',
        default=None,
        metavar='<time-out>',
        const=0,
        nargs='?',
        help=f'Wait for {what}. Optionally takes a timeout value (in '
             'seconds). The default value is 0, meaning it will wait '
             'indefinitely.')


def add_page(parser: argparse.ArgumentParser, thing: str, ident: str = 'ID',
             default: str = '. Default is all.') -> None:
    """Add ``--limit`` and ``--marker``.

    :param thing: is listed.
    :param default: what is said of no limit.
    """
    parser.add_argument(
        '--limit',
        metavar='<limit>',
        type=int,
        help=f'Maximum number of {thing}s to return{default}')
    parser.add_argument(
        '--marker',
        metavar=f'<{thing}>',
        help=f'{thing.capitalize()} {ident} (for example, of the last '
             f'{thing} in the list from a previous request). Returns the '
             f'list of {thing}s after this {ident}.')


def check_wait(parsed_args: argparse.Namespace) -> None:
    """Check the number of ``--wait``.

    :raises CommandError: it is below zero.
    """
    _check('--wait timeout', parsed_args.wait_timeout)


def check_page(parsed_args: argparse.Namespace) -> None:
    """Check the number of ``--limit``.

    :raises CommandError: it is below zero.
    """
    _check('--limit', parsed_args.limit)


def _check(option: str, number: int | None) -> None:
    if number is not None and number < 0:
        raise exc.CommandError(f'Expected non-negative {option}, got {number}')
