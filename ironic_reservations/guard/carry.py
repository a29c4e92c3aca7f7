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

"""Hand requests to Ironic, and record their outcomes.

An unknown outcome counts neither as done nor as not done.
"""

from __future__ import annotations

from collections.abc import Callable

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.engine import Engine
from ironic_reservations.engine.passages import overtaken
from ironic_reservations.engine.passages import passage as passages
from ironic_reservations.engine.passages import protect
from ironic_reservations.guard import inward
from ironic_reservations.lifecycle import protect as protection
from ironic_reservations.model import facts
from ironic_reservations.model import in_flight


def pass_on(engine: Engine, app: wsgi.Application, passage: passages.Passage,
            request: wsgi.Environ) -> wsgi.Answer:
    """Return Ironic's answer to a request that was let through.

    If Ironic has accepted it, the caller has to close the passage.

    :raises HandedOverLate: the process was stopped for too long; the request
        was not sent.
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
    """Return Ironic's answer to a request that has no passage.

    :param deadline: the time by the engine's timer until which the decision
        about the request is valid.
    :param what: a description of the request.
    :raises HandedOverLate: the process was stopped for too long; the request
        was not sent.
    """
    passages.check_timer(engine, deadline, what)
    return inward.call(app, request)


def close(engine: Engine, passage: passages.Passage, succeeded: bool,
          node: facts.Node | None = None,
          undo: in_flight.Act | None = None) -> None:
    """Record Ironic's answer.

    :param node: the node as Ironic shows it afterwards, if it was read.
    :param undo: undoes the effect of the request.
    :raises Overtaken: the node was promised to somebody else by then.
    """
    if not _close(engine, passage, succeeded, node) and succeeded:
        overtaken.settle(engine, passage, undo)


def change(engine: Engine, app: wsgi.Application, node_uuid: str,
           actor: protection.Actor, request: wsgi.Environ) -> wsgi.Answer:
    """Have Ironic change a node, and keep it from others meanwhile.

    :param actor: the caller.
    :param request: the request to Ironic.
    :raises ReservationError: the caller may not, or this cannot be decided.
    :raises HandedOverLate: the process was stopped for too long; the request
        was not sent.
    :raises Overtaken: the node was promised to somebody else by then.
    """
    passage = protect.keep(engine, node_uuid, actor)
    answer = pass_on(engine, app, passage, request)
    if inward.succeeded(answer) and not _close(engine, passage, True):
        overtaken.settle_change(engine, passage, actor)
    return answer


def accept(engine: Engine, passage: passages.Passage) -> None:
    """Record that Ironic works on an allocation.

    :raises Overtaken: the node was promised to somebody else by then.
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

    :returns: ``False`` if the node was no longer kept for it.
    :raises OutcomeUnknown: Ironic has accepted the request, and the node may
        no longer have been kept for it.
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
    """Have a known outcome recorded later.

    :param write: records it.
    :raises OutcomeUnknown: Ironic carried the request out, and the passage
        may be gone.
    """
    if succeeded and passages.may_be_gone(engine, passage):
        with overtaken.told_if_lost(passage):
            raise exc
    passages.write_later(engine, passage, write, exc)
