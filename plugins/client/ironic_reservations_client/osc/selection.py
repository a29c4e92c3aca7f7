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

"""Options that say what hosts must be like."""

from __future__ import annotations

import argparse
from typing import Any

from ironicclient import exc

from ironic_reservations_client import requirement_text


def add(parser: argparse.ArgumentParser) -> None:
    """Add them."""
    parser.add_argument(
        '--resource-class',
        metavar='<resource-class>',
        help='Only hosts of this resource class.')
    parser.add_argument(
        '--trait',
        metavar='<trait>',
        action='append',
        default=[],
        dest='traits',
        help='Only hosts with this trait. Can be specified multiple times.')
    parser.add_argument(
        '--property',
        metavar='<name><operator><value>',
        action='append',
        default=[],
        dest='conditions',
        help="Only hosts with this property, for example 'vcpus>=8' or "
             'rack=r1; the operators are =, !=, >=, <=, > and <. Can be '
             'specified multiple times; all of them must match.')


def read(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return them as the managers take them.

    :raises CommandError: a property cannot be read.
    """
    try:
        requirement_text.properties(parsed_args.conditions)
    except ValueError as error:
        raise exc.CommandError(f'--property: {error}') from error
    return {'resource_class': parsed_args.resource_class,
            'traits': parsed_args.traits,
            'conditions': parsed_args.conditions}
