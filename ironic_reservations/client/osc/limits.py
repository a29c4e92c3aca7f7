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

"""The command ``baremetal reservation limits``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
import logging
from typing import Any

from osc_lib.command import command

from ironic_reservations.client import limits

_COLUMNS = ('limit', 'used', 'allowed', 'unit', 'resource_class')


class ListLimits(command.Lister):
    """List what your project may have, and what of it is used"""

    log = logging.getLogger(__name__ + '.ListLimits')

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Say whose."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--project',
            metavar='<project>',
            help='List the limits of this project (ID), as they hold for its '
                 'members. For administrators.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> tuple[Sequence[str], Iterable[Any]]:
        """List them."""
        self.log.debug('take_action(%s)', parsed_args)
        found = limits.LimitsManager(
            self.app.client_manager.baremetal).get(parsed_args.project)
        # NOTE: a service before 1.13 has no limits by class.
        return ([name.replace('_', ' ').capitalize() for name in _COLUMNS],
                (tuple(each.get(name) for name in _COLUMNS)
                 for each in found.absolute))
