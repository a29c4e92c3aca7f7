"""A node changes hands as it was, whatever its holder did."""

import uuid

from ironic.api.controllers.v1 import node as ironic_node
from ironic.api.controllers.v1 import port as ironic_port
from ironic.api.controllers.v1 import portgroup as ironic_portgroup
from ironic.common import policy as ironic_policy
from ironic.common import states as ironic_states
from oslo_config import cfg
from oslo_policy import policy

from ironic_reservations.lifecycle import put_back_ports
from tests.inprocess.guard import base
from tests.inprocess.guard import handed_over
from tests.inprocess.guard import lessee_acts
from tests.inprocess.guard import lives
from tests.inprocess.guard import owner_acts
from tests.real import forked_ironic
from tools import all_in_one
from tools import enrolment

#: The last version in which Ironic makes nodes that are available at once.
_BORN_AVAILABLE = '1.10'
#: Values that Ironic does not refuse before it applies its policy.
_VALUES = {'network_data': {'links': [], 'networks': [], 'services': []},
           'instance_uuid': str(uuid.uuid4())}


class HandoverTestCase(handed_over.HandedOverTestCase):

    def test_unused_node_is_given_back_as_it_is(self) -> None:
        node = self.ready()
        before = self.whole(node)
        since = self.node(node.uuid)['provision_updated_at']
        self.ended(self.lent(node))
        self.assertEqual(before, self.whole(node))
        self.assertEqual(since, self.node(node.uuid)['provision_updated_at'])

    def test_changes_of_the_operator_stay(self) -> None:
        node = self.ready(**lives.LENT)
        lease = self.lent(node)
        self.as_(self.holder)
        self.granted('PATCH', f'/v1/nodes/{node.uuid}', [
            base.add('/extra/his', 1)])
        self.as_(self.operator)
        self.granted('PATCH', f'/v1/nodes/{node.uuid}', [
            base.add('/extra/asset', '7'), base.add('/properties/cpus', 16),
            base.add('/description', 'moved')])
        self.ended(lease)
        after = self.whole(node)
        self.assertEqual(({'rack': '1', 'asset': '7'}, {'cpus': 16}, 'moved'),
                         (after['extra'], after['properties'],
                          after['description']))

    def test_node_made_anew_keeps_the_volumes_of_the_operator(self) -> None:
        """Only acts after that are undone, as those on any other node."""
        lent = []
        for again in (False, True):
            node = self.ready()
            lease = self.lent(node)
            self.act(node, 'before')
            self.make_anew(node)
            lent.append((node, lease, {**self.whole(node), 'lessee': None}))
            if again:
                self.wait_for(lambda node=node: self.node(
                    node.uuid)['lessee'] is not None)
                self.act(node, 'after')
        self.ended(*(lease for _, lease, _ in lent))
        for node, _, before in lent:
            self.assertEqual(before, self.whole(node))

    def act(self, node: enrolment.Enrolled, name: str) -> None:
        """Write a key and make a volume as the holder of a node."""
        self.as_(self.holder)
        self.granted('PATCH', f'/v1/nodes/{node.uuid}', [
            base.add(f'/extra/{name}', 1)])
        self.granted('POST', '/v1/volume/targets', {
            'node_uuid': node.uuid, 'volume_type': 'iscsi',
            'volume_id': name, 'boot_index': 0})
        self.as_(self.operator)

    def make_anew(self, node: enrolment.Enrolled) -> None:
        """Delete a node, and enroll it again with a volume."""
        self.as_(self.operator)
        path = f'/v1/nodes/{node.uuid}'
        wanted = self.node(node.uuid)['resource_class']
        self.granted('DELETE', path)
        self.granted('POST', '/v1/nodes', {
            'uuid': node.uuid, 'name': node.name, 'driver': 'fake-hardware'},
            version=_BORN_AVAILABLE)
        self.granted('PATCH', path, [base.add('/resource_class', wanted)])
        self.granted('POST', '/v1/volume/targets', {
            'node_uuid': node.uuid, 'volume_type': 'iscsi',
            'volume_id': 'theirs', 'boot_index': 7})
        self.granted('PUT', f'{path}/states/power', {'target': 'power off'})
        self.wait_for(lambda: self.node(node.uuid)['power_state']
                      == 'power off')

    def test_maintenance_of_the_operator_stays(self) -> None:
        node = self.ready()
        self.lent(node)
        path = f'/v1/nodes/{node.uuid}/maintenance'
        self.as_(self.operator)
        self.granted('PUT', path, {'reason': 'a fan'})
        self.as_(self.holder)
        for reply in (self.send('DELETE', path),
                      self.send('PUT', path, {'reason': 'his'})):
            self.assertEqual((403, 'guard.maintenance_of_others'),
                             _refused(reply))
        self.as_(self.operator)
        self.assertEqual('a fan', self.node(node.uuid)['maintenance_reason'])


    def test_later_maintenance_of_the_operator_stays(self) -> None:
        """It has no reason either, and was taken for the holder's."""
        node = self.ready()
        lease = self.lent(node)
        path = f'/v1/nodes/{node.uuid}/maintenance'
        self.as_(self.holder)
        self.granted('PUT', path)
        self.granted('DELETE', path)
        self.as_(self.operator)
        self.granted('PUT', path)
        self.granted('DELETE', f'/v1/leases/{lease["id"]}', headers=base.OURS)
        self.wait_for(lambda: 'maintenance' in str(
            self.lease(lease).get('waiting')))
        self.assertTrue(self.node(node.uuid)['maintenance'])
        self.granted('DELETE', path)
        self.wait_for(lambda: not self.lease(lease))


    def test_who_had_it_writes_nothing_while_it_is_put_back(self) -> None:
        """A key was let through unrecorded, and stayed."""
        node = self.ready(**lives.LENT)
        before = self.whole(node)
        lease = self.lent(node)
        lessee = self.node(node.uuid)['lessee']
        path = f'/v1/nodes/{node.uuid}'
        self.as_(self.holder)
        self.granted('PATCH', path, [base.add('/extra/his', 1)])
        self.as_(self.operator)
        # NOTE: with it the end waits.
        self.granted('PUT', f'{path}/maintenance', {'reason': 'a fan'})
        self.granted('DELETE', f'/v1/leases/{lease["id"]}', headers=base.OURS)
        self.wait_for(lambda: 'maintenance' in str(
            self.lease(lease).get('waiting')))
        # NOTE: as it is until the reconciler has come to it.
        self.granted('PATCH', path, [base.add('/lessee', lessee)])
        self.as_(self.holder)
        self.assertEqual(403, self.send('PATCH', path, [
            base.add('/extra/rack', 'late')]).status)
        self.as_(self.operator)
        self.granted('PATCH', path, [base.remove('/lessee')])
        self.granted('DELETE', f'{path}/maintenance')
        self.wait_for(lambda: not self.lease(lease))
        self.assertEqual(before, self.whole(node))

    def test_maintenance_that_ironic_refuses_changes_nothing(self) -> None:
        """One refused reason made the holder's maintenance an operator's."""
        node = self.ready()
        before = self.whole(node)
        lease = self.lent(node)
        path = f'/v1/nodes/{node.uuid}/maintenance'
        self.as_(self.holder)
        self.granted('PUT', path, {'reason': 'his'})
        self.assertEqual(400, self.send(
            'PUT', path, {'reason': {'a': 1}}).status)
        self.granted('PUT', path, {'reason': 'r' * 100000})
        self.granted('PUT', f'{path}?reason=his')
        self.granted('PUT', path, {'reason': 'r' * 100000})
        self.assertEqual((403, 'guard.not_canonical'), _refused(self.send(
            'PATCH', f'/v1/nodes/{node.uuid}', [
                base.replace('/maintenance', False)])))
        self.ended(lease)
        self.assertEqual(before, self.whole(node))


