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

"""Lives of holders on nodes of a real Ironic, whose hardware remembers."""

from collections.abc import Mapping
import json
from typing import Any

from tests.inprocess.guard import base
from tests.inprocess.guard import handed_over
from tests.inprocess.guard import keystone_ironic
from tests.inprocess.guard import lessee_acts
from tests.inprocess.guard import with_keystone
from tools import enrolment

LENT = {'description': 'of ours', 'extra': {'rack': '1'},
        'properties': {'cpus': 8}}
#: Interfaces of the fake hardware that do more than the others.
_FAKES = ('bios', 'console', 'inspect', 'raid', 'rescue', 'vendor')


class _Remembering(with_keystone.WithKeystone):
    module = 'tests.inprocess.guard.remembering_ironic'


def make(folder: str) -> with_keystone.WithKeystone:
    """Return an Ironic with keystone, and hardware that remembers."""
    return with_keystone.make(folder, _Remembering, options={'DEFAULT': {
        **{f'enabled_{kind}_interfaces': f'fake,no-{kind}'
           for kind in _FAKES},
        **{f'default_{kind}_interface': 'fake' for kind in _FAKES}}})


class LivesTestCase(handed_over.HandedOverTestCase):
    """What each life leaves on its node.

    :cvar lives: by the name of its test.
    :cvar owned: whether the project owns the nodes that it leases.
    """

    lives: Mapping[str, lessee_acts.Life] = {}
    owned = False
    _found: Mapping[str, tuple[Any, Any, Any, Any]] = {}
    #: NOTE: otherwise each test would wait for what does not happen.
    _failed: BaseException | None = None

    def _all(self) -> Mapping[str, tuple[Any, Any, Any, Any]]:
        """Return the nodes before, during and after all lives.

        NOTE: all at once, since each waits for seconds at its end.
        """
        kind = type(self)
        if kind._failed is not None:
            raise kind._failed
        try:
            return self._lived()
        except BaseException as exc:
            kind._failed = exc
            raise

    def _lived(self) -> Mapping[str, tuple[Any, Any, Any, Any]]:
        kind = type(self)
        if not kind._found:
            begun = {name: self._begun(life)
                     for name, life in self.lives.items()}
            self.ended(*(each[1] for each in begun.values()))
            kind._found = {
                name: (before, during, self.whole(node), answers)
                for name, (node, _, before, during, answers)
                in begun.items()}
        return kind._found

    def _begun(self, life: lessee_acts.Life) -> tuple[Any, ...]:
        node = self.ready(**LENT, **({
            'owner': keystone_ironic.PROJECTS['one']} if self.owned else {}))
        self.as_(self.operator)
        names = {'node': node.uuid}
        names['target'] = self.granted('POST', '/v1/volume/targets', {
            'node_uuid': node.uuid, 'volume_type': 'iscsi',
            'volume_id': 'of ours', 'boot_index': 7}).document['uuid']
        (port,) = self.granted(
            'GET', f'/v1/ports?node={node.uuid}').document['ports']
        names['port'] = port['uuid']
        names['group'] = self.granted('POST', '/v1/portgroups', {
            'node_uuid': node.uuid}).document['uuid']
        for step in life.before:
            self.assertTrue(self._act(node, names, step).status < 300)
        before = self.whole(node)
        lease = self.lent(node)
        proof = {base.PROOF: lease['reservations'][0]['id']}
        answers = [self._act(node, names, step, proof) for step in life.steps]
        return node, lease, before, self.whole(node), answers

    def _act(self, node: enrolment.Enrolled, names: Mapping[str, str],
             step: lessee_acts.Step,
             proof: dict[str, str] | None = None) -> base.Reply:
        self.as_(step.who)
        path = (step.below.format(**names) if step.below.startswith('/v1')
                else f'/v1/nodes/{node.uuid}{step.below}')
        text = json.dumps(step.body)
        for name, value in names.items():
            text = text.replace(f'{{{name}}}', value)
        body = json.loads(text)
        if step.method == 'POST' and step.below.startswith('/v1'):
            body = {'node_uuid': node.uuid, **body}
        reply = self.send(step.method, path, body, version=step.version,
                          headers=proof)
        self.as_(self.operator)
        if step.state is not None and reply.status < 300:
            self.wait_until(node.uuid, step.state)
        for field, value in (step.shows or {}).items():
            self.wait_for(lambda field=field, value=value: self.whole(node)[
                field] == value)
        return reply

    def check(self, name: str) -> None:
        """Check that a life has left something, and that nothing is left."""
        before, during, after, answers = self._all()[name]
        for reply in answers:
            self.assertTrue(200 <= reply.status < 300, reply)
        if self.lives[name].leaves:
            self.assertNotEqual(before, during)
        self.assertEqual(before, after)


def _test(name: str) -> Any:
    def test(self: LivesTestCase) -> None:
        self.check(name)
    return test


def add_tests(kind: type[LivesTestCase]) -> None:
    """Add a test for each life."""
    for name in kind.lives:
        setattr(kind, f'test_{name}', _test(name))
