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


"""Options that say what each instance of a lease is like."""

from __future__ import annotations

import argparse
from typing import Any

from ironicclient import exc

from ironic_reservations_client.osc import flavor_file

_SIZES = ('vcpus', 'ram', 'disk')


def add(parser: argparse.ArgumentParser) -> None:
    """Add them."""
    for name, unit, what in (('vcpus', 'vcpus', 'vCPUs'),
                             ('ram', 'size-mb', 'Memory in MB'),
                             ('disk', 'size-gb', 'Disk in GB')):
        parser.add_argument(
            f'--{name}', metavar=f'<{unit}>', type=int,
            help=f'{what} of each instance, with --instances.')
    flavor = parser.add_mutually_exclusive_group()
    flavor.add_argument(
        '--flavor',
        metavar='<flavor>',
        help='Name or ID of the flavor in Nova that sets the size of each '
             'instance.')
    flavor.add_argument(
        '--flavor-file',
        metavar='<file>',
        help='File with the output of "openstack flavor show -f json" for '
             'that flavor, or - for the standard input.')
    affinity = parser.add_mutually_exclusive_group()
    affinity.add_argument(
        '--affinity', action='store_true', default=None,
        help='All instances on one host.')
    affinity.add_argument(
        '--anti-affinity', action='store_false', default=None,
        dest='affinity', help='All instances on different hosts.')


def read(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return them as ``lease_payload.instances`` takes them.

    :raises CommandError: they say too little, or twice.
    """
    sizes = {name: getattr(parsed_args, name) for name in _SIZES
             if getattr(parsed_args, name) is not None}
    flavor = flavor_file.read(parsed_args.flavor_file)
    named = parsed_args.flavor is not None or flavor is not None
    if bool(sizes) is named:
        raise exc.CommandError(
            'Set the size of the instances either with --vcpus, --ram and '
            '--disk, or with --flavor or --flavor-file.')
    return {'vcpus': sizes.get('vcpus'), 'memory_mb': sizes.get('ram'),
            'disk_gb': sizes.get('disk'), 'flavor_id': parsed_args.flavor,
            'flavor': flavor, 'affinity': parsed_args.affinity}


def check_none(parsed_args: argparse.Namespace) -> None:
    """Check that none of them is given where hosts are leased.

    :raises CommandError: one is.
    """
    given = [f'--{name.replace("_", "-")}' for name in (
        *_SIZES, 'flavor', 'flavor_file', 'affinity')
        if getattr(parsed_args, name) is not None]
    if given:
        raise exc.CommandError(
            f'{given[0]} applies to instances. Set their number with '
            '--instances.')
