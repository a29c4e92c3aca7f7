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


"""Parse the bodies of guarded requests.

A body is parsed as Ironic parses it (Python's json, UTF-8).  The body that is
passed on is written from the result, so Ironic cannot understand another one.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
from typing import Any
import uuid as uuid_module

from ironic_reservations import errors
from ironic_reservations.api.types import basic
from ironic_reservations.guard import media
from ironic_reservations.guard import node_acts
from ironic_reservations.model import nesting

PROOF_KEY = 'reservation_uuid'
PROOF_HEADER = 'OpenStack-Baremetal-Reservation'
_INSTANCE = '/instance_uuid'
_DESCRIPTION = '/description'
#: Further fields that belong to an instance.
_OF_INSTANCE = ('/instance_info', '/instance_name')
#: Targets that do not take an available node.  All others are guarded,
#: including those that a later Ironic may add.
HARMLESS = frozenset((*node_acts.OF_TARGETS, 'provide'))
#: Targets that put a node to use.
DEPLOYS = frozenset(('active', 'deploy'))
#: How deeply bodies may be nested if Ironic has no option for it.
DEEPEST = 25
_ALLOCATION_TEXTS = ('name', 'node', 'owner', 'resource_class', 'uuid')
#: What is looked up in the database, and the type that it has in our API.
_LOOKED_UP: Mapping[str, Callable[[Any], object]] = {
    'resource_class': basic.to_resource_class, 'traits': basic.to_traits,
    'owner': basic.to_project}


@dataclasses.dataclass(frozen=True)
class Provision:
    """A change of a node's provision state.

    :ivar body: the body for Ironic.
    :ivar proof: ``reservation_uuid`` in its canonical form.
    """

    target: str
    body: Mapping[str, Any]
    proof: str | None = None

    @property
    def guarded(self) -> bool:
        """Whether the request could take a reserved node."""
        return self.target not in HARMLESS


@dataclasses.dataclass(frozen=True)
class Bind:
    """A patch that binds an instance to a node, or removes it.

    :ivar instance_uuid: the instance; ``None`` if it is removed.
    """

    patch: Sequence[Any]
    instance_uuid: str | None

    @property
    def frees(self) -> bool:
        """Whether it removes the instance, and leaves nothing behind."""
        return all(_written_by(entry) == (None,) or _empties(entry)
                   for entry in self.patch)


@dataclasses.dataclass(frozen=True)
class Allocate:
    """A new allocation.

    :ivar backfill: the active node that gets the allocation.
    :ivar candidates: names or uuids in the order of the request; ``None``: any
        node.
    """

    body: Mapping[str, Any]
    resource_class: str | None
    traits: frozenset[str]
    candidates: tuple[str, ...] | None = None
    backfill: str | None = None


def read_json(raw: bytes, deepest: int = DEEPEST) -> Any:
    """Parse JSON that all parsers read alike.

    :param deepest: the maximum depth of nesting.
    :raises Malformed: the text is not JSON in UTF-8, or is nested too deeply.
    :raises NotCanonical: an object has the same key twice.
    """
    try:
        nesting.check(raw, deepest)
        return json.loads(raw.decode('utf-8'), object_pairs_hook=_once)
    except (nesting.TooDeep, nesting.TooManyParts) as exc:
        raise errors.Malformed(
            f'The body cannot be read: {exc}. Send a smaller document.'
        ) from exc
    except ValueError as exc:
        raise errors.Malformed(
            f'The body is not JSON in UTF-8 ({str(exc)[:120]}). Send valid '
            'JSON.') from exc


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs
                     if key in seen or seen.add(key))  # type: ignore
        raise errors.NotCanonical(
            f'The key {twice[:40]!r} is twice in an object of the body. Send '
            'it once.')
    return read


def read_provision(content_type: str, raw: bytes,
                   deepest: int = DEEPEST) -> Provision:
    """Parse the body of PUT /v1/nodes/X/states/provision.

    :param deepest: the maximum depth of nesting.
    :raises NotCanonical: the body is not a plain JSON object with a target.
    :raises Malformed: the body is not JSON in UTF-8.
    :raises InvalidValue: a value is of the wrong type.
    """
    if not media.is_json(content_type):
        raise errors.NotCanonical(
            'A change of the provision state must be JSON in UTF-8, with '
            'Content-Type application/json.')
    body = read_json(raw, deepest)
    if not isinstance(body, dict) or 'node_ident' in body:
        raise errors.NotCanonical(
            'A change of the provision state must be a JSON object with the '
            'key "target"; the node must be in the path only.')
    target = body.get('target')
    if not isinstance(target, str):
        raise errors.InvalidValue(
            'The key "target" is missing or is not a string. Send the state '
            'that the node is to reach, such as "active".')
    rest = dict(body)
    proof = rest.pop(PROOF_KEY, None)
    if proof is not None:
        proof = read_proof(proof, f'The key "{PROOF_KEY}"')
    return Provision(target, rest, proof)


def read_bind(content_type: str, raw: bytes, canonical: bool,
              deepest: int = DEEPEST) -> Bind | None:
    """Parse a PATCH below /v1/nodes that may change an instance.

    :param canonical: whether the path is canonical and there is no query.
    :param deepest: the maximum depth of nesting.
    :returns: ``None`` if the patch does not change an instance.
    :raises NotCanonical: the patch may change one, but is not in canonical
        form.
    :raises Malformed: the body is not JSON in UTF-8.
    """
    if not raw:
        return None
    if not media.is_utf_8(content_type):
        raise errors.NotCanonical(
            'A change of a node must be JSON in UTF-8. Leave "charset" out of '
            'Content-Type.')
    patch = read_json(raw, deepest)
    if not isinstance(patch, list):
        # Ironic refuses it, since a patch must be a list.
        return None
    written = [value for entry in patch for value in _written_by(entry)]
    if not written:
        return None
    if not canonical or not media.is_json_patch(content_type):
        raise errors.NotCanonical(
            'A change of the instance_uuid of a node must be sent as PATCH '
            '/v1/nodes/<uuid> without a query, with Content-Type '
            'application/json.')
    bound = [value for value in written if value is not None]
    if len(bound) > 1 or not all(isinstance(value, str) for value in bound):
        raise errors.InvalidValue(
            'A patch may set instance_uuid only once, and to a string.')
    return Bind(patch, bound[0] if bound else None)


def check_description(patch: Any) -> None:
    """Check that Ironic can read the description in a PATCH of a node.

    It answers 500 otherwise, before it applies its policy, and the node would
    be kept until the outcome is known.

    :raises InvalidValue: the description is not a string.
    """
    for entry in patch if isinstance(patch, list) else ():
        if (isinstance(entry, dict) and entry.get('path') == _DESCRIPTION
                and entry.get('op') != 'remove'
                and not isinstance(entry.get('value'), str)):
            raise errors.InvalidValue(
                f'The value of "{_DESCRIPTION}" must be a string. Use the '
                'operation "remove" to delete it.')


def _written_by(entry: Any) -> tuple[Any, ...]:
    """Return the values that an entry of a patch writes to instance_uuid."""
    if not isinstance(entry, dict):
        return ()
    if not any(_INSTANCE[1:] in field(entry.get(key)) for key in
               ('path', 'from')):
        return ()
    if entry.get('path') == _INSTANCE and 'from' not in entry:
        if entry.get('op') == 'remove':
            return (None,)
        if entry.get('op') in ('add', 'replace'):
            # The value null removes the instance, like "remove".
            return (entry.get('value'),)
    raise errors.NotCanonical(
        'A patch of instance_uuid must have only one meaning. Use the '
        f'operations "add", "replace" or "remove" on the path "{_INSTANCE}".')


def _empties(entry: Any) -> bool:
    """Return whether an entry of a patch empties a field of an instance.

    Nova removes instance_info together with the instance.
    """
    if not isinstance(entry, dict) or 'from' in entry:
        return False
    path = str(entry.get('path'))
    removed = entry.get('op') == 'remove' and any(
        path == name or path.startswith(f'{name}/') for name in _OF_INSTANCE)
    return bool(removed or path in _OF_INSTANCE
                and entry.get('value') in (None, {}))


def field(path: Any) -> str:
    """Return the first part of a JSON pointer, unescaped."""
    return str(path or '').lstrip('/').partition('/')[0].casefold()


def read_allocate(content_type: str, raw: bytes,
                  deepest: int = DEEPEST) -> Allocate:
    """Parse the body of POST /v1/allocations.

    :param deepest: the maximum depth of nesting.
    :raises NotCanonical: the body is not plain JSON.
    :raises Malformed: the body is not JSON in UTF-8.
    :raises InvalidValue: a value is of the wrong type, or is missing.
    """
    if not media.is_json(content_type):
        raise errors.NotCanonical(
            'An allocation must be JSON in UTF-8, with Content-Type '
            'application/json.')
    body = read_json(raw, deepest)
    if not isinstance(body, dict):
        raise errors.InvalidValue('An allocation must be a JSON object.')
    for key in _ALLOCATION_TEXTS:
        if not isinstance(body.get(key), str | None):
            raise errors.InvalidValue(
                f'The key "{key}" of an allocation must be a string.')
    for key in ('candidate_nodes', 'traits'):
        value = body.get(key)
        if value is not None and not (
                isinstance(value, list)
                and all(isinstance(item, str) and item for item in value)):
            raise errors.InvalidValue(
                f'The key "{key}" of an allocation must be a list of strings.')
    for key, check in _LOOKED_UP.items():
        try:
            if body.get(key):
                check(body[key])
        except ValueError as exc:
            raise errors.InvalidValue(
                f'The key "{key}" of an allocation cannot be used: {exc}.'
            ) from exc
    node, resource_class = body.get('node'), body.get('resource_class')
    if not node and not resource_class:
        raise errors.InvalidValue(
            'An allocation needs the key "resource_class".')
    return Allocate(body, resource_class,
                    frozenset(body.get('traits') or ()),
                    tuple(body.get('candidate_nodes') or ()) or None,
                    node or None)


def read_proof(value: Any, where: str) -> str:
    """Parse the uuid of a reservation, in any usual form.

    :param where: the field that has it, for the error message.
    :raises InvalidValue: the value is not a uuid.
    """
    text = value.strip() if isinstance(value, str) else ''
    if 32 <= len(text) <= 36:
        try:
            return str(uuid_module.UUID(text))
        except ValueError:
            pass
    raise errors.InvalidValue(
        f'{where} must be the uuid of one reservation, as in the answer to '
        'the request that made it.')


def one_proof(header: str | None, key: str | None) -> str | None:
    """Return the proof of a request, from its header or its body.

    :param header: ``OpenStack-Baremetal-Reservation`` as received.
    :param key: ``reservation_uuid`` of the body, parsed.
    :raises InvalidValue: the header is not a uuid, or the two differ.
    """
    if header is None:
        return key
    proof = read_proof(header, f'The header {PROOF_HEADER}')
    if key is not None and key != proof:
        raise errors.InvalidValue(
            f'The header {PROOF_HEADER} and the key "{PROOF_KEY}" name two '
            'different reservations. Send one.')
    return proof

