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

"""GET /v1/limits: the limits and the usage of a project."""

from typing import Any
import uuid

import testtools

from ironic_reservations.features.limits import configured
from ironic_reservations.features.limits import limit_usage
from ironic_reservations.model import limits
from tests.inprocess.api import asking
from tests.inprocess.api import world

_PATH = '/v1/limits'


class _Served(asking.AskingCase):
    """A project with two overlapping leases and a reservation."""

    options = {'leases__project_limits': True,
               'leases__max_leases_per_project': 2,
               'leases__max_hosts_per_project': 0,
               'leases__max_horizon': 10 ** 9,
               'leases__max_host_hours_per_project': 9}
    nodes = {f'host-{number}': {'owner': 'red'} for number in range(4)}

    def setUp(self) -> None:
        super().setUp()
        self.book('01 10', '01 12', 1)
        self.book('01 11', '01 13', 2)
        self.ask('POST', '/v1/reservations', 201, {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [
                node.uuid for node in self.served.ironic.nodes()]})

    def _read(self, path: str = _PATH,
              who: dict[str, str] | None = None
              ) -> dict[str, tuple[Any, Any]]:
        """Return limits and usage, by the limit."""
        told = self.ask('GET', path, who=who)['limits']
        return {each['limit']: (each['allowed'], each['used'])
                for each in told['absolute']}


class TestLimits(_Served):
    """The limits for all classes together."""

    def test_what_a_project_may_have_and_has(self) -> None:
        """The limits are the operator's, and the usage is counted."""
        self.assertEqual({
            'max_leases_per_project': (2, 2),
            'max_hosts_per_project': (None, 3),
            'max_host_hours_per_project': (9, 6),
            'max_instances_per_project': (1000, 0),
            'max_instance_hours_per_project': (200000, 0),
            'max_duration': (31622400, None),
            'max_horizon': (10 ** 9, None),
            'extension_notice': (None, None),
            'max_extensions': (None, None),
            'max_per_project': (100, 1),
            'max_lifetime': (604800, None)}, self._read())

    def test_what_is_refused_says_the_same(self) -> None:
        """The refusal has the same names and numbers."""
        refused = self.book('02 10', '02 12', status=403)['details']
        self.assertEqual((refused['allowed'], refused['used']),
                         self._read()[refused['limit']])

    def test_how_late_and_how_often_a_lease_is_extended(self) -> None:
        """These limits of a member are shown since 1.16."""
        self.served.configure('leases', extension_notice=3600,
                              max_extensions=3)
        found = self._read()
        self.assertEqual([(3600, None), (3, None)],
                         [found[name] for name in limits.EXTENSIONS])
        older = self.ask('GET', _PATH, version=asking.since(15))
        self.assertEqual(
            set(found) - set(limits.EXTENSIONS),
            {each['limit'] for each in older['limits']['absolute']})

    def test_each_project_for_itself(self) -> None:
        """Another project has no usage, and cannot read this one's."""
        self.assertEqual((2, 0), self._read(who=asking.OTHER)[
            'max_leases_per_project'])
        refused = self.ask('GET', f'{_PATH}?project=red', 403,
                           who=asking.OTHER)
        self.assertEqual('reservation:limits:get_all',
                         refused['errors'][0]['policy'])
        self.assertEqual(self._read(), self._read(f'{_PATH}?project=red'))

    def test_who_may_exceed_limits_has_none(self) -> None:
        """An exempt caller sees the limits of projects as their members do."""
        self.assertEqual({None}, {
            allowed for allowed, _
            in self._read(who=asking.OPERATOR).values()})
        self.assertEqual(self._read(),
                         self._read(f'{_PATH}?project=red', asking.OPERATOR))

    def test_all_switched_off(self) -> None:
        """The usage is still shown."""
        self.served.configure('leases', project_limits=False)
        found = self._read()
        self.assertEqual({None}, {allowed for allowed, _ in found.values()})
        self.assertEqual(2, found['max_leases_per_project'][1])

    def test_older_versions_have_nothing_there(self) -> None:
        """The code is the same as before; the text names the version."""
        for method in ('GET', 'POST', 'OPTIONS'):
            refused = self.ask(method, _PATH, 404, version=asking.since(5))
            error, = refused['errors']
            self.assertEqual('request.not_found', error['code'])
            self.assertIn('in version 1.5, which this request uses. It came '
                          'with version 1.6: ask', error['detail'])

    def test_bad_requests(self) -> None:
        """The refusal names the parameter."""
        self.ask('POST', _PATH, 405, {})
        self.ask('GET', f'{_PATH}?project=', 400)
        self.ask('GET', f'{_PATH}?tenant=red', 400)
        self.ask('GET', _PATH, 403, who={'x_roles': 'nobody',
                                         'x_project_id': 'red'})

    def test_every_limit_has_its_unit(self) -> None:
        """Each answer has the unit."""
        self.assertEqual(
            {name for by in (configured.BY_GROUP, configured.BY_CLASS)
             for names in by.values() for name in names},
            set(limit_usage.UNITS))


class TestByClass(_Served):
    """Classes are shown since 1.13; older versions are unchanged."""

    def setUp(self) -> None:
        super().setUp()
        self.served.configure('leases', max_hosts_per_class={'gold': 4})

    def _of_class(self, who: dict[str, str] | None = None,
                  path: str = _PATH) -> list[tuple[Any, ...]]:
        told = self.ask('GET', path, who=who, version=asking.since(13)
                        )['limits']
        return [(each['limit'], each['resource_class'], each['allowed'],
                 each['used']) for each in told['absolute']
                if each['resource_class'] is not None]

    def test_what_a_project_has_of_a_class(self) -> None:
        """A request without a class counts for each class."""
        self.assertEqual([('max_hosts_per_class', 'gold', 4, 3),
                          ('max_host_hours_per_class', 'gold', None, 6)],
                         self._of_class())
        self.assertEqual([], self._of_class(asking.OPERATOR))
        self.assertEqual(self._of_class(), self._of_class(
            asking.OPERATOR, f'{_PATH}?project=red'))


class TestWithoutKeystone(testtools.TestCase):
    """All callers are one project."""

    def test_what_is_set_holds(self) -> None:
        """The limits of the operator hold, and the defaults do not."""
        served = self.useFixture(world.OpenWorld(
            leases__project_limits=True, leases__max_leases_per_project=3))
        told = world.request(served, 'GET', _PATH).json['limits']
        self.assertIsNone(told['project_id'])
        self.assertEqual(
            {'max_leases_per_project': 3},
            {each['limit']: each['allowed'] for each in told['absolute']
             if each['allowed'] is not None})
