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

"""What is found of acts that their holders leave on nodes."""

from __future__ import annotations

import dataclasses
from typing import Any
import unittest

from tests.processes.checker import by_hand
from tests.processes.checker import findings
from tests.processes.checker import handed
from tests.processes.checker import history

asked, wrote = by_hand.asked, by_hand.wrote
N = by_hand.N
VOLUME = 'volume-of-n'
MARK = f'{handed.MARK}00000000-0000-4000-8000-000000000000'
OURS = {'uuid': N, 'description': 'd', 'extra': {'rack': '1'},
        'instance_info': {}, 'power_state': 'power off',
        'maintenance': False, 'maintenance_reason': None,
        'boot_mode': 'bios', 'secure_boot': False,
        'driver_internal_info': {}}
FOUND = ['not as lent']


def stock(sent: float, **fields: Any) -> history.Exchange:
    """Make the exchange that shows the node to an operator."""
    return asked('stock', 'GET', '/v1/nodes', sent, 200,
                 {'nodes': [{**OURS, **fields}]})


def volumes(sent: float, op: str = 'stock', **of: str) -> history.Exchange:
    """Make the exchange that shows what its volumes are of."""
    return asked(op, 'GET', '/v1/volume/targets', sent, 200, {'targets': [
        {'uuid': uuid, 'node_uuid': N, 'volume_id': volume}
        for uuid, volume in ({VOLUME: 'ours'} | of).items()]})


def acted(sent: float, below: str = '', body: Any = None,
          method: str = 'PATCH', **more: Any) -> history.Exchange:
    """Make an act of the holder, the project one."""
    return asked('act', method, more.pop('path', f'/v1/nodes/{N}{below}'),
                 sent, 202, proof='l-proof', project='one', body=body, **more)


def cleaning(at: float) -> tuple[history.Done, ...]:
    """Make what Ironic writes of a node that it cleans."""
    return tuple(wrote(at + after, provision_state=state) for after, state
                 in ((0, 'cleaning'), (0.1, 'available')))


def written(sent: float, pointer: str = '/extra/his',
            **more: Any) -> history.Exchange:
    """Make an act that writes a field."""
    return acted(sent, body=[{'op': 'add', 'path': pointer, 'value': MARK}],
                 **more)


