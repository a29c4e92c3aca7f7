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

"""What we ask of Placement, one call each; no write is ever sent twice.

A write returns an answer (:mod:`.placement_answers`), which tells whether it
was done, or why not, or that nobody knows.  A read returns what is there, or
raises.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import time
from typing import Any
from urllib import parse

from keystoneauth1 import exceptions as ksa_exc
from oslo_config import cfg

from ironic_reservations import errors
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.clouds import sending

Version = answers.Version
LEAST = answers.LEAST
#: From here on a consumer has a type.
TYPES: Version = (1, 38)
_BEFORE_TYPES: Version = (1, 37)
#: What Placement shows of a consumer that was made before it knew types, or by
#: somebody who does not use them, as Nova does.
NO_TYPE = 'unknown'
#: The newest that the calls are written for.
BEST: Version = (1, 38)
#: For how long, in seconds, an old Placement is taken to be old.
_REMEMBERED = 600.0

VERSION_HEADER = 'OpenStack-API-Version'
#: The token that a Placement without authentication takes for an
#: administrator's.
ADMIN = 'admin'

Resources = Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What a consumer is to have.

    :ivar allocations: by provider; nothing takes all away.
    :ivar generation: what the consumer has to be at; ``None``: not there.
    :ivar consumer_type: left out where Placement does not know types yet;
        ``None`` or :data:`NO_TYPE`: the consumer has none, and gets none.
    """

    allocations: Mapping[str, Resources]
    project_id: str
    user_id: str
    generation: int | None
    consumer_type: str | None


@dataclasses.dataclass(frozen=True)
class Consumer:
    """What a consumer has; nothing, where Placement does not know it.

    :ivar generation: ``None`` where it has nothing.
    :ivar consumer_type: :data:`NO_TYPE` where it has none; ``None`` where
        Placement does not know types yet.
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
        allocations; a DELETE of allocations leaves it.
    """

    uuid: str
    name: str
    generation: int
    parent: str | None = None


@dataclasses.dataclass(frozen=True)
class Allocated:
    """What of a provider is allocated.

    :ivar consumers: who has what.
    :ivar usages: what is used, read afterwards.
    :ivar steady: whether nobody came in between; somebody may have left.
    """

    consumers: Mapping[str, Resources]
    usages: Mapping[str, int]
    steady: bool


@dataclasses.dataclass(frozen=True)
class Inventories:
    """What a provider offers.

    :ivar generation: of the provider.
    """

    generation: int
    by_class: Mapping[str, Mapping[str, Any]]


