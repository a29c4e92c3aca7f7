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

"""What is made of answers that Placement does not give."""

from collections.abc import Callable
from typing import Any

import testtools

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.clouds import placement_answers as answers
from tests import answering

_PROVIDER = {'uuid': 'u', 'name': 'n', 'generation': 1,
             'parent_provider_uuid': None}
_HELD = {'resources': {'CUSTOM_GOLD': 1}}
_ON_PROVIDER = {'resource_provider_generation': 1, 'allocations': {'c': _HELD}}
_OFFER = {'total': 1, 'reserved': 0, 'min_unit': 1, 'max_unit': 1,
          'step_size': 1, 'allocation_ratio': 1.0}
_USAGES = {'resource_provider_generation': 1, 'usages': {'CUSTOM_GOLD': 1}}
_Read = Callable[[placement.Placement], Any]
#: Each read: how, a good document, and paths of keys that it needs.
_READS: dict[str, tuple[_Read, dict[str, Any], tuple[str, ...]]] = {
    'consumer': (
        lambda client: client.consumer('c'),
        {'allocations': {'u': _HELD}, 'consumer_generation': 1,
         'project_id': 'p', 'user_id': 'u', 'consumer_type': 'X'},
        ('allocations', 'allocations/u/resources', 'consumer_generation',
         'project_id', 'user_id')),
    'provider': (lambda client: client.provider('u'), _PROVIDER,
                 ('uuid', 'name', 'generation')),
    'providers': (lambda client: client.providers(resources='X:1'),
                  {'resource_providers': [_PROVIDER]},
                  ('resource_providers', 'resource_providers/generation')),
    'consumers_on': (lambda client: client.consumers_on('u'), _ON_PROVIDER,
                     ('allocations', 'allocations/c/resources')),
    'allocated': (lambda client: client.allocated('u'),
                  {**_ON_PROVIDER, **_USAGES},
                  ('allocations', 'usages', 'resource_provider_generation')),
    'usages': (lambda client: client.usages('u'), _USAGES, ('usages',)),
    'inventories': (
        lambda client: client.inventories('u'),
        {'resource_provider_generation': 1,
         'inventories': {'CUSTOM_GOLD': _OFFER}},
        ('resource_provider_generation', 'inventories', *(
            f'inventories/CUSTOM_GOLD/{key}' for key in _OFFER
            # Its whole numbers are good, too.
            if key != 'allocation_ratio'))),
    'traits': (lambda client: client.traits('u'),
               {'traits': ['CUSTOM_FAST']}, ('traits',)),
    'with_room': (
        lambda client: client.with_room('X'),
        {'provider_summaries': {'u': {'resources': {'X': {'used': 1}}}}},
        ('provider_summaries', 'provider_summaries/u/resources',
         'provider_summaries/u/resources/X/used')),
    'class_there': (lambda client: client.class_there('X'), {'name': 'X'},
                    ('name',)),
    'classes': (lambda client: client.classes(),
                {'resource_classes': [{'name': 'X'}]},
                ('resource_classes', 'resource_classes/name')),
    'candidates': (
        lambda client: client.candidates([('resources', 'X:1')]),
        {'allocation_requests': [{'allocations': {'u': _HELD}}]},
        ('allocation_requests', 'allocation_requests/allocations',
         'allocation_requests/allocations/u/resources')),
}
_WANTED = placement.AllocationRequest({}, 'p', 'u', None, None)
_WRITES: dict[str, Callable[[placement.Placement], answers.Answer]] = {
    'put_allocations': lambda client: client.put_allocations('c', _WANTED),
    'post_allocations': lambda client: client.post_allocations({'c': _WANTED}),
    'delete_allocations': lambda client: client.delete_allocations('c'),
    'ensure_class': lambda client: client.ensure_class('X'),
    'delete_class': lambda client: client.delete_class('X'),
    'create_provider': lambda client: client.create_provider('u', 'n'),
    'put_inventories': lambda client: client.put_inventories('u', 1, {}),
    'reshape': lambda client: client.reshape('u', 1, {}, {}),
    'delete_provider': lambda client: client.delete_provider('u'),
}


def _error(status: int, detail: Any = 'No resource provider with uuid u found',
           **more: Any) -> dict[str, Any]:
    """Return an error as Placement writes it."""
    return {'errors': [{'status': status, 'title': 'x', 'detail': detail,
                        'code': 'placement.undefined_code', **more}]}


def _no_errors(status: int) -> list[Any]:
    """Return documents that are no errors of Placement."""
    return [*answering.NO_DOCUMENTS, {'message': 'no Route matched'},
            *({'errors': each} for each in (None, 5, 'x', {}, [], [None],
                                            ['x'], [[]], [{}])),
            _error(418), _error(status, None), _error(status, ['x']),
            *(_error(status, code=code) for code in (None, 5, [], 'x.y')),
            _error(status, title=None)]


