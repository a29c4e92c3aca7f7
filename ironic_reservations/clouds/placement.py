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

"""Client for Placement, one request for each call; no write is sent twice.

A write returns an answer (:mod:`.placement_answers`): whether it was done, and
if not, why, or that the outcome is unknown. A read returns the result, or
raises.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import numbers
import time
from typing import Any
from typing import TypeVar
from urllib import parse

from keystoneauth1 import exceptions as ksa_exc
from oslo_config import cfg

from ironic_reservations import errors
from ironic_reservations.clouds import documents
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.clouds import sending

Version = answers.Version
LEAST = answers.LEAST
#: The version that introduced consumer types.
TYPES: Version = (1, 38)
_BEFORE_TYPES: Version = (1, 37)
#: The type of consumers that were written without one, as Nova writes them.
NO_TYPE = 'unknown'
#: The newest version that the calls support.
BEST: Version = (1, 38)
#: How long, in seconds, an older version of Placement is remembered.
_REMEMBERED = 600.0

VERSION_HEADER = 'OpenStack-API-Version'
#: The token of an administrator in a Placement without authentication.
ADMIN = 'admin'

Resources = Mapping[str, int]

_GENERATION = 'resource_provider_generation'
#: The kinds and minimums of the values in an inventory, and their maximum: the
#: largest ratio that Placement stores.
_OFFER: dict[str, tuple[type[Any], int]] = {
    'total': (int, 0), 'reserved': (int, 0), 'min_unit': (int, 0),
    'max_unit': (int, 0), 'step_size': (int, 1),
    'allocation_ratio': (numbers.Real, 0)}
_LARGEST = 3.5e38
_T = TypeVar('_T')
#: Tells from a status and a document whether Placement has no such thing.
_Absent = Callable[[int, Any], bool]


@dataclasses.dataclass(frozen=True)
class AllocationRequest:
    """The allocations that a consumer should have.

    :ivar allocations: the resources by provider; an empty mapping removes all
        allocations.
    :ivar generation: the generation of the consumer; ``None``: it does not
        exist.
    :ivar consumer_type: ignored if Placement does not support types; with
        ``None`` or :data:`NO_TYPE`, no type is written.
    """

    allocations: Mapping[str, Resources]
    project_id: str
    user_id: str
    generation: int | None
    consumer_type: str | None


@dataclasses.dataclass(frozen=True)
class Consumer:
    """The allocations of a consumer; empty if it does not exist.

    :ivar generation: ``None`` if it has no allocations.
    :ivar consumer_type: :data:`NO_TYPE` if it has none; ``None`` if Placement
        does not support types.
    """

    allocations: Mapping[str, Resources]
    generation: int | None = None
    project_id: str | None = None
    user_id: str | None = None
    consumer_type: str | None = None


@dataclasses.dataclass(frozen=True)
class Provider:
    """A resource provider.

    :ivar generation: grows with each write of inventories, traits or
        allocations, but not with a DELETE of allocations.
    """

    uuid: str
    name: str
    generation: int
    parent: str | None = None


@dataclasses.dataclass(frozen=True)
class Allocated:
    """The allocations on a provider.

    :ivar consumers: the resources of each consumer.
    :ivar usages: the usage of each class, read afterwards.
    :ivar steady: whether nothing was allocated in between; deletions are
        possible.
    """

    consumers: Mapping[str, Resources]
    usages: Mapping[str, int]
    steady: bool


@dataclasses.dataclass(frozen=True)
class Inventories:
    """The inventories of a provider.

    :ivar generation: the generation of the provider.
    """

    generation: int
    by_class: Mapping[str, Mapping[str, Any]]


class Placement:
    """Reads and writes, each with the version of the API that it needs.

    :param sender: sends the requests.
    :param token: sent with each request instead of the sender's credentials.
    :ivar version: the newest version of the API that is known to be offered.
    """

    def __init__(self, sender: sending.Sender,
                 token: str | None = None) -> None:
        self._sender = sender
        self._headers = {'Accept': 'application/json'}
        self._authenticated = token is None
        if token is not None:
            self._headers['X-Auth-Token'] = token
        if token == ADMIN:
            # Without this, the token has the role admin only.
            self._headers['X-Roles'] = 'admin,service'
        self.version = BEST
        self._old_until = 0.0

    @classmethod
    def over_http(cls, conf: cfg.ConfigOpts) -> Placement:
        """Return a client for the endpoint in [placement]."""
        return cls(
            sending.adapter(conf, 'placement'),
            ADMIN if conf.placement.auth_type in (None, 'none') else None)

    # Reading

    def consumer(self, uuid: str) -> Consumer:
        """Return the allocations of a consumer."""
        return self._read_there(f'/allocations/{uuid}', _consumer)

    def provider(self, uuid: str) -> Provider | None:
        """Return a provider; ``None`` if it does not exist."""
        return self._read(f'/resource_providers/{uuid}', _provider)

    def providers(self, **filters: str) -> list[Provider]:
        """Return providers, all in one request.

        :param filters: parameters of the query; with ``resources``, the result
            is empty if there is no such class.
        """
        return self._read(
            '/resource_providers?' + parse.urlencode(filters), lambda body: [
                _provider(each) for each in documents.each_of(
                    body, 'resource_providers', dict)],
            answers.is_no_class) or []

    def consumers_on(self, provider: str) -> dict[str, Resources] | None:
        """Return the resources of each consumer on a provider.

        :returns: ``None`` if there is no such provider.
        """
        return self._read(f'/resource_providers/{provider}/allocations',
                          _resources_of)

    def allocated(self, provider: str) -> Allocated | None:
        """Return the allocations and usages of a provider.

        :returns: ``None`` if there is no such provider.
        """
        path = f'/resource_providers/{provider}'
        consumers = self._read(f'{path}/allocations', lambda body: (
            _generation(body), _resources_of(body)))
        usages = None if consumers is None else self._read(
            f'{path}/usages', lambda body: (_generation(body), _usages(body)))
        if consumers is None or usages is None:
            return None
        return Allocated(consumers[1], usages[1], consumers[0] == usages[0])

    def usages(self, provider: str) -> dict[str, int] | None:
        """Return the usages of a provider; ``None`` if it does not exist."""
        return self._read(f'/resource_providers/{provider}/usages', _usages)

    def inventories(self, provider: str) -> Inventories | None:
        """Return the inventories of a provider, ``None`` if it is missing."""
        return self._read(f'/resource_providers/{provider}/inventories',
                          _inventories)

    def traits(self, provider: str) -> frozenset[str] | None:
        """Return the traits of a provider; ``None`` if it does not exist."""
        return self._read(
            f'/resource_providers/{provider}/traits', lambda body: frozenset(
                documents.each_of(body, 'traits', str)))

    def with_room(self, resource_class: str) -> dict[str, dict[str, int]]:
        """Return the usages of all providers with capacity in a class.

        :returns: usages by provider and class, including other providers in
            the same trees.
        """
        return self._read('/allocation_candidates?' + parse.urlencode(
            {'resources': f'{resource_class}:1'}), lambda body: {
                uuid: {name: documents.field(there, 'used', int)
                       for name, there in documents.mapping(
                           found, 'resources', dict).items()}
                for uuid, found in documents.mapping(
                    body, 'provider_summaries', dict).items()},
            answers.is_no_class) or {}

    def class_there(self, name: str) -> bool:
        """Return whether a resource class exists."""
        return self._read(f'/resource_classes/{name}', _name) is not None

    def classes(self) -> frozenset[str]:
        """Return the names of all resource classes."""
        return self._read_there('/resource_classes', lambda body: frozenset(
            map(_name, documents.each_of(body, 'resource_classes', dict))))

    def candidates(self, query: Iterable[tuple[str, str]]
                   ) -> list[dict[str, Resources]]:
        """Return the allocation candidates of a request.

        :param query: the parameters of the request.
        :returns: for each candidate, the resources by provider.
        """
        return self._read(
            '/allocation_candidates?' + parse.urlencode(list(query)),
            lambda body: [_resources_of(way) for way in documents.each_of(
                body, 'allocation_requests', dict)],
            answers.is_no_class) or []

    # Writing allocations

    def put_allocations(self, consumer: str,
                        wanted: AllocationRequest) -> answers.Answer:
        """Replace the allocations of a consumer."""
        return self._write('PUT', f'/allocations/{consumer}',
                           lambda version: _allocations(wanted, version),
                           _newest(wanted))

    def post_allocations(
            self, wanted: Mapping[str, AllocationRequest]) -> answers.Answer:
        """Replace the allocations of several consumers, all or none."""
        return self._write('POST', '/allocations', lambda version: {
            consumer: _allocations(one, version)
            for consumer, one in wanted.items()},
            min(map(_newest, wanted.values()), default=BEST))

    def delete_allocations(self, consumer: str) -> answers.Answer:
        """Delete the allocations of a consumer."""
        return self._write('DELETE', f'/allocations/{consumer}')

    # Writing providers and classes

    def ensure_class(self, name: str) -> answers.Answer:
        """Create a resource class, unless it exists."""
        return self._write('PUT', f'/resource_classes/{name}')

    def delete_class(self, name: str) -> answers.Answer:
        """Delete a resource class without inventories."""
        return self._write('DELETE', f'/resource_classes/{name}')

    def create_provider(self, uuid: str, name: str,
                        parent: str | None = None) -> answers.Answer:
        """Create a provider."""
        body = {'uuid': uuid, 'name': name}
        if parent is not None:
            body['parent_provider_uuid'] = parent
        return self._write('POST', '/resource_providers', lambda _: body)

    def put_inventories(self, provider: str, generation: int,
                        by_class: Mapping[str, Mapping[str, Any]]
                        ) -> answers.Answer:
        """Replace the inventories of a provider.

        :param generation: the generation of the provider as it was read.
        """
        return self._write(
            'PUT', f'/resource_providers/{provider}/inventories',
            lambda _: {_GENERATION: generation,
                       'inventories': by_class})

    def reshape(self, provider: str, generation: int,
                by_class: Mapping[str, Mapping[str, Any]],
                wanted: Mapping[str, AllocationRequest]) -> answers.Answer:
        """Replace inventories and allocations in one transaction.

        Placement allows that only for users with the role ``service``.

        :param generation: the generation of the provider as it was read.
        """
        return self._write('POST', answers.RESHAPER, lambda version: {
            'inventories': {provider: {
                _GENERATION: generation,
                'inventories': by_class}},
            'allocations': {consumer: _allocations(one, version)
                            for consumer, one in wanted.items()}},
            min(map(_newest, wanted.values()), default=BEST))

    def delete_provider(self, uuid: str) -> answers.Answer:
        """Delete a provider that has no allocations and no children."""
        return self._write('DELETE', f'/resource_providers/{uuid}')

    # Sending

    def _read(self, path: str, read: Callable[[Any], _T],
              absent: _Absent = answers.is_missing) -> _T | None:
        """Return the value in an answer; ``None``: the object does not exist.

        :param read: parses the document of the answer.
        :param absent: whether another answer means that it does not exist.
        """
        status, body = self._answered(path)
        return (None if absent(status, body)
                else _parsed(path, status, body, read))

    def _read_there(self, path: str, read: Callable[[Any], _T]) -> _T:
        """Return what an answer contains, where Placement always has one."""
        return _parsed(path, *self._answered(path), read)

    def _answered(self, path: str) -> tuple[int, Any]:
        try:
            return self._send('GET', path)
        except ksa_exc.ClientException as exc:
            raise errors.PlacementUnavailable(
                f'Placement cannot be reached ({type(exc).__name__}). Try '
                'again later; if this continues, the operator should check '
                '[placement] in ironic-reservations.conf.') from exc

    def _write(self, method: str, path: str, body: Any = None,
               newest: Version = BEST) -> answers.Answer:
        try:
            status, answer = self._send(method, path, body, newest)
        except ksa_exc.ClientException as exc:
            return answers.unanswered('Placement', exc, answers.remedy(401))
        return answers.judge(method, path, status, answer)

    def _send(self, method: str, path: str, body: Any = None,
              newest: Version = BEST) -> tuple[int, Any]:
        """Send a request; repeat it if its version is not offered."""
        if self.version < BEST and time.monotonic() >= self._old_until:
            self.version = BEST
        status, answer = self._send_once(method, path, body, newest)
        if status == 406 and self.version > LEAST:
            # Nothing has been done yet. During an upgrade, the next answer may
            # come from another release of Placement.
            self.version = max(LEAST, min(BEST, _offered(answer)))
            self._old_until = time.monotonic() + _REMEMBERED
            status, answer = self._send_once(method, path, body, newest)
        if status == 406 and self.version > LEAST:
            self.version = LEAST
            status, answer = self._send_once(method, path, body, newest)
        return status, answer

    def _send_once(self, method: str, path: str, body: Any,
                   newest: Version) -> tuple[int, Any]:
        version = min(self.version, newest)
        arguments = {} if body is None else {'json': body(version)}
        # Sent without retries: a write that seemed to fail may have been done,
        # and a second one could leave usage without a consumer.
        return sending.request(
            self._sender, path, method, authenticated=self._authenticated,
            connect_retries=0, status_code_retries=0,
            headers={**self._headers, VERSION_HEADER:
                     f'placement {version[0]}.{version[1]}'}, **arguments)


def _allocations(wanted: AllocationRequest,
                 version: Version) -> dict[str, Any]:
    body: dict[str, Any] = {
        'allocations': {provider: {'resources': dict(resources)}
                        for provider, resources in wanted.allocations.items()},
        'project_id': wanted.project_id, 'user_id': wanted.user_id,
        'consumer_generation': wanted.generation}
    if version >= TYPES:
        body['consumer_type'] = wanted.consumer_type
    return body


def _newest(wanted: AllocationRequest) -> Version:
    """Return the newest version with which a consumer can be written.

    From the version TYPES on, a write needs a type, and NO_TYPE is refused.
    """
    return (_BEFORE_TYPES if wanted.consumer_type in (None, NO_TYPE)
            else BEST)


def _parsed(path: str, status: int, body: Any,
            read: Callable[[Any], _T]) -> _T:
    if status != 200:
        raise errors.PlacementUnavailable(
            f'Placement answered {status} to a request for allocations: '
            f'{answers.said(body)} ' + answers.remedy(status))
    try:
        return read(body)
    except documents.Malformed as exc:
        raise errors.PlacementUnavailable(
            f'Placement answered 200 to GET {path.partition("?")[0]}, but '
            f'{exc}. Try again later; if this continues, the operator should '
            'check [placement] in ironic-reservations.conf.') from exc


def _consumer(body: Any) -> Consumer:
    allocations = _resources_of(body)
    if not allocations:
        # Placement then shows nothing else.
        return Consumer({})
    return Consumer(
        allocations, documents.field(body, 'consumer_generation', int),
        documents.field(body, 'project_id', str),
        documents.field(body, 'user_id', str),
        documents.optional(body, 'consumer_type', str))


def _resources_of(body: Any) -> dict[str, Resources]:
    """Return the allocated resources, by the uuid of consumer or provider."""
    return {uuid: documents.mapping(found, 'resources', int) for uuid, found
            in documents.mapping(body, 'allocations', dict).items()}


def _generation(body: Any) -> int:
    return documents.field(body, _GENERATION, int)


def _usages(body: Any) -> dict[str, int]:
    return documents.mapping(body, 'usages', int)


def _inventories(body: Any) -> Inventories:
    by_class = documents.mapping(body, 'inventories', dict)
    for inventory in by_class.values():
        for key, (kind, least) in _OFFER.items():
            value: Any = documents.of_kind(
                documents.value_of(inventory, key), kind,
                f'"{key}" in its answer')
            # Not a number is not in any range.
            if not least <= value <= _LARGEST:
                raise documents.Malformed(
                    f'"{key}" in its answer is out of range')
    return Inventories(_generation(body), by_class)


def _name(body: Any) -> str:
    return documents.field(body, 'name', str)


def _provider(body: Any) -> Provider:
    return Provider(documents.field(body, 'uuid', str),
                    documents.field(body, 'name', str),
                    documents.field(body, 'generation', int),
                    documents.optional(body, 'parent_provider_uuid', str))


def _offered(answer: Any) -> Version:
    """Return the newest version that an answer with status 406 names."""
    try:
        major, minor = answer['errors'][0]['max_version'].split('.')
        return int(major), int(minor)
    except (TypeError, KeyError, IndexError, ValueError, AttributeError):
        return LEAST
