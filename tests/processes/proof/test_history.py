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

"""The judge of the histories notices every kind of lie."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import testtools

from tests.processes.proof import history
from tests.processes.proof import records

_REFUSED = 'reservation.no_node_available'
_NOT_FOUND = 'reservation.not_found'


def _given(uuid: str, node: str, instance: str, made: float,
           expires: float) -> dict[str, Any]:
    def text(seconds: float) -> str:
        return datetime.datetime.fromtimestamp(
            seconds, datetime.UTC).isoformat()
    return {'uuid': uuid, 'node_uuid': node, 'instance_uuid': instance,
            'created_at': text(made), 'expires_at': text(expires)}


#: Instance i has node n from 11 to 100.
MADE = records.Record(
    'c', records.RESERVE, 10, 11, 201, instance='i', nodes=('n', 'm'), ttl=90,
    given=_given('u', 'n', 'i', 10, 100))
ROW = history.Row('u', 'n', 'i', 100)


def about(op: str, sent: float, status: int, **more: Any) -> records.Record:
    """Return a request about the reservation above, answered 1 s later."""
    return records.Record(**{
        'client': 'c', 'op': op, 'sent': sent, 'got': sent + 1,
        'status': status, 'instance': 'i', 'uuid': 'u',
        'nodes': ('n', 'm'), 'ttl': 90, **more})


def rival(sent: float, node: str = 'n', **more: Any) -> records.Record:
    """Return a reservation of another instance."""
    return records.Record(**{
        'client': 'd', 'op': records.RESERVE, 'sent': sent, 'got': sent + 1,
        'status': 201, 'instance': 'j', 'nodes': ('n', 'm'), 'ttl': 90,
        'given': _given('v', node, 'j', sent, sent + 90), **more})


def refusal(sent: float, **more: Any) -> records.Record:
    """Return a refusal of node n to another instance."""
    return records.Record(**{
        'client': 'd', 'op': records.RESERVE, 'sent': sent, 'got': sent + 1,
        'status': 409, 'code': _REFUSED, 'instance': 'j', 'nodes': ('n',),
        'reasons': (('n', 'reserved'),), **more})


class HistoryTestCase(testtools.TestCase):

    def _wrong(self, *told: records.Record,
               rows: tuple[history.Row, ...] = (ROW,), at: float = 90,
               broken_calls: bool = False) -> list[str]:
        return history.History((MADE, *told), broken_calls).judge(
            rows, at, at)

    def test_what_can_be_true_is_let_be(self) -> None:
        """No false alarms."""
        gone = about(records.DELETE, 20, 204)
        for name, told, rows in (
                ('alone', (), (ROW,)),
                ('shown', (about(records.SHOW, 20, 200, given=MADE.given),),
                 (ROW,)),
                ('repeated', (about(records.AGAIN, 20, 201,
                                    given=MADE.given),), (ROW,)),
                ('refused', (refusal(12),), (ROW,)),
                ('refused in passing', (refusal(9.5),), (ROW,)),
                ('deleted', (gone, about(records.SHOW, 22, 404,
                                         code=_NOT_FOUND)), ()),
                ('handed on', (gone, rival(20.5)),
                 (history.Row('v', 'n', 'j', 110),)),
                ('next in the list', (rival(12, 'm'),),
                 (ROW, history.Row('v', 'm', 'j', 102)))):
            self.assertEqual([], self._wrong(*told, rows=rows), name)
        self.assertEqual([], self._wrong(
            rival(100.5), about(records.SHOW, 101, 404, code=_NOT_FOUND),
            rows=(history.Row('v', 'n', 'j', 190),), at=120))

    def test_what_cannot_be_true_is_told(self) -> None:
        """Each of these is one lie."""
        other = _given('w', 'm', 'i', 20, 110)
        for name, told, rows in (
                ('two owners', (rival(12),), (ROW,)),
                ('two nodes', (about(records.AGAIN, 20, 201, uuid=None,
                                     given=other),), (ROW,)),
                ('moved', (about(records.SHOW, 20, 200, given=_given(
                    'u', 'm', 'i', 10, 100)),), (ROW,)),
                ('lost for its owner',
                 (about(records.SHOW, 20, 404, code=_NOT_FOUND),), (ROW,)),
                ('lost from a list', (about(records.LIST, 20, 200),), (ROW,)),
                ('lost for a deletion',
                 (about(records.DELETE, 20, 404, code=_NOT_FOUND),), ()),
                ('lost for a renewal',
                 (about(records.RENEW, 20, 404, code=_NOT_FOUND),), (ROW,)),
                ('lost for a repetition',
                 (about(records.AGAIN, 20, 409, uuid=None, code=_REFUSED,
                        reasons=(('n', 'reserved'), ('m', 'reserved'))),),
                 (ROW,)),
                ('lost from the table', (), ()),
                ('on another node in the table', (),
                 (dataclasses.replace(ROW, node_uuid='m'),)),
                ('twice in the table', (),
                 (ROW, dataclasses.replace(ROW, uuid='x'))),
                ('nobody was told', (),
                 (ROW, history.Row('x', 'm', 'k', 200))),
                ('refused while free', (refusal(5),), (ROW,)),
                ('refused for odd reasons',
                 (refusal(12, reasons=(('n', 'busy'),)),), (ROW,)),
                ('skipped while free', (rival(5, 'm'),),
                 (ROW, history.Row('v', 'm', 'j', 95))),
                ('not of the list', (rival(12, 'x', nodes=('n', 'x', 'm'),
                                           instance='k'),), (ROW,)),
                ('a node twice in a list', (about(
                    records.PAGE, 20, 200, found=('n', 'n')),), (ROW,)),
                ('a broken call', (about(
                    records.SHOW, 20, 200, given=MADE.given, broken=1),),
                 (ROW,)),
                ('an error', (about(records.PAGE, 20, 500,
                                    code='service.unexpected'),), (ROW,)),
                ('busy', (refusal(20, status=503, reasons=(),
                                  code='reservation.contention'),), (ROW,)),
                ('no answer', (about(records.PAGE, 20, 0),), (ROW,))):
            self.assertNotEqual([], self._wrong(*told, rows=rows), name)

    def test_what_is_over_is_over(self) -> None:
        """An end that was told, or an expiry, binds the servers too."""
        gone = about(records.DELETE, 20, 204)
        shown = about(records.SHOW, 22, 200, given=MADE.given)
        self.assertNotEqual([], self._wrong(gone, shown, rows=()))
        self.assertNotEqual([], self._wrong(dataclasses.replace(
            shown, sent=100.5, got=101), rows=(), at=120))

    def test_broken_call_may_have_left_something(self) -> None:
        """And something only where a call broke."""
        unsure = refusal(20, broken=1, ttl=60)
        orphan = history.Row('x', 'm', 'j', 80)
        self.assertEqual([], self._wrong(unsure, rows=(ROW, orphan), at=70,
                                         broken_calls=True))
        self.assertEqual([], self._wrong(
            about(records.DELETE, 30, 404, code=_NOT_FOUND, broken=1),
            rows=(), broken_calls=True))
        self.assertNotEqual([], self._wrong(rows=(ROW, orphan),
                                            broken_calls=True))
