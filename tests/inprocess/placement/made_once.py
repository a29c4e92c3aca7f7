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

"""What Placement makes for each request, made once in a process.

With each request Placement checks that its own schema is a schema, names its
own tables anew, and reads what arguments its own functions have.  All of that
is the same each time, and took a third of it.
"""

from collections.abc import Callable
import functools
import importlib
import inspect
import pkgutil
import types
from typing import Any

import jsonschema
from oslo_db.sqlalchemy import engines
from oslo_middleware import base as middleware
from oslo_policy import _checks as policy_checks
from placement import objects
from placement import util
import sqlalchemy as sa


class _Schemas:
    """Checks documents as ``jsonschema.validate`` does."""

    def __init__(self) -> None:
        # NOTE: with each schema, so that no other one gets its id.
        self._known: dict[int, tuple[Any, Any]] = {}

    def validate(self, document: Any, schema: Any,
                 format_checker: jsonschema.FormatChecker) -> None:
        """Check a document.

        :raises jsonschema.ValidationError: it is not as the schema says.
        """
        if id(schema) not in self._known:
            kind = jsonschema.validators.validator_for(schema)
            kind.check_schema(schema)
            self._known[id(schema)] = schema, kind(
                schema, format_checker=format_checker)
        error = jsonschema.exceptions.best_match(
            self._known[id(schema)][1].iter_errors(document))
        if error is not None:
            raise error


class _SQLAlchemy:
    """SQLAlchemy, with one alias of a name for each table."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sa, name)

    @staticmethod
    @functools.cache
    def alias(table: sa.Table, name: str) -> sa.FromClause:
        """Return the alias, whose columns are made at their first use."""
        return sa.alias(table, name)


_of_function = functools.cache(inspect.getfullargspec)


def _arguments(method: Callable[..., Any]) -> inspect.FullArgSpec:
    """Return what arguments a method has, which are those of its function."""
    return _of_function(getattr(method, '__func__', method))


@functools.cache
def share() -> None:
    """Have Placement make these once in this process."""
    util.jsonschema = types.SimpleNamespace(
        validate=_Schemas().validate, FormatChecker=jsonschema.FormatChecker,
        ValidationError=jsonschema.ValidationError)
    for module in _modules():
        module.sa = _SQLAlchemy()
    middleware.getfullargspec = _arguments
    policy_checks.inspect = types.SimpleNamespace(getfullargspec=_arguments)
    # NOTE: it lets green threads run, of which there are none here, and other
    # processes, whenever a connection is given back.
    engines._thread_yield = lambda *_: None


def _modules() -> list[Any]:
    """Return the modules of Placement's objects that have statements."""
    return [module for each in pkgutil.iter_modules(objects.__path__)
            for module in [importlib.import_module(
                f'{objects.__name__}.{each.name}')]
            if getattr(module, 'sa', None) is sa]
