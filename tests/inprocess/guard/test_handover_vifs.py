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

"""VIFs of holders, with a small Neutron of the tests."""

import dataclasses
from typing import Any

from tests.inprocess.guard import base
from tests.inprocess.guard import handed_over
from tests.inprocess.guard import with_keystone
from tests.real import network
from tools import enrolment
from tools.stack import neutron


class VifsTestCase(handed_over.HandedOverTestCase):
    """Nodes with the network interface of Neutron."""

    interface = 'neutron'
    cabled = {'local_link_connection': {
        'switch_id': '00:11:22:33:44:55', 'port_id': 'Ethernet1/1',
        'switch_info': 'top'}}
    service: network.NetworkService

    @classmethod
    def make(cls, folder: str) -> with_keystone.WithKeystone:
        cls.service = cls.enterClassContext(network.NetworkService())
        net = cls.service.network.make('networks', name='a-network')
        return with_keystone.make(folder, options={
            'DEFAULT': {'enabled_network_interfaces': 'noop,flat,neutron',
                        'default_network_interface': cls.interface},
            'neutron': {'auth_type': 'none',
                        'endpoint_override': cls.service.url,
                        'cleaning_network': net['id'],
                        'provisioning_network': net['id']}})

    def port(self) -> str:
        """Make a port in Neutron, and return its id."""
        (net,) = self.service.network.shown_all('networks')
        made = self.service.network.make('ports', network_id=net['id'])
        return str(made['id'])

    def attach(self, node: enrolment.Enrolled, port: str) -> None:
        """Attach a VIF as the current user."""
        self.granted('POST', f'/v1/nodes/{node.uuid}/vifs', {'id': port})

    def vifs(self, node: enrolment.Enrolled) -> list[str]:
        """Return the VIFs of a node, as Ironic lists them to the current user.
        """
        return [each['id'] for each in self.granted(
            'GET', f'/v1/nodes/{node.uuid}/vifs').document['vifs']]

    def address(self, node: enrolment.Enrolled) -> str:
        """Return the address of the only port of a node."""
        (port,) = self.granted(
            'GET', f'/v1/ports?node={node.uuid}').document['ports']
        return str(port['address'])


@dataclasses.dataclass
class _Life:
    """A lease of a node whose holder has attached a port.

    :ivar during: the writes to its ports from the start to the end.
    :ivar plugged: the port as it was before the end.
    """

    node: enrolment.Enrolled
    lease: dict[str, Any]
    before: dict[str, Any]
    port: str
    ours: str
    plugged: dict[str, Any] = dataclasses.field(default_factory=dict)
    during: list[neutron.Call] = dataclasses.field(default_factory=list)
    after: dict[str, Any] = dataclasses.field(default_factory=dict)
    at_end: list[neutron.Call] = dataclasses.field(default_factory=list)


