"""A node is handed on in its former state, whatever its holder did."""

from __future__ import annotations

from typing import Any
import uuid

from ironic.api.controllers.v1 import node as ironic_node
from ironic.common import policy as ironic_policy
from ironic.common import states as ironic_states
from oslo_config import cfg
from oslo_policy import policy

from tests.inprocess.guard import base
from tests.inprocess.guard import handed_over
from tests.inprocess.guard import lessee_acts
from tests.real import forked_ironic
from tools import all_in_one
from tools import enrolment

#: Values that Ironic does not refuse before it applies its policy.
_VALUES = {'network_data': {'links': [], 'networks': [], 'services': []},
           'instance_uuid': str(uuid.uuid4())}
_LENT = {'description': 'of ours', 'extra': {'rack': '1'}}


class HandoverTestCase(handed_over.HandedOverTestCase):

    def test_unused_node_is_given_back_as_it_is(self) -> None:
        node = self.ready()
        before = self.whole(node)
        since = self.node(node.uuid)['provision_updated_at']
        self.ended(self.lent(node))
        self.assertEqual(before, self.whole(node))
        self.assertEqual(since, self.node(node.uuid)['provision_updated_at'])

    def test_changes_of_the_operator_stay(self) -> None:
        node = self.ready(**_LENT)
        lease = self.lent(node)
        self.as_(self.holder)
        self.granted('PATCH', f'/v1/nodes/{node.uuid}', [
            {'op': 'add', 'path': '/extra/his', 'value': 1}])
        self.as_(self.operator)
        self.granted('PATCH', f'/v1/nodes/{node.uuid}', [
            {'op': 'add', 'path': '/extra/asset', 'value': '7'},
            {'op': 'add', 'path': '/properties/cpus', 'value': 8},
            {'op': 'add', 'path': '/description', 'value': 'moved'}])
        self.ended(lease)
        after = self.whole(node)
        self.assertEqual(({'rack': '1', 'asset': '7'}, {'cpus': 8}, 'moved'),
                         (after['extra'], after['properties'],
                          after['description']))

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
        """It has no reason either, and was mistaken for the holder's."""
        node = self.ready()
        lease = self.lent(node)
        path = f'/v1/nodes/{node.uuid}/maintenance'
        self.as_(self.holder)
        self.granted('PUT', path)
        self.granted('DELETE', path)
        self.as_(self.operator)
        self.granted('PUT', path)
        self.granted('DELETE', f'/v1/leases/{lease["id"]}',
                     headers=base.OURS)
        self.wait_for(lambda: 'maintenance' in str(
            self.lease(lease).get('waiting')))
        self.assertTrue(self.node(node.uuid)['maintenance'])
        self.granted('DELETE', path)
        self.wait_for(lambda: not self.lease(lease))


    def test_who_had_it_writes_nothing_while_it_is_put_back(self) -> None:
        """The write of a key passed without a record, and the key stayed."""
        node = self.ready(**_LENT)
        before = self.whole(node)
        lease = self.lent(node)
        lessee = self.node(node.uuid)['lessee']
        path = f'/v1/nodes/{node.uuid}'
        self.as_(self.holder)
        self.granted('PATCH', path, [
            {'op': 'add', 'path': '/extra/his', 'value': 1}])
        self.as_(self.operator)
        # The maintenance makes the end wait.
        self.granted('PUT', f'{path}/maintenance', {'reason': 'a fan'})
        self.granted('DELETE', f'/v1/leases/{lease["id"]}',
                     headers=base.OURS)
        self.wait_for(lambda: 'maintenance' in str(
            self.lease(lease).get('waiting')))
        # The value stays until the reconciler puts it back.
        self.granted('PATCH', path, [
            {'op': 'add', 'path': '/lessee', 'value': lessee}])
        self.as_(self.holder)
        self.assertEqual(403, self.send('PATCH', path, [
            {'op': 'add', 'path': '/extra/rack', 'value': 'late'}]).status)
        self.as_(self.operator)
        self.granted('PATCH', path, [{'op': 'remove', 'path': '/lessee'}])
        self.granted('DELETE', f'{path}/maintenance')
        self.wait_for(lambda: not self.lease(lease))
        self.assertEqual(before, self.whole(node))

    def test_maintenance_that_ironic_refuses_changes_nothing(self) -> None:
        """A refused reason turned the maintenance into an operator's."""
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
                {'op': 'replace', 'path': '/maintenance', 'value': False}])))
        self.ended(lease)
        self.assertEqual(before, self.whole(node))


