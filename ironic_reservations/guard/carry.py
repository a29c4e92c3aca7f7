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

A request with an unknown outcome counts neither as carried out nor as refused.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
import contextlib

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.engine import Engine
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import overtaken
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.guard import inward
from ironic_reservations.model import handovers
from ironic_reservations.model import in_flight

#: Ironic answers so before it does anything: the caller is not known, its
#: policy refuses the request, or it knows no such version of its API.
_CHANGES_NOTHING = (401, 403, 406)
_NOT_FOUND = 404
#: Ironic answers so to a request with steps before it begins with the first.
_BEGINS_NOTHING = (400, 409)
#: From this status on, Ironic may still be at work on a request.
_FAILED = 500
#: What a driver of its own does before it does not find something is unknown.
_OF_DRIVERS = 'vendor_passthru'


def pass_on(engine: Engine, app: wsgi.Application,
            admitted: admission.InFlightRequest,
            request: wsgi.Environ,
            recorded: Collection[handovers.Handover] = ()) -> wsgi.Answer:
    """Return Ironic's answer to a request that was let through.

    If Ironic has accepted it, the caller must close the in-flight request.

    :param recorded: the handovers as they were written for the request.
    :raises HandedOverLate: the process was stopped for too long; the request
        was not sent.
    """
    with unsent(engine, recorded):
        admission.check_in_time(engine, admitted)
    try:
        answer = inward.call(app, request)
    except BaseException:
        admission.mark_uncertain(engine, admitted)
        raise
    if inward.succeeded(answer):
        # The request in flight shows the outcome for its own node.
        answered(engine, [each for each in recorded
                          if each.node_uuid != admitted.node_uuid], answer)
        return answer
    if answer.status >= _FAILED:
        # The answer is the same for a conductor without a free worker and
        # for one that does not answer in time; so the outcome is unknown.
        admission.mark_uncertain(engine, admitted)
    else:
        # First, since the end of a lease waits for the request only.
        answered(engine, recorded, answer)
        close(engine, admitted, False)
    return answer


@contextlib.contextmanager
def unsent(engine: Engine,
           recorded: Collection[handovers.Handover]) -> Iterator[None]:
    """Forget acts if the block fails, in which nothing is sent to Ironic."""
    try:
        yield
    except BaseException:
        for each in recorded:
            acted.refused(engine, each)
        raise


def answered(engine: Engine, recorded: Collection[handovers.Handover],
             answer: wsgi.Answer) -> None:
    """Record Ironic's answer to acts of holders.

    An act that Ironic has refused is forgotten: it is no reason to undo what
    an operator does later.
    """
    if answer.status >= _FAILED:
        return
    for each in recorded:
        if _changed_nothing(answer, each):
            acted.refused(engine, each)
        else:
            acted.settled(engine, each)


def _changed_nothing(answer: wsgi.Answer, written: handovers.Handover) -> bool:
    return (answer.status in _CHANGES_NOTHING
            or answer.status in _BEGINS_NOTHING and written.adds_steps
            or answer.status == _NOT_FOUND and not written.adds(_OF_DRIVERS))


def pass_judged(engine: Engine, app: wsgi.Application, deadline: float,
                what: str, request: wsgi.Environ,
                recorded: Collection[handovers.Handover] = ()
                ) -> wsgi.Answer:
    """Return Ironic's answer to a request that is not tracked.

    :param deadline: the time by the engine's timer until which the decision
        about the request is valid.
    :param what: a description of the request.
    :param recorded: the handovers as they were written for the request.
    :raises HandedOverLate: the process was stopped for too long; the request
        was not sent.
    """
    with unsent(engine, recorded):
        admission.check_timer(engine, deadline, what)
    answer = inward.call(app, request)
    answered(engine, recorded, answer)
    return answer


def close(engine: Engine, admitted: admission.InFlightRequest, succeeded: bool,
          shown: admission.Shown | None = None,
          undo: in_flight.Act | None = None) -> None:
    """Record Ironic's answer.

    :param shown: the node as Ironic shows it afterwards, if it was read.
    :param undo: undoes the effect of the request.
    :raises Overtaken: the node has been promised to another holder by then.
    """
    if not _close(engine, admitted, succeeded, shown) and succeeded:
        overtaken.settle(engine, admitted, undo)


def change(engine: Engine, app: wsgi.Application,
           admitted: admission.InFlightRequest, asked: protect.ChangeRequest,
           request: wsgi.Environ,
           recorded: Collection[handovers.Handover] = ()) -> wsgi.Answer:
    """Have Ironic change a node that no other caller can get meanwhile.

    :param request: the request to Ironic.
    :param recorded: as in :func:`pass_on`.
    :raises HandedOverLate: the process was stopped for too long; the request
        was not sent.
    :raises Overtaken: the node has been promised to another holder by then.
    """
    answer = pass_on(engine, app, admitted, request, recorded)
    if inward.succeeded(answer) and not _close(engine, admitted, True):
        overtaken.settle_change(engine, admitted, asked)
    return answer


def accept(engine: Engine, admitted: admission.InFlightRequest) -> None:
    """Record that Ironic works on an allocation.

    :raises Overtaken: the node has been promised to another holder by then.
    """
    try:
        kept = admission.accept(engine, admitted)
    except (errors.DatabaseUnavailable, errors.Contention) as exc:
        _write_later(engine, admitted, exc,
                     lambda: admission.accept(engine, admitted))
        return
    if not kept:
        overtaken.settle_allocation(engine, admitted)


def _close(engine: Engine,
           admitted: admission.InFlightRequest,
           succeeded: bool,
           shown: admission.Shown | None = None) -> bool:
    """Close an in-flight request.

    :returns: ``False`` if the node was no longer kept for it.
    """
    try:
        return admission.close(engine, admitted, succeeded, shown)
    except (errors.DatabaseUnavailable, errors.Contention) as exc:
        # The node as it was read is out of date by the time of the next
        # attempt.
        _write_later(engine, admitted, exc,
                     lambda: admission.close(engine, admitted, succeeded),
                     succeeded)
        return True


def _write_later(engine: Engine, admitted: admission.InFlightRequest,
                 exc: errors.ReservationError, write: Callable[[], bool],
                 succeeded: bool = True) -> None:
    """Record a known outcome later, since the database does not answer."""
    if succeeded and admission.is_expired(engine, admitted):
        with overtaken.report_if_lost(admitted):
            raise exc
    admission.write_later(engine, admitted, write, exc)
