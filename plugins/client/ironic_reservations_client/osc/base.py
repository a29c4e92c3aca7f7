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

"""Base classes of all commands, and of the commands that delete."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
import io
import json
import os
from typing import Any
from typing import ClassVar

from ironicclient import exc
from osc_lib.command import command

from ironic_reservations_client import errors
from ironic_reservations_client import resource
from ironic_reservations_client.osc import hints
from ironic_reservations_client.osc import options

Columns = tuple[Sequence[str], Iterable[Any]]


class Command(command.Command):
    """A command that prints a refusal as JSON with ``-f json``.

    The sentence for people goes to stderr as always, and so does the status.

    :cvar arguments: its options and arguments.
    :cvar common: the options of a kind of command, which come first.
    """

    arguments: ClassVar[Sequence[options.Addable]] = ()
    common: ClassVar[Sequence[options.Addable]] = ()

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        for option in (*self.common, *self.arguments):
            option.add(parser)
        return parser

    @property
    def client(self) -> Any:
        """The Ironic client."""
        manager: Any = self.app.client_manager
        return manager.baremetal

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command; print a refusal."""
        if isinstance(self.app.stdout, io.TextIOWrapper):
            self.app.stdout.reconfigure(errors='backslashreplace')
        for name, value in vars(parsed_args).items():
            setattr(parsed_args, name, _decoded(value))
        try:
            options.check(parsed_args)
            return self._explaining(parsed_args)
        except exc.ClientException as error:
            if getattr(parsed_args, 'formatter', None) == 'json':
                print(json.dumps({'error': _described(error)}, indent=2),
                      file=self.app.stdout)
            raise

    def _explaining(self, parsed_args: argparse.Namespace) -> int:
        """Run the command; explain a refusal in the words of commands."""
        try:
            with errors.reaching():
                return int(super().run(parsed_args) or 0)
        except exc.NotFound as error:
            errors.check_nodes(error)
            raise _explained(error) from None
        except errors.Refused as error:
            raise _explained(error) from None


class Deletion(Command):
    """Deletes several resources, and continues after a failure.

    :cvar manager: the class that deletes one of them.
    :cvar thing: the kind of resource.
    :cvar verbs: the verbs in sentences before and after a deletion.
    """

    manager: ClassVar[type[resource.Collection[Any]]]
    thing: ClassVar[str]
    verbs: ClassVar[tuple[str, str]] = ('delete', 'Deleted')

    def delete(self, ident: str) -> None:
        """Delete one resource.

        :raises ClientException: the resource cannot be deleted.
        """
        self.manager(self.client).delete(ident)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        verb, done = self.verbs
        failures = []
        for ident in parsed_args.idents:
            try:
                self.delete(ident)
                print(f'{done} {self.thing} {ident}')
            except exc.ClientException as error:
                failures.append(f'Failed to {verb} {self.thing} {ident}: '
                                f'{_explained(error)}')
            except ValueError as error:
                failures.append(f'Failed to {verb} {self.thing}: {error}')
        if failures:
            raise exc.ClientException('\n'.join(failures))


def named(thing: str, text: str) -> options.Option:
    """Return the argument that names the resources to delete."""
    return options.Option('idents', text, metavar=f'<{thing}>', nargs='+')


def _decoded(typed: Any) -> Any:
    """Return a typed value, which Python cannot decode in the locale C."""
    if isinstance(typed, list):
        return [_decoded(each) for each in typed]
    if isinstance(typed, str) and any(map(_is_surrogate, typed)):
        return os.fsencode(typed).decode(errors='replace')
    return typed


def _is_surrogate(character: str) -> bool:
    return '\ud800' <= character <= '\udfff'


def _explained(error: exc.ClientException) -> exc.ClientException:
    if isinstance(error, errors.Refused):
        error.reword(hints.explained)
    return error


def _described(error: exc.ClientException) -> dict[str, Any]:
    if not isinstance(error, errors.Refused):
        return {'status': getattr(error, 'http_status', None), 'code': None,
                'detail': str(error), 'reasons': [], 'offers': [],
                'request_id': getattr(error, 'request_id', None)}
    refusal = error.refusal
    return {
        'status': refusal.status, 'code': refusal.code,
        'detail': refusal.sentence, 'reasons': [
            {**reason, **({'node_name': refusal.names[reason['node_uuid']]}
                          if reason.get('node_uuid') in refusal.names else {})}
            for reason in refusal.reasons],
        'offers': list(refusal.offers), 'request_id': refusal.request_id}
