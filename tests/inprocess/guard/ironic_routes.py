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

"""All routes of the installed Ironic that write."""

from collections.abc import Iterator
import dataclasses
import gc
import inspect
from typing import Any

from ironic.api.controllers import v1
from ironic.api.controllers.v1 import runbook
from pecan import rest

_METHODS = ('POST', 'PUT', 'PATCH', 'DELETE')
_READS = frozenset(('GET', 'HEAD'))
_CONTROLLERS = 'ironic.api.controllers'
#: The name of a function that answers any method.
_DEFAULT = '_default'
#: The ends of the names of first parameters that come from the path.
_IDENTS = ('_ident', '_uuid', '_name')
_OTHER_IDENTS = frozenset(('trait', 'vif_id', 'indicator', 'method'))
#: Controllers below an object that only the code of another controller mounts.
#: Ironic 35 has none for the traits of runbooks.
_MOUNTED = {runbook.RunbooksController: {
    'traits': runbook.RunbookTraitsController} if hasattr(
        runbook, 'RunbookTraitsController') else {}}


@dataclasses.dataclass(frozen=True)
class Route:
    """A function of a controller, and a path that leads to it.

    :ivar path: below ``/v1``, with "*" for an identifier.
    """

    controller: type
    method: str
    path: str

    def __str__(self) -> str:
        return f'{self.method} {self.path}'


def write_routes(root: Any = None) -> list[Route]:
    """Return all routes that write.

    :param root: the first controller; by default that of ``/v1``.
    """
    found = {str(route): route
             for route in _walk(root or v1.Controller(), (), 0)}
    return [found[name] for name in sorted(found)]


def writing_controllers() -> set[type]:
    """Return all controllers that write, with their paths."""
    return {each for each in gc.get_objects()
            if inspect.isclass(each) and issubclass(each, rest.RestController)
            and each.__module__.startswith(_CONTROLLERS)
            and any(_methods(name, each._custom_actions)
                    for name, value in inspect.getmembers(each)
                    if getattr(value, 'exposed', False))}


def _walk(controller: Any, mount: tuple[str, ...],
          taken: int) -> Iterator[Route]:
    """Read the routes of a controller and of the controllers below it.

    :param mount: the path of the controller.
    :param taken: the number of identifiers in the path.
    """
    actions = getattr(controller, '_custom_actions', {})
    above, more = ((*mount, '*'), taken + 1) if hasattr(
        controller, 'get_one') else (mount, taken)
    for name, value in inspect.getmembers(controller):
        if getattr(value, 'exposed', False):
            action = (name,) if name in actions else ()
            for method in _methods(name, actions):
                for path in _paths(value, (*mount, *action), taken):
                    yield Route(type(controller), method, '/'.join(path))
        elif type(value).__module__.startswith(_CONTROLLERS):
            yield from _walk(value, (*above, name), more)
    below = {**getattr(controller, '_subcontroller_map', {}),
             **_MOUNTED.get(type(controller), {})}
    for name, value in below.items():
        # Ironic makes the controllers of an object for each request, with its
        # identifier.
        yield from _walk(value.__new__(value) if inspect.isclass(value)
                         else value, (*above, name), 0)


def _methods(name: str, actions: dict[str, list[str]]) -> list[str]:
    if name in actions:
        return [method for method in actions[name] if method not in _READS]
    if name == _DEFAULT:
        return [*_METHODS]
    return [name.upper()] if name.upper() in _METHODS else []


def _paths(function: Any, path: tuple[str, ...],
           taken: int) -> Iterator[tuple[str, ...]]:
    """Return the paths of a function, with its first parameters."""
    for parameter in inspect.signature(function).parameters.values():
        if not (parameter.name.endswith(_IDENTS)
                or parameter.name in _OTHER_IDENTS):
            break
        if taken:
            taken -= 1
            continue
        if parameter.default is not parameter.empty:
            yield path
        path = (*path, '*')
    yield path
