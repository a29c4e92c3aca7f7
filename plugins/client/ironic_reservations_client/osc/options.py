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

"""The options of commands, most of them derived from the resources."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any
from typing import Protocol

from ironicclient import exc

from ironic_reservations_client import fields
from ironic_reservations_client import requirement_text
from ironic_reservations_client import resources
from ironic_reservations_client.osc import typed

FLAG = {'action': 'store_true'}
#: An option that is given several times.
MANY = {'action': 'append', 'default': []}
TIME = {'metavar': '<time>', 'type': typed.instant}
DURATION = {'metavar': '<duration>', 'type': typed.duration}
_SETTINGS: dict[fields.Kind, dict[str, Any]] = {
    fields.Kind.FLAG: FLAG, fields.Kind.NUMBER: {'type': int},
    fields.Kind.SECONDS: DURATION, fields.Kind.INSTANT: TIME,
    fields.Kind.PLAIN_SECONDS: {'type': typed.plain_seconds},
    fields.Kind.WINDOW: {**TIME, 'metavar': ('<time>', '<time>'), 'nargs': 2},
    fields.Kind.TEXTS: MANY, fields.Kind.CHOICE: {'nargs': '*'}}


class Addable(Protocol):
    """One or several options."""

    def add(self, parser: Any) -> None:
        """Add the options to a parser, or to a group of options."""


class Option:
    """An option or an argument of a command.

    :param settings: the arguments of ``add_argument``; the default of
        ``metavar`` is the name.
    """

    def __init__(self, name: str, help: str, **settings: Any) -> None:
        self._name = name
        self._settings = {'help': help, **settings}
        if not settings.get('action', '').startswith('store_'):
            self._settings.setdefault('metavar', f'<{name.strip("-")}>')

    def add(self, parser: Any) -> None:
        parser.add_argument(self._name, **self._settings)


class OneOf:
    """Options that exclude each other.

    :param required: whether one of them must be given.
    """

    def __init__(self, *options: Addable, required: bool = False) -> None:
        self._options = options
        self._required = required

    def add(self, parser: Any) -> None:
        group = parser.add_mutually_exclusive_group(required=self._required)
        for option in self._options:
            option.add(group)


def of(resource: fields.Resource, use: str, *names: str
       ) -> Iterator[Addable]:
    """Yield the options for fields of a resource.

    :param use: ``create`` or ``change``.
    :param names: the Python names of the fields; by default all fields with
        that use.
    """
    for name in names or [field.python for field in resource.fields
                          if getattr(field, use)]:
        field = resource.field(name)
        settings = {**_SETTINGS.get(field.kind, {}), **(
            {'metavar': field.metavar} if field.metavar else {})}
        if field.option.startswith('-'):
            settings['dest'] = field.python
        if field.opposite is None:
            yield Option(field.option, getattr(field, use), **settings)
            continue
        opposite, text = field.opposite
        yield OneOf(Option(field.option, getattr(field, use), **settings,
                           default=None),
                    Option(opposite, text, action='store_false', default=None,
                           dest=field.python))


SELECTION = (*of(resources.REQUIREMENT, 'create'),)


def selected(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return the requirement on hosts, as the managers expect it.

    :raises CommandError: a property cannot be parsed.
    """
    chosen = resources.REQUIREMENT.read(vars(parsed_args), 'create')
    try:
        requirement_text.properties(chosen['conditions'])
    except ValueError as error:
        raise exc.CommandError(f'--property: {error}') from error
    return chosen


def wait(event: str) -> Option:
    """Return ``--wait``.

    :param event: the event in a sentence.
    """
    return Option(
        '--wait', f'Wait for {event}, at most for this time: seconds, or a '
        'duration like 10m. Without a number, wait indefinitely.',
        type=typed.plain_seconds, dest='wait_timeout', metavar='<time-out>',
        const=0, nargs='?')


def page(thing: str, ident: str = 'ID', default: str = '. Default is all.'
         ) -> tuple[Option, Option]:
    """Return ``--limit`` and ``--marker``.

    :param thing: the kind of resource in a sentence.
    :param default: the end of the help, for no limit.
    """
    return (
        Option('--limit', f'Maximum number of {thing}s to return{default}',
               metavar='<limit>', type=int),
        Option('--marker', f'{thing.capitalize()} {ident} (for example, of '
               f'the last {thing} in the list from a previous request). '
               f'Returns the list of {thing}s after this {ident}.',
               metavar=f'<{thing}>'))


SORT = Option(
    '--sort', 'Sort output by specified fields and directions (asc or desc) '
    '(default: asc). Multiple fields and directions can be specified, '
    'separated by comma.', metavar='<key>[:<direction>]')


def in_order(found: Iterable[Any], sort: str | None,
             columns: Iterable[str],
             cell: Callable[[Any, str], Any]) -> list[Any]:
    """Return resources in the order of ``--sort``, empty values first.

    :param columns: the fields that can order them.
    :param cell: returns the value of a field of a resource.
    :raises CommandError: a field or a direction is not known.
    """
    found = list(found)
    for each in reversed((sort or '').split(',') if sort else ()):
        name, _, direction = each.partition(':')
        for what, typed_, known in (('field', name, [*columns]), (
                'direction', direction or 'asc', ['asc', 'desc'])):
            if typed_ not in known:
                raise exc.CommandError(f'--sort: {typed_!r} is no {what} to '
                                       f'sort by. Use {", ".join(known)}.')
        found.sort(key=lambda one, name=name: (  # type: ignore[misc]
            (value := cell(one, name)) is not None, value),
            reverse=direction == 'desc')
    return found


def check(parsed_args: argparse.Namespace) -> None:
    """Check the numbers of ``--wait`` and ``--limit``.

    :raises CommandError: a number is below zero.
    """
    for option, name in (('--wait timeout', 'wait_timeout'),
                         ('--limit', 'limit')):
        number = getattr(parsed_args, name, None)
        if number is not None and number < 0:
            raise exc.CommandError(
                f'Expected non-negative {option}, got {number}')