class HandedOverVifsTest(VifsTestCase):
    """At the end of a lease, Ironic releases the ports of its holder."""

    _found: dict[str, _Life] = {}

    def life(self, name: str) -> _Life:
        """Return one of the lives after all of them have ended.

        All lives run at once, since each waits for seconds at its end.
        """
        if not self._found:
            lives = {each: self._begun(each) for each in (
                'neutron', 'flat', 'managed', 'deployed', 'replaced',
                'detached', 'unused')}
            during = self.service.writes()
            self.ended(*(each.lease for each in lives.values()))
            at_end = self.service.writes()
            for life in lives.values():
                paths = {f'/ports/{life.port}', f'/ports/{life.ours}'}
                life.during = [each for each in during if each.path in paths]
                life.at_end = [each for each in at_end if each.path in paths]
                life.after = self.whole(life.node)
            self._found.update(lives)
        return self._found[name]

    def _begun(self, name: str) -> _Life:
        node = self.ready(network_interface='flat' if name == 'flat'
                          else 'neutron')
        life = _Life(node, {}, {}, self.port(), self.port())
        if name == 'replaced':
            self.attach(node, life.ours)
        life.before = self.whole(node)
        life.lease = self.lent(node)
        proof = life.lease['reservations'][0]['id']
        self.as_(self.holder)
        if name == 'deployed':
            self.assertEqual(202, self.deploy(node.uuid, proof).status)
            self.wait_until(node.uuid, 'active')
        if name == 'replaced':
            self.granted('DELETE', f'/v1/nodes/{node.uuid}/vifs/{life.ours}')
        if name != 'unused':
            self.attach(node, life.port)
            self.assertEqual([life.port], self.vifs(node))
        if name == 'managed':
            self.assertEqual(202, self.provision(node.uuid, 'manage',
                                                 proof).status)
            self.wait_until(node.uuid, 'manageable')
        if name == 'detached':
            self.granted('DELETE', f'/v1/nodes/{node.uuid}/vifs/{life.port}')
        life.plugged = self.service.network.shown('ports', life.port)
        return life

    def attached(self, life: _Life, port: str) -> list[neutron.Call]:
        """Return what Ironic writes to a port that it attaches."""
        return [_put(port, mac_address=self.address(life.node)),
                _put(port, **{'binding:vnic_type': 'baremetal',
                              'binding:host_id': life.node.uuid,
                              'binding:profile': {}})]

    def test_port_of_a_holder_stayed_bound_in_neutron(self) -> None:
        """The holder kept the address of the machine in Neutron for good."""
        for name in ('neutron', 'flat'):
            with self.subTest(interface=name):
                life = self.life(name)
                self.assertEqual(self.attached(life, life.port), life.during)
                self.assertEqual(life.node.uuid,
                                 life.plugged['binding:host_id'])
                self.assertEqual(_unbound(life.port), life.at_end)
                self.assertEqual(life.before, life.after)
                now = self.service.network.shown('ports', life.port)
                self.assertEqual(('', {}, 'DOWN'), (
                    now['binding:host_id'], now['binding:profile'],
                    now['status']))
                self.assertNotEqual(self.address(life.node),
                                    now['mac_address'])

    def test_node_that_was_led_away(self) -> None:
        """Ironic does not unbind ports of a manageable node."""
        life = self.life('managed')
        self.assertEqual(_unbound(life.port), life.at_end)
        self.assertEqual(life.before, life.after)

    def test_deployed_node_is_unplugged_by_ironic(self) -> None:
        """The port stays connected to the switch until the undeploy."""
        life = self.life('deployed')
        self.assertEqual(
            [self.cabled['local_link_connection']],
            life.plugged['binding:profile']['local_link_information'])
        self.assertEqual(_unbound(life.port), life.at_end)
        self.assertEqual(life.before, life.after)

    def test_vif_from_before_is_attached_again(self) -> None:
        """It is attached after the VIF of the holder is detached."""
        life = self.life('replaced')
        self.assertEqual([*_unbound(life.port),
                          *self.attached(life, life.ours)], life.at_end)
        self.assertEqual(life.before, life.after)

    def test_holder_who_detaches_his_port_leaves_nothing_to_do(self) -> None:
        """A holder who never attaches a port leaves nothing either."""
        for name in ('detached', 'unused'):
            life = self.life(name)
            self.assertEqual(([], life.before), (life.at_end, life.after))

    def test_next_holder_sees_no_vif(self) -> None:
        """The other project attaches its own port, and loses it, too."""
        life, port = self.life('neutron'), self.port()
        self.holder = 'foreign-admin'
        lease = self.lent(life.node)
        self.as_(self.holder)
        self.assertEqual([], self.vifs(life.node))
        self.service.writes()
        self.attach(life.node, port)
        self.assertEqual(self.attached(life, port), self.service.writes())
        self.ended(lease)
        self.assertEqual(_unbound(port), self.service.writes())
        self.assertEqual([], self.vifs(life.node))

    def test_neutron_that_is_down_is_waited_for(self) -> None:
        """The lease names the obstacle, and nobody gets the node before."""
        node, port = self.ready(), self.port()
        lease = self.lent(node)
        self.as_(self.holder)
        self.attach(node, port)
        self.service.network.down = True
        self.addCleanup(setattr, self.service.network, 'down', False)
        self.as_(self.operator)
        self.granted('DELETE', f'/v1/leases/{lease["id"]}', headers=base.OURS)
        # The list of VIFs may already fail, before one is detached.
        self.wait_for(lambda: f'/v1/nodes/{node.uuid}/vifs' in (
            self.lease(lease)['waiting'] or ''))
        self.assertEqual(node.uuid, self.service.network.shown(
            'ports', port)['binding:host_id'])
        self.service.network.down = False
        self.wait_for(lambda: not self.lease(lease))
        self.assertEqual('', self.service.network.shown(
            'ports', port)['binding:host_id'])


def _put(port: str, **body: Any) -> neutron.Call:
    return neutron.Call('PUT', f'/ports/{port}', body)


def _unbound(port: str) -> list[neutron.Call]:
    """Return what Ironic writes to a port that it detaches."""
    return [_put(port, **{'binding:host_id': '', 'binding:profile': {}}),
            _put(port, mac_address=None)]
