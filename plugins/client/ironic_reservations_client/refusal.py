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


"""Parses refusals in the answers of the service."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import json
from typing import Any

from ironic_reservations_client import counted
from ironic_reservations_client import lease_refusal
from ironic_reservations_client import plain
from ironic_reservations_client import versions

NO_NODE_AVAILABLE = 'reservation.no_node_available'
CONTENTION = 'reservation.contention'
VERSION_NOT_ACCEPTABLE = 'request.version_not_acceptable'
_TOO_NEW = ('All versions of the service are newer than this client: update '
            'ironic-reservations-client.')


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A refusal of a request.

    :ivar code: a stable code for programs; ``None`` for a 401 of the
        authentication before the service.
    :ivar sentence: a sentence for people.
    :ivar reasons: one object for each node (``node_uuid``, ``code``,
        ``detail`` and, where known, ``until``) or for each cause (``code``,
        ``nodes``).  For a lease, they are the obstacles.
    :ivar offers: for a lease, the requests that would be accepted: ``kind``,
        ``detail`` and ``lease``, a request to post unchanged.
    :ivar names: the known names of nodes, by UUID.
    """

    status: int
    code: str | None
    sentence: str
    reasons: tuple[Mapping[str, Any], ...] = ()
    request_id: str | None = None
    offers: tuple[Mapping[str, Any], ...] = ()
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        """Return the sentence and the reasons, one in each line."""
        head = self._claim() + (
            f' [{self.code}]' if self.code else '') + f' (HTTP {self.status})'
        if self.request_id:
            head += f' (Request-ID: {self.request_id})'
        lines = [line for reason in self.reasons
                 for line in self._lines(reason)]
        lines += [lease_refusal.offered(offer) for offer in self.offers]
        return plain.plain('\n'.join(
            [head, *(f'  {line}' for line in lines)]))

    def _lines(self, reason: Mapping[str, Any]) -> list[str]:
        if lease_refusal.is_about_lease((reason,)):
            return lease_refusal.lines(reason)
        return [self._line(reason)]

    def _line(self, reason: Mapping[str, Any]) -> str:
        code = reason.get('code')
        if 'node_uuid' in reason:
            uuid = reason['node_uuid']
            name = self.names.get(uuid)
            node = uuid if name is None else f'{name} ({uuid})'
            return f'node {node}: {reason.get("detail")} [{code}]'
        if 'nodes' in reason:
            return f'{counted.counted(reason["nodes"], "node")} [{code}]'
        return f'{reason.get("detail", "")} [{code}]'.strip()

    def _claim(self) -> str:
        """Return the sentence without the reasons that follow as lines."""
        # The service puts them into the sentence as well, for clients
        # that read nothing else.
        if lease_refusal.is_about_lease(self.reasons):
            return lease_refusal.claim(self.sentence, self.offers)
        claim, colon, reasons = self.sentence.partition(': ')
        if not colon or not self.reasons:
            return self.sentence
        first = self.reasons[0]
        if str(first.get('node_uuid')) not in reasons and (
                f'{first.get("nodes")} {first.get("code")}' not in reasons):
            return self.sentence
        # Advice may follow the reasons.
        texts = [str(each.get('detail') or
                     f'{each.get("nodes")} {each.get("code")}')
                 for each in self.reasons]
        end = max((reasons.rfind(text) + len(text) for text in texts
                   if text in reasons), default=0)
        advice = reasons[end:].partition('. ')[2]
        return f'{claim}. {advice}'.rstrip()


class Refused(Exception):
    """The base class of errors with a refusal.

    :ivar response: the response of the library.
    """

    refusal: Refusal
    response: Any

    @property
    def code(self) -> str | None:
        """The stable code, such as ``reservation.no_node_available``."""
        return self.refusal.code

    @property
    def reasons(self) -> tuple[Mapping[str, Any], ...]:
        """The reason for each node, or the obstacles to a lease."""
        return self.refusal.reasons

    @property
    def offers(self) -> tuple[Mapping[str, Any], ...]:
        """The leases that would be accepted instead."""
        return self.refusal.offers


def read(content: bytes | str) -> Refusal | None:
    """Return the refusal in an answer; ``None`` without a code of the service.

    :param content: the body of an answer with a status of 400 or above.
    """
    try:
        body = json.loads(content)
        entry = body['errors'][0]
        # About leases, the details are in a place that no client of Blazar
        # reads.
        details = {**(body.get('details') or {}), **entry}
        return Refusal(
            status=int(entry['status']), code=str(entry['code']),
            sentence=str(entry['detail']),
            reasons=_objects(details.get('reasons')),
            request_id=entry.get('request_id'),
            offers=_objects(details.get('offers')))
    except (ValueError, LookupError, TypeError):
        return None


def translated(error: Any, known: Mapping[int, type[Any]],
               other: type[Any]) -> Any:
    """Return an error of a library with the code and the reasons.

    :param error: an error whose ``response`` is the answer, or ``None``.
    :param known: the classes of refusals, by HTTP status.
    :param other: the class for any other status.
    :returns: the same error if the answer has no code of the service, unless
        it is a 401.
    """
    if isinstance(error, Refused) or error.response is None:
        return error
    found = read(error.response.content)
    if found is None and error.response.status_code == 401:
        found = Refusal(401, None, _authentication(error.response.content))
    if found is None:
        return error
    if found.code == VERSION_NOT_ACCEPTABLE and versions.too_new(
            error.response.headers):
        found = dataclasses.replace(
            found, sentence=f'{found.sentence} {_TOO_NEW}')
    return known.get(found.status, other)(found, error)


def _authentication(content: bytes | str) -> str:
    """Return the sentence of a 401 of Keystone's middleware, or of Ironic."""
    try:
        return str(json.loads(content)['error']['message'])
    except (ValueError, LookupError, TypeError):
        return 'The request carries no valid credentials.'


def _objects(found: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(each for each in found or () if isinstance(each, dict))
