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

"""Interprets the answers of Placement, in particular its conflicts."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

from keystoneauth1 import exceptions as ksa_exc

Version = tuple[int, int]
#: The oldest version of the API with all calls.
LEAST: Version = (1, 29)

#: A request to this path changes inventories and allocations together.
RESHAPER = '/reshaper'

_CONCURRENT = 'placement.concurrent_update'
_DUPLICATE = 'placement.duplicate_name'
_IN_USE = ('placement.inventory.inuse', 'placement.resource_provider.inuse',
           'placement.resource_provider.cannot_delete_parent')

NO_CLASS = 'No such resource class'
#: All that Placement says of a path that it does not have, such as below a
#: wrong address.
_NO_PATH = 'The resource could not be found.'
#: The keys in those answers to writes that have a body, by the end of the
#: path.
_SHOWN = {'/resource_providers': 'uuid', '/inventories': 'inventories'}


class Outcome(enum.Enum):
    """The outcome of a write.

    Only :attr:`UNCERTAIN` leaves open whether it was done.
    """

    DONE = 'done'
    #: There was nothing to delete or to change.
    GONE = 'gone'
    #: It existed already.
    EXISTS = 'exists'
    #: The consumer has another generation.
    CONSUMER_CHANGED = 'consumer changed'
    #: The provider has another generation.
    PROVIDER_CHANGED = 'provider changed'
    #: There was a concurrent write: the same write may succeed now.
    AGAIN = 'again'
    #: The provider does not have enough left.
    FULL = 'full'
    #: The provider does not offer the class, or not in that amount.
    UNFIT = 'unfit'
    #: Allocations need the inventory or provider that would be removed.
    IN_USE = 'in use'
    #: The provider or the class does not exist.
    UNKNOWN = 'unknown'
    #: A retry would not help: credentials, version, or a bug.
    REFUSED = 'refused'
    #: There was no answer, or a server error: read before the next write.
    UNCERTAIN = 'uncertain'


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer to a write.

    :ivar said: a sentence from Placement, or a sentence about its answer.
    """

    outcome: Outcome
    said: str = ''

    @property
    def done(self) -> bool:
        """Whether the write was certainly done."""
        return self.outcome is Outcome.DONE

    @property
    def deleted(self) -> bool:
        """Whether the object of a deletion does not exist any more."""
        return self.outcome in (Outcome.DONE, Outcome.GONE)


def judge(method: str, path: str, status: int, answer: Any) -> Answer:
    """Return the outcome of a write.

    :param answer: the decoded answer; ``None`` if there was none.
    """
    words = said(answer)
    if status == 200 and not _is_shown(path, answer):
        # Such as a page for a login.
        return Answer(Outcome.UNCERTAIN, 'Placement answered 200, but not as '
                                         'it does to this request.')
    if 200 <= status < 300:
        return Answer(Outcome.DONE)
    if method == 'DELETE' and is_missing(status, answer):
        return Answer(Outcome.GONE, words)
    if status == 400 and is_placements(status, answer) and (
            'does not exist' in words or NO_CLASS in words):
        return Answer(Outcome.UNKNOWN, words)
    if status == 409 and is_placements(status, answer):
        return Answer(_conflict(path, _first_error(answer)['code'], words),
                      words)
    if status in (408, 409, 429) or status >= 500 or status < 400:
        return Answer(Outcome.UNCERTAIN, f'Placement answered {status}.')
    return Answer(Outcome.REFUSED,
                  f'Placement answered {status}: {words} '
                  + remedy(status, path))


def unanswered(service: str, exc: ksa_exc.ClientException,
               remedy: str) -> Answer:
    """Return the outcome of a write without an answer.

    :param service: the name of the service.
    :param remedy: advice if the service cannot be reached.
    """
    kind = type(exc).__name__
    if isinstance(exc, ksa_exc.ConnectionError):
        return Answer(Outcome.UNCERTAIN, f'{service} did not answer ({kind}).')
    # Without a token or an endpoint, nothing was sent.
    return Answer(Outcome.REFUSED,
                  f'{service} cannot be reached ({kind}). {remedy}')


def _conflict(path: str, code: object, words: str) -> Outcome:
    """Return the cause of a 409 from its code and message."""
    if code == _CONCURRENT:
        if 'consumer generation conflict' in words:
            return Outcome.CONSUMER_CHANGED
        return (Outcome.AGAIN if path.startswith('/allocations')
                else Outcome.PROVIDER_CHANGED)
    if code == _DUPLICATE:
        return Outcome.EXISTS
    if code in _IN_USE or 'in use' in words:
        return Outcome.IN_USE
    if 'exceed the capacity' in words:
        return Outcome.FULL
    return Outcome.UNFIT


def _is_shown(path: str, answer: Any) -> bool:
    return any(path.endswith(end) and isinstance(answer, dict)
               and key in answer for end, key in _SHOWN.items())


def is_placements(status: int, answer: Any) -> bool:
    """Return whether an error was written by Placement.

    A gateway in front of Placement may answer 404, and its answer must not be
    taken for a missing hold.
    """
    error = _first_error(answer)
    code = error.get('code')
    return (error.get('status') == status
            and isinstance(code, str) and code.startswith('placement.')
            and isinstance(error.get('title'), str)
            and isinstance(error.get('detail'), str))


def is_missing(status: int, answer: Any) -> bool:
    """Return whether Placement does not have the object of a path."""
    return (status == 404 and is_placements(status, answer)
            and said(answer) != _NO_PATH)


def is_no_class(status: int, answer: Any) -> bool:
    """Return whether Placement does not have a class in a query."""
    return (status == 400 and is_placements(status, answer)
            and NO_CLASS in said(answer))


def said(answer: Any) -> str:
    """Return the message of an error."""
    return ' '.join(str(_first_error(answer).get(
        'detail', 'It gives no reason.')).split())


def remedy(status: int, path: str = '') -> str:
    """Return advice for a status.

    :param path: the path of the request.
    """
    if (path, status) == (RESHAPER, 403):
        return ('Placement lets only users with the role service change '
                'inventories and allocations at once '
                '(placement:reshaper:reshape): the operator should give it '
                'to the user in [placement].')
    if (path, status) == (RESHAPER, 404):
        return 'This needs version 1.30 of the Placement API at least.'
    if status in (401, 403):
        return ("Placement does not accept this service's credentials: the "
                'operator should check [placement] in '
                'ironic-reservations.conf.')
    if status == 406:
        return (f'This service needs version {LEAST[0]}.{LEAST[1]} of the '
                'Placement API at least.')
    return 'Try again later.'


def _first_error(answer: Any) -> Mapping[str, Any]:
    try:
        error = answer['errors'][0]
    except (TypeError, KeyError, IndexError):
        return {}
    return error if isinstance(error, dict) else {}