class HttpBasicTestCase(handed_over.HandedOverTestCase):
    """Without projects: the holder is who does what a lessee may do."""

    identity = base.WithUsers.identity

    @classmethod
    def make(cls, folder: str) -> all_in_one.AllInOne:
        return forked_ironic.ForkedIronic(
            folder, users=base.WithUsers.users,
            reservations=base.WithUsers.reservations)

    def as_(self, name: str) -> None:
        """Go on as the only user."""

    def test_all_that_a_lessee_may_do_is_put_back(self) -> None:
        node = self.ready(**lives.LENT)
        before = self.whole(node)
        lease = self.lent(node)
        path = f'/v1/nodes/{node.uuid}'
        proof = {base.PROOF: lease['reservations'][0]['id']}
        for field, value in (('description', 'his'), ('extra/his', 1),
                             ('instance_info/configdrive', 'his'),
                             ('resource_class', 'his')):
            self.granted('PATCH', path, [base.add(f'/{field}', value)])
        self.granted('POST', '/v1/volume/targets', {
            'node_uuid': node.uuid, 'volume_type': 'iscsi',
            'volume_id': 'his', 'boot_index': 0})
        self.granted('PUT', f'{path}/states/power', {'target': 'power on'})
        self.granted('PUT', f'{path}/maintenance', {'reason': 'his'},
                     headers=proof)
        self.granted('PATCH', path, [base.add('/driver_info/his', 1)],
            headers=proof)
        # NOTE: no lessee may do that, so it is an operator's.
        self.granted('PATCH', path, [base.add('/properties/cpus', 16)])
        self.ended(lease)
        self.assertEqual({**before, 'properties': {'cpus': 16}},
                         self.whole(node))