class HttpBasicTestCase(handed_over.HandedOverTestCase):
    """Without projects, the holder is the user with the acts of a lessee."""

    identity = base.WithUsers.identity

    @classmethod
    def make(cls, folder: str) -> all_in_one.AllInOne:
        return forked_ironic.ForkedIronic(
            folder, users=base.WithUsers.users,
            reservations=base.WithUsers.reservations)

    def as_(self, name: str) -> None:
        """Continue as the only user."""

    def test_all_that_a_lessee_may_do_is_put_back(self) -> None:
        node = self.ready(**_LENT)
        before = self.whole(node)
        lease = self.lent(node)
        path = f'/v1/nodes/{node.uuid}'
        proof = {base.PROOF: lease['reservations'][0]['id']}
        for field, value in (('description', 'his'), ('extra/his', 1),
                             ('instance_info/configdrive', 'his'),
                             ('resource_class', 'his')):
            self.granted('PATCH', path, [
                {'op': 'add', 'path': f'/{field}', 'value': value}])
        self.granted('POST', '/v1/volume/targets', {
            'node_uuid': node.uuid, 'volume_type': 'iscsi',
            'volume_id': 'his', 'boot_index': 0})
        self.granted('PUT', f'{path}/states/power', {'target': 'power on'})
        self.granted('PUT', f'{path}/maintenance', {'reason': 'his'},
                     headers=proof)
        self.granted('PATCH', path, [
            {'op': 'add', 'path': '/driver_info/his', 'value': 1}],
            headers=proof)
        # No lessee may do that, so the value is the operator's.
        self.granted('PATCH', path, [
            {'op': 'add', 'path': '/properties/cpus', 'value': 8}])
        self.ended(lease)
        self.assertEqual({**before, 'properties': {'cpus': 8}},
                         self.whole(node))


class LesseeActsTestCase(handed_over.HandedOverTestCase):
    """Each act of the table, by the role that Ironic's policies require."""

    _found: dict[str, tuple[Any, Any, Any, Any]] = {}

    def _lives(self) -> dict[str, tuple[Any, Any, Any, Any]]:
        """Return the nodes before, during and after all lives.

        All lives run at once, since each waits for seconds at its end.
        """
        if not self._found:
            begun = {}
            for name, life in lessee_acts.LIVES.items():
                node = self.ready(**_LENT)
                self.as_(self.operator)
                target = self.granted('POST', '/v1/volume/targets', {
                    'node_uuid': node.uuid, 'volume_type': 'iscsi',
                    'volume_id': 'of ours', 'boot_index': 7}).document['uuid']
                before = self.whole(node)
                lease = self.lent(node)
                answers = [self._act(node, target, step)
                           for step in life.steps]
                begun[name] = (node, lease, before, self.whole(node), answers)
            self.ended(*(each[1] for each in begun.values()))
            for name, (node, _, before, during, answers) in begun.items():
                self._found[name] = (before, during, self.whole(node),
                                     answers)
        return self._found

    def _act(self, node: enrolment.Enrolled, target: str,
             step: lessee_acts.Step) -> base.Reply:
        self.as_(step.who)
        path = (step.below.format(target=target)
                if step.below.startswith('/v1')
                else f'/v1/nodes/{node.uuid}{step.below}')
        body = step.body
        if step.method == 'POST' and step.below.startswith('/v1'):
            body = {'node_uuid': node.uuid, **{
                name: value.format(node=node.uuid)
                if isinstance(value, str) else value
                for name, value in step.body.items()}}
        proof = self._proof(node)
        reply = self.send(step.method, path, body, headers={
            base.PROOF: proof})
        if step.state is not None:
            self.wait_until(node.uuid, step.state)
        return reply

    def _proof(self, node: enrolment.Enrolled) -> str:
        reply = self.send('GET', '/v1/leases', headers=base.OURS)
        (lease,) = (each for each in reply.document['leases']
                    if each['name'] == f'lease of {node.uuid}')
        return str(lease['reservations'][0]['id'])

    def check(self, name: str) -> None:
        """Check that no value of a life is left."""
        before, _, after, answers = self._lives()[name]
        for reply in answers:
            self.assertTrue(200 <= reply.status < 300, reply)
        self.assertEqual(before, after)


def _refused(reply: base.Reply) -> tuple[int, str | None]:
    return reply.status, reply.code


def _test(name: str) -> Any:
    def test(self: LesseeActsTestCase) -> None:
        self.check(name)
    return test


for _name in lessee_acts.LIVES:
    setattr(LesseeActsTestCase, f'test_{_name}', _test(_name))


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
        node = {'node.lessee': 'lessee', 'node.owner': 'owner'}
        granted = {
            rule.name for rule in rules
            if isinstance(rule, policy.DocumentedRuleDefault)
            and any(each['method'] != 'GET' for each in rule.operations)
            and enforcer.enforce(rule.name, {**node}, {**caller})}
        self.assertEqual(
            granted, {life.policy for life in lessee_acts.LIVES.values()}
            | lessee_acts.HARMLESS.keys())

    def test_each_provision_target_is_in_the_table(self) -> None:
        self.assertEqual(
            lessee_acts.TARGETS,
            {*ironic_states.VERBS, ironic_states.REBUILD})

    def test_each_field_is_in_the_table(self) -> None:
        node = self.ready()
        self.lent(node)
        self.as_(lessee_acts.ADMIN)
        granted = {
            field for field in ironic_node.PATCH_ALLOWED_FIELDS
            if self.send('PATCH', f'/v1/nodes/{node.uuid}', [
                {'op': 'add', 'path': f'/{field}', 'value': _VALUES.get(
                    field, 'x')}]).status != 403}
        self.assertEqual(lessee_acts.FIELDS, granted)
