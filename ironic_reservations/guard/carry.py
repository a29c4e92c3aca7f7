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

"""Handing requests to Ironic, and what comes back.

What is not known is never taken for done, nor for not done.
"""

from __future__ import annotations

from collections.abc import Callable

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.engine import Engine
from ironic_reservations.engine import overtaken
from ironic_reservations.engine import passage as passages
from ironic_reservations.engine import protect
from ironic_reservations.guard import inward
from ironic_reservations.lifecycle import protect as protection
from ironic_reservations.model import facts
from ironic_reservations.model import in_flight


def pass_on(engine: Engine, app: wsgi.Application, passage: passages.Passage,
            request: wsgi.Environ) -> wsgi.Answer:
    """Return what Ironic answers to a request that was let through.

    Where Ironic has accepted it, the caller has to close the passage.

    :raises HandedOverLate: it stood still for too long, and was not sent.
    """
    passages.check_in_time(engine, passage)
    try:
        answer = inward.call(app, request)
    except BaseException:
        passages.doubt(engine, passage)
        raise
    if inward.succeeded(answer):
        return answer
    if answer.status >= 500:
        # NOTE: also what a conductor says that has no worker to spare, which
        # is what a conductor says that does not answer in time.
        passages.doubt(engine, passage)
    else:
        close(engine, passage, False)
    return answer


def pass_judged(engine: Engine, app: wsgi.Application, deadline: float,
                what: str, request: wsgi.Environ) -> wsgi.Answer:
    """Return what Ironic answers to a request that nothing is kept for.

    :param deadline: until when what it was judged by counts, by the timer of
        the engine.
    :param what: the request is for.
    :raises HandedOverLate: it stood still for too long, and was not sent.
    """
    passages.check_timer(engine, deadline, what)
    return inward.call(app, request)


def close(engine: Engine, passage: passages.Passage, succeeded: bool,
          node: facts.Node | None = None,
          undo: in_flight.Act | None = None) -> None:
    """Write down what Ironic answered.

    :param node: as Ironic shows it afterwards, if it was asked.
    :param undo: what takes back what the request has done.
    :raises Overtaken: the node was another's by then.
    """
    if not _close(engine, passage, succeeded, node) and succeeded:
        overtaken.settle(engine, passage, undo)


def change(engine: Engine, app: wsgi.Application, node_uuid: str,
           actor: protection.Actor, request: wsgi.Environ) -> wsgi.Answer:
    """Have Ironic change a node that nobody else gets meanwhile.

    :param actor: who wants it.
    :param request: what Ironic is asked.
    :raises ReservationError: the caller may not, or nobody knows.
    :raises HandedOverLate: it stood still for too long, and was not sent.
    :raises Overtaken: the node was another's by then.
    """
    passage = protect.keep(engine, node_uuid, actor)
    answer = pass_on(engine, app, passage, request)
    if inward.succeeded(answer) and not _close(engine, passage, True):
        overtaken.settle_change(engine, passage, actor)
    return answer


def accept(engine: Engine, passage: passages.Passage) -> None:
    """Write down that Ironic works on an allocation.

    :raises Overtaken: the node was another's by then.
    """
    try:
        kept = passages.accept(engine, passage)
    except (errors.DatabaseUnavailable, errors.Contention) as exc:
        _leave(engine, passage, exc,
               lambda: passages.accept(engine, passage))
        return
    if not kept:
        overtaken.settle_allocation(engine, passage)


def _close(engine: Engine, passage: passages.Passage, succeeded: bool,
           node: facts.Node | None = None) -> bool:
    """Close a passage.

    :returns: ``False`` where it is known that the node was not kept any more.
    :raises OutcomeUnknown: it may not have been, and Ironic has accepted.
    """
    try:
        return passages.close(engine, passage, succeeded, node)
    except (errors.DatabaseUnavailable, errors.Contention) as exc:
        # NOTE: by then, what the node was is old.
        _leave(engine, passage, exc,
               lambda: passages.close(engine, passage, succeeded), succeeded)
        return True


def _leave(engine: Engine, passage: passages.Passage,
           exc: errors.ReservationError, write: Callable[[], bool],
           succeeded: bool = True) -> None:
    """Have an answer written later; it is true already.

    :param write: does it.
    :raises OutcomeUnknown: Ironic carried the request out, and the passage
        may be gone.
    """
    if succeeded and passages.may_be_gone(engine, passage):
        with overtaken.told_if_lost(passage):
            raise exc
    passages.write_later(engine, passage, write, exc)
