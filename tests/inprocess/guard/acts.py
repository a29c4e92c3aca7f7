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


"""Acts on a node of one project that another project has."""

from typing import Any
from urllib import parse

from tests.inprocess.guard import base
from tests.inprocess.guard import keystone_ironic
from tests.inprocess.guard import spellings
from tests.inprocess.guard import with_keystone
from tools import enrolment


class ActsTestCase(base.GuardTestCase):
    """Nodes of the project one; other projects have them by reservation."""

    identity = with_keystone.token('the-system')
    options: dict[str, Any] = {}

    @classmethod
    def make(cls, folder: str) -> with_keystone.WithKeystone:
        return with_keystone.make(folder, guard=cls.options)

    def as_(self, name: str) -> None:
        """Continue as another user."""
        self.identity = with_keystone.token(name)

    def node_of_one(self, **fields: Any) -> enrolment.Enrolled:
        """Return a node that the project one owns."""
        return self.enroll(owner=keystone_ironic.PROJECTS['one'], **fields)[0]

    def ask(self, row: spellings.Spelling, node: enrolment.Enrolled,
            proof: str | None = None) -> base.Reply:
        """Send a request of the table about a node."""
        row = row.about(node.uuid, node.name)
        return self.send(
            row.method, parse.quote(row.path, safe='/')
            + (f'?{row.query}' if row.query else ''), raw=row.body or None,
            content_type=row.content_type, version=row.version,
            headers={} if proof is None else {base.PROOF: proof})
