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

"""The core without features, with one left out, and with some switched off."""

import dataclasses
import importlib
import os

import fixtures

from ironic_reservations.features import in_order
from ironic_reservations.features.announcements import feature as announcements
from ironic_reservations.features.audit import feature as audit
from ironic_reservations.features.enforcement import feature as enforcement
from ironic_reservations.features.limits import feature as limits
from ironic_reservations.features.no_show import feature as no_show
from ironic_reservations.features.notices import feature as notices
from ironic_reservations.features.owners import feature as owners
from ironic_reservations.features.placement import feature as placement
from tests import world
from tests.inprocess.engine import timelines

_BY_DEFAULT = (placement.Placement, limits.Limits, no_show.NoShow,
               notices.Notices, owners.Owners, enforcement.Enforcement,
               announcements.Announcements)
#: Tests of the core alone.
_OF_THE_CORE = (('test_find', 'TestFind'), ('test_lease_create', 'TestCreate'),
                ('test_lease_create', 'TestDryRun'),
                ('test_lease_end', 'TestEnd'), ('test_reserve', 'TestReserve'),
                ('test_reserve', 'TestAgain'))


class TestSwitchedOff(timelines.TestCase):
    """A feature that is off is never called."""

    def _are_off(self, *features: type, **changed: object) -> None:
        engine = dataclasses.replace(self.engine, **changed)
        self.assertEqual(
            [each for each in in_order.FEATURES if each not in features],
            list(map(type, engine.features)))

    def test_by_default(self) -> None:
        self._are_off(*_BY_DEFAULT)

    def test_audit(self) -> None:
        self.begin(audit__log=False)
        self._are_off(audit.Audit, announcements.Unrequested, *_BY_DEFAULT)

    def test_reports_of_leases(self) -> None:
        """The notices have the metrics of the outbox, which both use."""
        self.begin(leases__enforcement_commit_url='http://127.0.0.1:1')
        self._are_off(*(each for each in _BY_DEFAULT if each not in (
            notices.Notices, enforcement.Enforcement)))

    def test_bus(self) -> None:
        """With a message bus, the audit needs nothing beside it."""
        world.hear(self.engine)
        self._are_off(announcements.Unrequested, *(
            each for each in _BY_DEFAULT
            if each is not announcements.Announcements))

    def test_none(self) -> None:
        self.begin(leases__owner_notice=3600, leases__project_limits=True,
                   leases__no_show_after={'*': 60},
                   notices__mail_host='127.0.0.1',
                   leases__enforcement_url='http://127.0.0.1:1')
        world.hear(self.engine)
        self._are_off(announcements.Unrequested, placement=object())

    def test_hooks_are_those_that_a_feature_defines(self) -> None:
        self.assertEqual([placement.Placement], list(map(
            type, dataclasses.replace(self.engine, placement=object()
                                      ).hooks['proves'])))
        self.assertEqual((), self.engine.hooks['proves'])


class _LeftOut(timelines.TestCase):
    """With some features only."""

    features: tuple[type, ...] = ()

    def setUp(self) -> None:
        self.useFixture(fixtures.MonkeyPatch(
            f'{in_order.__name__}.FEATURES', self.features))
        super().setUp()
        self.assertLessEqual({*map(type, self.engine.features)},
                             {*self.features})


def _without(name: str, features: tuple[type, ...]) -> None:
    """Add the tests of the core, with some features only."""
    for module, case in _OF_THE_CORE:
        title = f'{case}Without{name}'
        tests = getattr(importlib.import_module(f'{__package__}.{module}'),
                        case)
        globals()[title] = type(title, (_LeftOut, tests), {
            '__module__': __name__, '__qualname__': title,
            'features': features})


_without('Features', ())
# In the long run.
if os.environ.get('IRONIC_RESERVATIONS_TEST_SEED'):
    for _each in in_order.FEATURES:
        _without(_each.__name__, tuple(
            other for other in in_order.FEATURES if other is not _each))