class HandedTestCase(unittest.TestCase):
    """One has the node from 10 on and ends that at 30, another from 40 on."""

    def found(self, act: history.Exchange, *told: Any, cleaned: bool = True,
              **more: Any) -> list[str]:
        """Return the rules that are broken."""
        return by_hand.judged(*self._all(act, *told, cleaned=cleaned), **{
            'passed': (history.Passed(act.sent + 0.01, act.method, act.path,
                                      act.id, 202),),
            'classes': {N: 'gold'}, **more})

    def _all(self, act: history.Exchange, *told: Any,
             cleaned: bool = True) -> tuple[Any, ...]:
        return (stock(1), volumes(1),
                by_hand.shown('l', 10, 100, N, project='one'), act,
                asked('end-lease', 'DELETE', '/v1/leases/l', 30, 204),
                *(cleaning(33) if cleaned else ()),
                by_hand.reserved('u', 40, 100, project='two'), *told)

    def test_a_node_that_is_as_it_was(self) -> None:
        self.assertEqual([], self.found(written(20), stock(50), volumes(50)))

    def test_what_is_still_there(self) -> None:
        """Wherever it was written."""
        for pointer, fields in (
                ('/extra/his', {'extra': {'rack': '1', 'his': MARK}}),
                ('/extra/rack', {'extra': {'rack': MARK}}),
                ('/description', {'description': MARK}),
                ('/instance_info/a', {'instance_info': {'a': MARK}})):
            self.assertEqual(FOUND, self.found(written(20, pointer),
                                               stock(50, **fields)))
        maintained = acted(20, '/maintenance', {'reason': MARK}, 'PUT')
        self.assertEqual(FOUND, self.found(maintained, stock(
            50, maintenance=True, maintenance_reason=f'[by] {MARK}')))
        volume = acted(20, path='/v1/volume/targets', method='POST', body={
            'node_uuid': N, 'volume_id': MARK})
        self.assertEqual(FOUND, self.found(volume, volumes(50, v=MARK)))

    def test_what_is_gone_that_an_operator_has_written(self) -> None:
        """Or is something else."""
        for fields in ({'extra': {}}, {'description': None},
                       {'description': ''}):
            self.assertEqual(FOUND, self.found(written(20),
                                               stock(50, **fields)))
        deleted = acted(20, path=f'/v1/volume/targets/{VOLUME}',
                        method='DELETE')
        gone = asked('stock', 'GET', '/v1/volume/targets', 50, 200,
                     {'targets': []})
        self.assertEqual(FOUND, self.found(deleted, gone))
        # A node that an operator deletes takes its volumes along.
        destroyed = dataclasses.replace(wrote(45), what='destroy')
        self.assertEqual([], self.found(deleted, destroyed, gone))
        self.assertEqual(FOUND, self.found(
            deleted, destroyed,
            dataclasses.replace(destroyed, what='create'), gone))
        self.assertEqual(FOUND, self.found(deleted, volumes(
            50, **{VOLUME: 'another'})))

    def test_who_has_it_may_see_it(self) -> None:
        """And whoever is of the same project; and nobody is told before."""
        shown = {'extra': {'rack': '1', 'his': MARK}}
        self.assertEqual([], self.found(written(20), stock(25, **shown)))
        self.assertEqual([], self.found(written(20), stock(35, **shown)))
        again = by_hand.shown('m', 60, 100, N, project='one')
        self.assertEqual([], self.found(
            written(20), asked('release', 'DELETE', '/v1/reservations/u', 50,
                               204), again, stock(70, **shown)))

    def test_power_that_is_on(self) -> None:
        """If it was the holder who has switched it on last."""
        act = acted(20, '/states/power', {'target': 'power on'}, 'PUT')
        on = wrote(21, act, power_state='power on')
        self.assertEqual(FOUND, self.found(
            act, on, stock(50, power_state='power on')))
        self.assertEqual([], self.found(act, on, stock(50)))
        self.assertEqual([], self.found(
            act, on, wrote(45, power_state='power on'),
            stock(50, power_state='power on')))

    def test_a_machine_that_boots_as_its_holder_has_set_it(self) -> None:
        """In another mode, securely or not, or from another device."""
        for below, name, value, fields in (
                ('/states/boot_mode', 'boot_mode', 'uefi',
                 {'boot_mode': 'uefi'}),
                ('/states/secure_boot', 'secure_boot', True,
                 {'secure_boot': True}),
                ('/management/boot_device', 'boot_device', 'cdrom',
                 {'driver_internal_info': {
                     'remembered': {'boot_device': 'cdrom'}}})):
            act = acted(20, below, {'target': value}, 'PUT')
            did = wrote(21, act, **{name: value})
            self.assertEqual(FOUND, self.found(
                act, did, stock(50, **fields)), name)
            self.assertEqual([], self.found(act, did, stock(50)), name)
            # NOTE: as who has it now has set it.
            self.assertEqual([], self.found(
                act, did, wrote(45, **{name: value}), stock(50, **fields)),
                name)

    def test_a_node_that_was_not_cleaned(self) -> None:
        """Since the act had an effect, until another had it."""
        act = written(20)
        for at, expected in ((19, FOUND), (25, []), (39, []), (41, FOUND)):
            self.assertEqual(expected, self.found(
                act, wrote(21, act, extra={'his': MARK}),
                *cleaning(at), cleaned=False))
        # NOTE: whatever else has become of it, it had none.
        self.assertEqual([], self.found(act, cleaned=False))

    def test_an_act_that_comes_late(self) -> None:
        """When the node has been cleaned."""
        act = written(20)
        self.assertEqual(FOUND, self.found(
            act, wrote(38, act, extra={'his': MARK})))

    def test_a_node_that_was_made_anew(self) -> None:
        act = written(20)
        self.assertEqual([], self.found(
            act, wrote(21, act, extra={'his': MARK}),
            history.Done('node', 'create', N, 25, 25.1, {}), cleaned=False))

    def test_what_an_owner_does_to_a_node_that_nobody_has(self) -> None:
        """It is the owner's own; so may what anybody may do be anybody's."""
        shown = {'extra': {'rack': '1', 'his': MARK}}
        self.assertEqual([], self.found(
            written(35), stock(50, **shown), owners={N: 'one'}))
        self.assertEqual(FOUND, self.found(written(35), stock(50, **shown)))
        self.assertEqual([], self.found(
            written(35, '/description'), stock(50, description=MARK)))

    def test_when_all_promises_have_ended(self) -> None:
        """Nobody has it then, and it is as it was."""
        def end(*seen: history.Exchange) -> list[str]:
            return self.found(
                written(20), asked('release', 'DELETE', '/v1/reservations/u',
                                   50, 204),
                *seen, volumes(60.2, op='see'),
                asked('see', 'GET', '/v1/allocations', 60.4, 200,
                      {'allocations': []}),
                snapshots=tuple({
                    'at': at, 'tables': {}, 'nodes': [], 'left_over': [],
                    'waited': 0, 'phase': 'p'} for at in (55, 61)))

        def see(**fields: Any) -> history.Exchange:
            return asked('see', 'GET', '/v1/nodes', 60, 200,
                         {'nodes': [{**OURS, **fields}]})
        self.assertEqual([], end(see()))
        self.assertEqual(FOUND, end(see(extra={'rack': '1', 'his': MARK})))

    def test_counted_once_for_each_who_has_it_next(self) -> None:
        """If the act had an effect."""
        act = written(20)
        for more, expected in (((wrote(21, act, extra={}),), 1), ((), 0)):
            told = self._all(act, stock(50), stock(52), *more)
            known = history.History(
                tuple(each for each in told
                      if isinstance(each, history.Exchange)),
                tuple(each for each in told
                      if isinstance(each, history.Done)),
                late=by_hand.LATE, classes={N: 'gold'})
            self.assertEqual([], findings.judge(known))
            self.assertEqual(expected, known.judged['not as lent'])


class MaintenanceTestCase(unittest.TestCase):
    """The end of a lease clears the maintenance of its holder alone."""

    def test_the_service_clears_it(self) -> None:
        for reason, expected in (
                ('[by the holder of the node, b] his', []),
                ('his', ['maintenance of another'])):
            act = acted(20, '/maintenance', method='PUT')
            self.assertEqual(expected, by_hand.judged(
                act, wrote(21, act, maintenance=True,
                           maintenance_reason=reason),
                wrote(100, maintenance=False, maintenance_reason=None)))
