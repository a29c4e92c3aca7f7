"""Nodes of a real Ironic that a project leases, and their values afterwards.
"""

import datetime
import json
from typing import Any
import uuid

from testtools import content

from tests.inprocess.guard import acts
from tests.inprocess.guard import base
from tests.real import remembering
from tools import enrolment

#: Fields of a node that its cleaning changes.
_PASSING = frozenset((
    'driver_internal_info', 'inspection_finished_at', 'inspection_started_at',
    'last_error', 'links', 'provision_updated_at',
    'reservation', 'updated_at', 'volume', 'ports', 'portgroups', 'states'))


class HandedOverTestCase(acts.ActsTestCase):
    """Leases of the project one; its administrator acts on the node."""

    holder = 'admin-of-one'
    operator = 'the-system'
    #: Fields of the port of a node.
    cabled: dict[str, Any] = {}

    def ready(self, **fields: Any) -> enrolment.Enrolled:
        """Return a node whose power is known, open to leases."""
        self.as_(self.operator)
        (node,) = self.enroll(
            resource_class=f'class-{uuid.uuid4().hex[:8]}', **fields)
        self.send('POST', '/v1/ports', {
            'node_uuid': node.uuid, 'address': address(), **self.cabled})
        self.granted('PUT', f'/v1/nodes/{node.uuid}/states/power',
                     {'target': 'power off'})
        self.wait_for(lambda: self.node(node.uuid)['power_state']
                      == 'power off')
        self.granted('POST', '/v1/os-hosts', {'name': node.uuid},
                     headers=base.OURS)
        return node

    def lent(self, node: enrolment.Enrolled) -> dict[str, Any]:
        """Lease a node that is ready, and return the lease."""
        self.as_(self.operator)
        wanted = self.node(node.uuid)['resource_class']
        self.as_(self.holder)
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
        lease: dict[str, Any] = self.granted('POST', '/v1/leases', {
            'name': f'lease of {node.uuid}', 'start_date': 'now',
            'events': [], 'end_date': f'{end:%Y-%m-%d %H:%M}',
            'reservations': [{
                'resource_type': 'physical:host', 'min': 1, 'max': 1,
                'hypervisor_properties': '', 'resource_properties':
                json.dumps(['==', '$resource_class', wanted])}]},
            headers=base.OURS).document['lease']
        self.wait_for(lambda: self.lease(lease)['status'] == 'ACTIVE')
        return lease

    def lease(self, lease: dict[str, Any]) -> dict[str, Any]:
        """Read a lease; an empty one is gone."""
        reply = self.send('GET', f'/v1/leases/{lease["id"]}',
                          headers=base.OURS)
        found: dict[str, Any] = ({} if reply.status == 404
                                 else reply.document['lease'])
        return found

    def ended(self, *leases: dict[str, Any]) -> None:
        """End leases, and wait until their nodes are put back."""
        self.as_(self.operator)
        for lease in leases:
            self.granted('DELETE', f'/v1/leases/{lease["id"]}',
                         headers=base.OURS)
        self.addOnException(lambda *_: self.addDetail(
            'what is waited for', content.text_content(str(
                [self.lease(lease).get('waiting') for lease in leases]))))
        for lease in leases:
            self.wait_for(lambda lease=lease: not self.lease(lease))

    def whole(self, node: enrolment.Enrolled) -> dict[str, Any]:
        """Return a node with the objects below it, as an operator sees it."""
        self.as_(self.operator)
        found = {name: value for name, value
                 in self.node(node.uuid).items() if name not in _PASSING}
        found['machine'] = {**remembering.FACTORY, **self.node(node.uuid)[
            'driver_internal_info'].get(remembering.KEY, {})}
        for kind in ('ports', 'portgroups'):
            found[kind] = [
                {name: value for name, value in each.items()
                 if name not in ('updated_at', 'created_at', 'links')}
                for each in self.granted(
                    'GET', f'/v1/{kind}/detail?node={node.uuid}'
                ).document[kind]]
        for kind in ('targets', 'connectors'):
            found[kind] = [
                {name: value for name, value in each.items()
                 if name not in ('updated_at', 'created_at', 'links')}
                for each in self.granted(
                    'GET', f'/v1/volume/{kind}?node={node.uuid}&detail=True'
                ).document[kind]]
        return found

    def granted(self, method: str, path: str, document: Any = None,
                **more: Any) -> base.Reply:
        """Send a request that has to succeed."""
        reply = self.send(method, path, document, **more)
        self.assertTrue(200 <= reply.status < 300, f'{method} {path}: {reply}')
        return reply


def address() -> str:
    """Return the address of a port that no other one has."""
    digits = uuid.uuid4().hex
    return '52:54:00:' + ':'.join(digits[at:at + 2] for at in (0, 2, 4))
