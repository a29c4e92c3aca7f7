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

"""A condition of the operator for leases that have none."""

import json
from typing import Any

import fixtures
from oslo_config import cfg
import testtools

from ironic_reservations.engine import default_condition
from tests.inprocess.api import asking
from tests.inprocess.api import world

_DEFAULT = '["==", "$price", "low"]'
_OWN = '["==", "$resource_class", "gold"]'
_SIZES = {'resource_type': 'virtual:instance', 'vcpus': 1, 'memory_mb': 1,
          'disk_gb': 1, 'amount': 1}


class TestDefault(asking.AskingCase):
    """A cheap host, and an expensive one for users who request it."""

    options = {'leases__default_resource_properties':
               _DEFAULT.replace('$', '$$')}

    def setUp(self) -> None:
        super().setUp()
        sizes = (('cpus', '8'), ('memory_mb', '1024'), ('local_gb', '10'))
        self.hosts = {}
        for name, price in (('cheap', 'low'), ('dear', 'high')):
            made = self.open_host(name, resource_class='gold',
                                  properties=sizes)
            self.hosts[name] = made['node_uuid']
            self.ask('PUT', f'/v1/os-hosts/{made["id"]}', 200,
                     {'price': price}, self.operator)
        self.ask('PATCH', '/v1/os-hosts/properties/price', 200,
                 {'private': True}, self.operator)

    def made(self, status: int = 201, **what: Any) -> Any:
        """Ask for a lease with one reservation."""
        wish = {**asking.hosts()[0], **what}
        return self.book('01 10', '02 10', status=status, reservations=[wish])

    def test_lease_that_has_no_condition(self) -> None:
        """The lease gets the operator's condition, even on a private property.
        """
        for what in ({}, {'resource_properties': '[]'},
                     {'resource_properties': ' '}, _SIZES):
            wish = {**what} if what is _SIZES else {
                **asking.hosts()[0], **what}
            lease = self.book('01 10', '02 10', reservations=[wish])
            reservation, = lease['reservations']
            self.assertEqual(_DEFAULT, reservation['resource_properties'])
            self.assertEqual([self.hosts['cheap']], [
                each['uuid'] for each in reservation['nodes']])
            self.send('DELETE', f'/v1/leases/{lease["id"]}', 204)

    def test_lease_that_has_one(self) -> None:
        """The lease keeps its condition, and may get any host."""
        lease = self.made(min=2, max=2, resource_properties=_OWN)
        reservation, = lease['reservations']
        self.assertEqual(_OWN, reservation['resource_properties'])

    def test_other_text_stays(self) -> None:
        """The operator's condition is added to the condition on hypervisors.
        """
        lease = self.made(hypervisor_properties=_OWN)
        reservation, = lease['reservations']
        self.assertEqual((_OWN, _DEFAULT), (
            reservation['hypervisor_properties'],
            reservation['resource_properties']))

    def test_what_is_offered_is_accepted(self) -> None:
        """An offer with the operator's condition is accepted unchanged."""
        refused = self.made(409, min=2, max=2)
        offer = next(each['lease'] for each in refused['details']['offers']
                     if each['kind'] == 'fewer')
        self.assertIn(json.dumps(_DEFAULT), json.dumps(offer))
        self.ask('POST', '/v1/leases', 201, offer)

    def test_what_is_sent_back_is_accepted(self) -> None:
        """The same holds after the operator has changed the condition."""
        lease = self.made()
        reservation, = lease['reservations']
        self.served.conf.set_override(
            'default_resource_properties', _OWN.replace('$', '$$'), 'leases')
        changed = self.ask('PUT', f'/v1/leases/{lease["id"]}', 200, {
            'reservations': [{
                'id': reservation['id'], 'min': 1, 'max': 1,
                'resource_properties': _DEFAULT,
                'hypervisor_properties': ''}]})['lease']
        self.assertEqual(_DEFAULT, changed['reservations'][0][
            'resource_properties'])
        self.made(400, resource_properties=_DEFAULT)

    def test_what_a_lease_could_have(self) -> None:
        """Availability counts hosts as for a new lease without a condition."""
        path = ('/v1/availability?start_date=2050-01-01%2000:00'
                '&end_date=2050-01-05%2000:00&duration=3600&count=')
        for count, there in ((1, True), (2, False)):
            found = self.ask('GET', f'{path}{count}')['availability']
            self.assertIs(there, found['earliest'] is not None)


class TestOption(testtools.TestCase):
    """An invalid condition is refused at the start."""

    def test_condition_that_cannot_be_read(self) -> None:
        """The error names the option, and a valid value."""
        for text, said in (('x', 'not JSON'), (_DEFAULT, 'Write $$ for it')):
            conf = world.configuration(
                self.useFixture(fixtures.TempDir()).path,
                leases__default_resource_properties=text)
            refused = self.assertRaises(cfg.ConfigFileValueError,
                                        default_condition.check, conf)
            self.assertIn('[leases] default_resource_properties', str(refused))
            self.assertIn(said, str(refused))