class TestMalformedAnswers(testtools.TestCase):
    """They were KeyErrors, or consumers that have nothing allocated."""

    def setUp(self) -> None:
        super().setUp()
        self.there = answering.Answering()
        self.client = placement.Placement(self.there, placement.ADMIN)

    def unavailable(self, read: _Read) -> str:
        """Return what is said of an answer, besides whose it is."""
        raised = self.assertRaises(errors.PlacementUnavailable, read,
                                   self.client)
        self.assertIn(f'Placement answered {self.there.status}', str(raised))
        return str(raised)

    def test_each_read_of_what_placement_does_not_answer(self) -> None:
        for name, (read, good, _) in _READS.items():
            for self.there.document in answering.NO_DOCUMENTS:
                said = self.unavailable(read)
                self.assertRegex(said, 'its answer (is|has no)', name)
                self.assertIn('[placement]', said)
            self.there.document = good
            self.assertTrue(read(self.client), name)

    def test_number_in_an_inventory_without_a_meaning(self) -> None:
        """The capacity was an OverflowError, or a division by zero."""
        for key, value in (('step_size', 0), ('total', -1),
                           ('max_unit', 10 ** 400),
                           *(('allocation_ratio', each) for each in (
                               float('nan'), float('inf'), -1.0, '1', None))):
            self.there.document = {
                'resource_provider_generation': 1,
                'inventories': {'VCPU': {**_OFFER, key: value}}}
            self.assertIn(f'"{key}"',
                          self.unavailable(_READS['inventories'][0]))

    def test_each_key_that_a_read_needs(self) -> None:
        for read, good, needed in _READS.values():
            for path in needed:
                key = path.rpartition('/')[2]
                for self.there.document in answering.spoiled(good, path):
                    # An empty object is one that has no such thing.
                    if {} not in (self.there.document.get(path),
                                  _at(self.there.document, path)):
                        self.assertRegex(self.unavailable(read),
                                         f'"({key}|x)"')

    def test_gateway_that_answers_nothing_is_no_free_consumer(self) -> None:
        """Its {} said that a consumer has no allocations."""
        self.there.document = {}
        self.assertIn('"allocations"', self.unavailable(_READS['consumer'][0]))
        self.there.document = {'allocations': {}}
        self.assertEqual(placement.Consumer({}), self.client.consumer('c'))

    def test_error_of_a_gateway_is_no_missing_thing(self) -> None:
        for status in (404, 400, 409):
            self.there.status = status
            for self.there.document in _no_errors(status):
                for read, _, _ in _READS.values():
                    self.unavailable(read)

    def test_error_of_placement_is_a_missing_thing_where_one_can_be(
            self) -> None:
        for status, detail, missing in (
                (404, 'No resource provider', (
                    'provider', 'consumers_on', 'allocated', 'usages',
                    'inventories', 'traits', 'class_there')),
                (400, 'No such resource class X.', (
                    'providers', 'with_room', 'candidates')),
                # Of a path that Placement does not have.
                (404, 'The resource could not be found.\n\n   ', ())):
            self.there.status = status
            self.there.document = _error(status, detail)
            for name, (read, _, _) in _READS.items():
                if name in missing:
                    self.assertFalse(read(self.client), name)
                else:
                    self.unavailable(read)

    def test_write_that_a_gateway_answers_is_not_done(self) -> None:
        for status, outcome in ((200, answers.Outcome.UNCERTAIN),
                                (409, answers.Outcome.UNCERTAIN),
                                (404, answers.Outcome.REFUSED),
                                (400, answers.Outcome.REFUSED)):
            self.there.status = status
            for self.there.document in _no_errors(status):
                for name, write in _WRITES.items():
                    answer = write(self.client)
                    self.assertIs(outcome, answer.outcome, name)
                    self.assertIn(f'Placement answered {status}', answer.said)

    def test_delete_below_a_wrong_address_deletes_nothing(self) -> None:
        self.there.status = 404
        for detail, outcome in (
                ("No allocations for consumer 'c'", answers.Outcome.GONE),
                ('The resource could not be found.\n\n   ',
                 answers.Outcome.REFUSED)):
            self.there.document = _error(404, detail)
            for name in ('delete_allocations', 'delete_class',
                         'delete_provider'):
                self.assertIs(outcome, _WRITES[name](self.client).outcome)

    def test_406_that_is_not_placements_is_unavailable(self) -> None:
        self.there.status = 406
        for self.there.document in (
                *_no_errors(406), *(_error(406, max_version=version)
                                    for version in (None, 5, 'x', '1', '1.x',
                                                    '1.2.3', [], {}))):
            for read, _, _ in _READS.values():
                self.unavailable(read)


def _at(document: Any, path: str) -> Any:
    """Return what is at a path; ``None`` if it cannot be followed."""
    for key in path.split('/'):
        document = document[0] if isinstance(document, list) else document
        document = document.get(key)
    return document