class LesseeActsTestCase(lives.LivesTestCase):
    """Each act of the table, by the role that Ironic's policies ask for."""

    lives = lessee_acts.LIVES

    @classmethod
    def make(cls, folder: str) -> all_in_one.AllInOne:
        return lives.make(folder)


class OwnerActsTestCase(lives.LivesTestCase):
    """What an owner who leases a node of its own can do beside these."""

    lives = owner_acts.LIVES
    owned = True

    @classmethod
    def make(cls, folder: str) -> all_in_one.AllInOne:
        return lives.make(folder)


def _refused(reply: base.Reply) -> tuple[int, str | None]:
    return reply.status, reply.code


lives.add_tests(LesseeActsTestCase)
lives.add_tests(OwnerActsTestCase)


class KnownActsTestCase(handed_over.HandedOverTestCase):
    """The table has each act that the installed Ironic grants a lessee."""

    def test_each_policy_is_in_the_table(self) -> None:
        rules = [*ironic_policy.list_policies()]
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[])
        enforcer = policy.Enforcer(conf, use_conf=False)
        enforcer.register_defaults(rules)
        enforcer.set_rules({rule.name: rule.check for rule in rules},
                           use_conf=False)
        caller = {'project_id': 'lessee', 'user_id': 'somebody',
                  'roles': ['admin', 'manager', 'member', 'reader'],
                  'system_scope': None}

        def granted(**node: str) -> set[str]:
            return {
                rule.name for rule in rules
                if isinstance(rule, policy.DocumentedRuleDefault)
                and any(each['method'] != 'GET' for each in rule.operations)
                and enforcer.enforce(rule.name, {
                    f'node.{name}': project for name, project
                    in node.items()}, {**caller})}
        of_lessees = granted(lessee='lessee', owner='owner')
        self.assertEqual(
            of_lessees, {life.policy for life in lessee_acts.LIVES.values()}
            | lessee_acts.HARMLESS.keys())
        self.assertEqual(
            granted(lessee='', owner='lessee') - of_lessees,
            {life.policy for life in owner_acts.LIVES.values()}
            | owner_acts.HARMLESS.keys())

    def test_each_field_of_a_port_is_put_back(self) -> None:
        for fields, known in (
                (ironic_port.PATCH_ALLOWED_FIELDS, put_back_ports.PORT_KEYS),
                (ironic_portgroup.PATCH_ALLOWED_FIELDS,
                 put_back_ports.GROUP_KEYS)):
            self.assertEqual(set(known), {*fields}.difference(
                ('node_ident', 'node_uuid')))

    def test_each_provision_target_is_in_the_table(self) -> None:
        self.assertEqual(
            lessee_acts.TARGETS,
            {*ironic_states.VERBS, ironic_states.REBUILD})

    def test_each_field_is_in_the_table(self) -> None:
        node = self.ready()
        self.lent(node)
        self.as_(lessee_acts.ADMIN)
        # The oldest Ironic looks for the parent before it asks for the rule.
        values = {**_VALUES, 'parent_node': node.uuid}
        granted = {
            field for field in ironic_node.PATCH_ALLOWED_FIELDS
            if self.send('PATCH', f'/v1/nodes/{node.uuid}', [
                base.add(f'/{field}', values.get(field, 'x'))
            ]).status != 403}
        self.assertEqual(lessee_acts.FIELDS, granted)