class Placement:
    """Reads and writes, each with the version of the API that it needs.

    :param sender: how requests get there.
    :param token: sent with each one, instead of what the sender would send.
    :ivar version: of the API, as far as it is known to be offered.
    """

    def __init__(self, sender: sending.Sender,
                 token: str | None = None) -> None:
        self._sender = sender
        self._headers = {'Accept': 'application/json'}
        self._authenticated = token is None
        if token is not None:
            self._headers['X-Auth-Token'] = token
        if token == ADMIN:
            # NOTE: it has no role but admin there, unless others are named.
            self._headers['X-Roles'] = 'admin,service'
        self.version = BEST
        self._old_until = 0.0

    @classmethod
    def over_http(cls, conf: cfg.ConfigOpts) -> Placement:
        """Return a client for the endpoint that [placement] describes."""
        return cls(
            sending.adapter(conf, 'placement'),
            ADMIN if conf.placement.auth_type in (None, 'none') else None)

    # Reading

    def consumer(self, uuid: str) -> Consumer:
        """Read what a consumer has.

        :raises PlacementUnavailable: it cannot be known.
        """
        body = self._read(f'/allocations/{uuid}') or {}
        return Consumer(
            {provider: found['resources']
             for provider, found in body.get('allocations', {}).items()},
            body.get('consumer_generation'), body.get('project_id'),
            body.get('user_id'), body.get('consumer_type'))

    def provider(self, uuid: str) -> Provider | None:
        """Read a provider; ``None`` where there is none.

        :raises PlacementUnavailable: it cannot be known.
        """
        body = self._read(f'/resource_providers/{uuid}')
        return None if body is None else _provider(body)

    def providers(self, **filters: str) -> list[Provider]:
        """Read providers, all of them in one call.

        :param filters: parameters of the query; ``resources`` gives those
            that have so much left, none where there is no such class.
        :raises PlacementUnavailable: it cannot be known.
        """
        body = self._read('/resource_providers?' + parse.urlencode(filters))
        return [_provider(found) for found in (
            [] if body is None else body['resource_providers'])]

    def consumers_on(self, provider: str) -> dict[str, Resources] | None:
        """Read what each consumer has of a provider, ``None`` for none such.

        :raises PlacementUnavailable: it cannot be known.
        """
        body = self._read(f'/resource_providers/{provider}/allocations')
        return None if body is None else {
            consumer: found['resources']
            for consumer, found in body['allocations'].items()}

    def allocated(self, provider: str) -> Allocated | None:
        """Read who has what of a provider, and what is used, ``None`` for
        none such.

        :raises PlacementUnavailable: it cannot be known.
        """
        path = f'/resource_providers/{provider}'
        consumers = self._read(f'{path}/allocations')
        usages = None if consumers is None else self._read(f'{path}/usages')
        if consumers is None or usages is None:
            return None
        generation = 'resource_provider_generation'
        return Allocated(
            {consumer: found['resources'] for consumer, found
             in consumers['allocations'].items()}, usages['usages'],
            consumers[generation] == usages[generation])

    def usages(self, provider: str) -> dict[str, int] | None:
        """Read what is used of a provider, ``None`` where there is none.

        :raises PlacementUnavailable: it cannot be known.
        """
        body = self._read(f'/resource_providers/{provider}/usages')
        return None if body is None else dict(body['usages'])

    def inventories(self, provider: str) -> Inventories | None:
        """Read what a provider offers, ``None`` where there is none.

        :raises PlacementUnavailable: it cannot be known.
        """
        body = self._read(f'/resource_providers/{provider}/inventories')
        return None if body is None else Inventories(
            body['resource_provider_generation'], body['inventories'])

    def traits(self, provider: str) -> frozenset[str] | None:
        """Read the traits of a provider, ``None`` where there is none.

        :raises PlacementUnavailable: it cannot be known.
        """
        body = self._read(f'/resource_providers/{provider}/traits')
        return None if body is None else frozenset(body['traits'])

    def with_room(self, resource_class: str) -> dict[str, dict[str, int]]:
        """Read what is used of all providers that have some of a class left.

        :returns: by provider and class; that of other providers in the same
            trees, too.
        :raises PlacementUnavailable: it cannot be known.
        """
        body = self._read('/allocation_candidates?' + parse.urlencode(
            {'resources': f'{resource_class}:1'}))
        return {uuid: {name: there['used'] for name, there
                       in found['resources'].items()}
                for uuid, found in ({} if body is None else body[
                    'provider_summaries']).items()}

    def class_there(self, name: str) -> bool:
        """Check whether there is a resource class.

        :raises PlacementUnavailable: it cannot be known.
        """
        return self._read(f'/resource_classes/{name}') is not None

    def classes(self) -> frozenset[str]:
        """Read the names of all resource classes.

        :raises PlacementUnavailable: it cannot be known.
        """
        body = self._read('/resource_classes')
        return frozenset(found['name'] for found in (
            [] if body is None else body['resource_classes']))

    def candidates(self, query: Iterable[tuple[str, str]]
                   ) -> list[dict[str, Resources]]:
        """Read from where a request could be served, now.

        :param query: the parameters.
        :returns: of each way, the resources by provider.
        :raises PlacementUnavailable: it cannot be known.
        """
        body = self._read('/allocation_candidates?'
                          + parse.urlencode(list(query)))
        return [{provider: found['resources']
                 for provider, found in way['allocations'].items()}
                for way in ([] if body is None
                            else body['allocation_requests'])]

    # Writing allocations

    def put_allocations(self, consumer: str, wanted: Wanted) -> answers.Answer:
        """Write all that a consumer is to have, or change nothing."""
        return self._write('PUT', f'/allocations/{consumer}',
                           lambda version: _allocations(wanted, version),
                           _newest(wanted))

    def post_allocations(self, wanted: Mapping[str, Wanted]) -> answers.Answer:
        """Give several consumers what they are to have, all or none."""
        return self._write('POST', '/allocations', lambda version: {
            consumer: _allocations(one, version)
            for consumer, one in wanted.items()},
            min(map(_newest, wanted.values()), default=BEST))

    def delete_allocations(self, consumer: str) -> answers.Answer:
        """Take all that a consumer has."""
        return self._write('DELETE', f'/allocations/{consumer}')

    # Writing providers and classes

    def ensure_class(self, name: str) -> answers.Answer:
        """Make a resource class, unless it is there."""
        return self._write('PUT', f'/resource_classes/{name}')

    def delete_class(self, name: str) -> answers.Answer:
        """Delete a resource class that no inventory has."""
        return self._write('DELETE', f'/resource_classes/{name}')

    def create_provider(self, uuid: str, name: str,
                        parent: str | None = None) -> answers.Answer:
        """Make a provider."""
        body = {'uuid': uuid, 'name': name}
        if parent is not None:
            body['parent_provider_uuid'] = parent
        return self._write('POST', '/resource_providers', lambda _: body)

    def put_inventories(self, provider: str, generation: int,
                        by_class: Mapping[str, Mapping[str, Any]]
                        ) -> answers.Answer:
        """Have a provider offer this and nothing else.

        :param generation: of the provider, when it was looked at.
        """
        return self._write(
            'PUT', f'/resource_providers/{provider}/inventories',
            lambda _: {'resource_provider_generation': generation,
                       'inventories': by_class})

    def reshape(self, provider: str, generation: int,
                by_class: Mapping[str, Mapping[str, Any]],
                wanted: Mapping[str, Wanted]) -> answers.Answer:
        """Have a provider offer this, and consumers have that, at once.

        Placement lets only users with the role ``service`` do so.

        :param generation: of the provider, when it was looked at.
        """
        return self._write('POST', answers.RESHAPER, lambda version: {
            'inventories': {provider: {
                'resource_provider_generation': generation,
                'inventories': by_class}},
            'allocations': {consumer: _allocations(one, version)
                            for consumer, one in wanted.items()}},
            min(map(_newest, wanted.values()), default=BEST))

    def delete_provider(self, uuid: str) -> answers.Answer:
        """Delete a provider that has no allocations and no children."""
        return self._write('DELETE', f'/resource_providers/{uuid}')

    # Sending

    def _read(self, path: str) -> Any:
        try:
            status, body = self._send('GET', path)
        except ksa_exc.ClientException as exc:
            raise errors.PlacementUnavailable(
                f'Placement cannot be reached ({type(exc).__name__}). Try '
                'again later; if this continues, the operator should check '
                '[placement] in ironic-reservations.conf.') from exc
        if status == 200 and isinstance(body, dict):
            return body
        if isinstance(body, dict) and (status == 404 or (
                status == 400 and answers.NO_CLASS in answers.said(body))):
            return None
        raise errors.PlacementUnavailable(
            f'Placement answered {status} to a request for allocations: '
            f'{answers.said(body)} ' + answers.remedy(status))

    def _write(self, method: str, path: str, body: Any = None,
               newest: Version = BEST) -> answers.Answer:
        try:
            status, answer = self._send(method, path, body, newest)
        except ksa_exc.ConnectionError as exc:
            return answers.Answer(
                answers.Outcome.UNCERTAIN,
                f'Placement did not answer ({type(exc).__name__}).')
        except ksa_exc.ClientException as exc:
            # NOTE: no token, or no endpoint: nothing was sent.
            return answers.Answer(
                answers.Outcome.REFUSED, 'Placement cannot be reached '
                f'({type(exc).__name__}). ' + answers.remedy(401))
        return answers.judge(method, path, status, answer)

    def _send(self, method: str, path: str, body: Any = None,
              newest: Version = BEST) -> tuple[int, Any]:
        """Send a request; once more where the version was not offered.

        :param body: makes the body for a version.
        :param newest: the version by which it can be said at the latest.
        """
        if self.version < BEST and time.monotonic() >= self._old_until:
            self.version = BEST
        status, answer = self._send_once(method, path, body, newest)
        if status == 406 and self.version > LEAST:
            # NOTE: nothing has been done yet. Where copies of several ages
            # are behind one address, the next answer may come from another.
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
        # NOTE: a write that seemed to fail may have been done, and a second
        # one beside it leaves usage that nobody owns.
        response = sending.request(
            self._sender, path, method, raise_exc=False,
            authenticated=self._authenticated,
            connect_retries=0, status_code_retries=0,
            headers={**self._headers, VERSION_HEADER:
                     f'placement {version[0]}.{version[1]}'}, **arguments)
        try:
            return response.status_code, response.json()
        except ValueError:
            return response.status_code, None


def _allocations(wanted: Wanted, version: Version) -> dict[str, Any]:
    body: dict[str, Any] = {
        'allocations': {provider: {'resources': dict(resources)}
                        for provider, resources in wanted.allocations.items()},
        'project_id': wanted.project_id, 'user_id': wanted.user_id,
        'consumer_generation': wanted.generation}
    if version >= TYPES:
        body['consumer_type'] = wanted.consumer_type
    return body


def _newest(wanted: Wanted) -> Version:
    """Return the newest version by which a consumer can be written.

    NOTE: from TYPES on each has to be given a type, and what Placement shows
    where there is none is not taken for one.
    """
    return (_BEFORE_TYPES if wanted.consumer_type in (None, NO_TYPE)
            else BEST)


def _provider(body: Mapping[str, Any]) -> Provider:
    return Provider(body['uuid'], body['name'], body['generation'],
                    body.get('parent_provider_uuid'))


def _offered(answer: Any) -> Version:
    """Read from a 406 which version is the newest there."""
    try:
        major, minor = answer['errors'][0]['max_version'].split('.')
        return int(major), int(minor)
    except (TypeError, KeyError, IndexError, ValueError, AttributeError):
        return LEAST
