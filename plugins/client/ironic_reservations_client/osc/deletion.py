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

"""Commands that delete several things, one after the other."""

from __future__ import annotations

import abc
import argparse
from typing import Any
from typing import ClassVar

from ironicclient import exc

from ironic_reservations_client.osc import base
from ironic_reservations_client.osc import options


class Deletion(base.Command, abc.ABC):
    """Deletes all of several things that can be deleted.

    :cvar thing: which kind of thing.
    :cvar verbs: for a thing that is deleted, and for one that has been.
    """

    thing: ClassVar[str]
    verbs: ClassVar[tuple[str, str]] = ('delete', 'Deleted')

    @abc.abstractmethod
    def delete(self, client: Any, ident: str) -> None:
        """Delete one.

        :param client: an Ironic client.
        :raises ClientException: it cannot be deleted.
        """

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        verb, done = self.verbs
        failures = []
        for ident in parsed_args.idents:
            try:
                self.delete(self.client, ident)
                print(f'{done} {self.thing} {ident}')
            except exc.ClientException as error:
                failures.append(
                    f'Failed to {verb} {self.thing} {ident}: {error}')
        if failures:
            raise exc.ClientException('\n'.join(failures))


def named(thing: str, text: str) -> options.Option:
    """Return the argument that names the things to delete."""
    return options.Option('idents', text, metavar=f'<{thing}>', nargs='+')
