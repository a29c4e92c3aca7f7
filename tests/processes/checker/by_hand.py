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


"""Histories written by hand, for the tests of who judges them."""

from __future__ import annotations

from collections.abc import Mapping
import datetime
import itertools
from typing import Any

from tests.processes.checker import findings
from tests.processes.checker import history

N, M = 'node-n', 'node-m'
LATE = 60.0
_IDS = itertools.count()


def date(at: float) -> str:
    """Write an instant of the one clock as an answer would."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat()


def asked(op: str, method: str, path: str, sent: float, status: int | None,
          answer: Any = None, **more: Any) -> history.Exchange:
    """Make an exchange that took a tenth of a second."""
    return history.Exchange(
        f'req-{next(_IDS)}', more.pop('who', 'one'), op, method, path, sent,
        more.pop('got', sent + 0.1), status, answer=answer, **more)


def reservation(uuid: str, until: float, node: str = N,
                state: str = 'reserved') -> dict[str, Any]:
    """Make the body of an answer."""
    return {'reservation': {'uuid': uuid, 'node_uuid': node, 'state': state,
                            'expires_at': date(until)}}


def reserved(uuid: str, sent: float, until: float, node: str = N,
             **more: Any) -> history.Exchange:
    """Make the exchange by which a node was reserved."""
    return asked('reserve', 'POST', '/v1/reservations', sent, 201,
                 reservation(uuid, until, node), body={'uuid': uuid}, **more)


def about(uuid: str, op: str, method: str, sent: float, status: int | None,
          answer: Any = None, **more: Any) -> history.Exchange:
    """Make an exchange about a reservation."""
    return asked(op, method, f'/v1/reservations/{uuid}', sent, status, answer,
                 **more)


def lease(ident: str, until: float, *nodes: str, status: str = 'ACTIVE',
          state: str = 'bound', of: Mapping[str, Any] | None = None,
          **more: Any) -> dict[str, Any]:
    """Make the body of an answer.

    :param state: of the nodes.
    :param of: what else is shown of the reservation.
    :param more: what else is shown of the lease.
    """
    return {'lease': {
        'id': ident, 'status': status, 'end_date': date(until)[:26],
        'degraded': False, 'reservations': [{
            'id': f'{ident}-proof', **(of or {}), 'nodes': [
                {'uuid': node, 'state': state} for node in nodes]}], **more}}


def leased_by_key(ident: str, sent: float) -> history.Exchange:
    """Make the exchange that asks for a lease with a key, always the same."""
    return asked('lease', 'POST', '/v1/leases', sent, 201,
                 lease(ident, 100, status='PENDING', name='mine'), key='k',
                 body={'name': 'mine'})


def shown(ident: str, sent: float, until: float, *nodes: str,
          status: str = 'ACTIVE', **more: Any) -> history.Exchange:
    """Make the exchange that shows a lease."""
    return asked('show-lease', 'GET', f'/v1/leases/{ident}', sent, 200,
                 lease(ident, until, *nodes, status=status), **more)


def deployed(sent: float, status: int | None, proof: str | None = None,
             node: str = N, **more: Any) -> history.Exchange:
    """Make the exchange that asks for a deploy."""
    return asked('deploy', 'PUT', f'/v1/nodes/{node}/states/provision', sent,
                 status, proof=proof, **more)


def wrote(at: float, by: history.Exchange | None = None, node: str = N,
          **values: Any) -> history.Done:
    """Make what Ironic wrote of a node."""
    return history.Done('node', 'save', node, at, at + 0.01, values,
                        None if by is None else by.id)


def judged(*told: Any, **more: Any) -> list[str]:
    """Return which rules a history breaks."""
    return [found.rule for found in findings.judge(history.History(
        tuple(sorted((each for each in told
                      if isinstance(each, history.Exchange)),
                     key=lambda each: each.sent)),
        tuple(each for each in told if isinstance(each, history.Done)),
        late=LATE, **more))]
