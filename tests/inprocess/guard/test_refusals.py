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

"""A refusal leaves nothing of its request in the thread."""

from __future__ import annotations

from concurrent import futures
from unittest import mock

from oslo_context import context as oslo_context
import testtools

from ironic_reservations import errors
from ironic_reservations.api.middleware import errors as api_errors
from ironic_reservations.guard import refusals
from tests import guarded


def _refused(before: oslo_context.RequestContext | None
             ) -> oslo_context.RequestContext | None:
    """Return the context of a thread after a refusal."""
    if before is not None:
        before.update_store()
    refusals.refuse(errors.InvalidValue('x'), guarded.environ(
        'GET', '/v1/nodes') | {'openstack.request_id': 'req-of-ann'})
    found: oslo_context.RequestContext | None = oslo_context.get_current()
    return found


class RefusalsTest(testtools.TestCase):

    def _in_a_thread(self, before: oslo_context.RequestContext | None = None
                     ) -> oslo_context.RequestContext | None:
        with futures.ThreadPoolExecutor(1) as thread:
            return thread.submit(_refused, before).result()

    def test_id_of_a_refused_request_stayed_in_its_thread(self) -> None:
        left = self._in_a_thread()
        self.assertNotEqual('req-of-ann', left and left.request_id)

    def test_context_of_ironic_is_restored(self) -> None:
        own = oslo_context.RequestContext(overwrite=False)
        self.assertIs(own, self._in_a_thread(own))

    def test_context_is_restored_after_a_bug(self) -> None:
        own = oslo_context.RequestContext(user_id='carol')
        with mock.patch.object(api_errors, 'translated',
                               side_effect=ValueError):
            self.assertRaises(ValueError, _refused, own)
        self.assertIs(own, oslo_context.get_current())
