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

"""The requests of the driver to the reservation API."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any
import uuid

from keystoneauth1 import exceptions as ksa_exc
from nova.virt.ironic_reservations import conf
from openstack import exceptions as sdk_exc

VERSION_HEADER = 'OpenStack-API-Version'
KEY_HEADER = 'Idempotency-Key'
#: The oldest with which a refusal has reasons for programs.
_VERSION = 'baremetal-reservation 1.4'
_LEASES_VERSION = 'reservation 1.0'
_ACTIVE = 'active'
#: By how much the clock of the service may be another.
_SKEW = datetime.timedelta(seconds=60)

#: Codes of the service; a code is never given another meaning.
INSTANCE_RESERVED = 'reservation.instance_reserved'
_NOT_FOUND = frozenset(('reservation.not_found', 'host.not_found',
                        'lease.not_found'))


class Refused(Exception):
    """The service has refused a request.

    :ivar code: the code of the error, for programs.
    :ivar reasons: the codes of the reasons why the node cannot be reserved.
    :ivar short: a few words about the node, if there is exactly one reason.
    """

    def __init__(self, sentence: str, code: str | None = None,
                 reasons: Collection[str] = (),
                 short: str | None = None) -> None:
        super().__init__(sentence.rstrip('.'))
        self.code = code
        self.reasons = frozenset(reasons)
        self.short = short


class Missing(Refused):
    """There is no such reservation, lease or host."""


class Unanswered(Exception):
    """The service has not answered, so the result is not known."""


@dataclasses.dataclass(frozen=True)
class Reservation:
    """A node that is promised to an instance."""

    uuid: str
    node_uuid: str
    instance_uuid: str
    user_id: str | None


def refusal(response: Any) -> Refused | None:
    """Return the refusal in an answer of the service or its guard.

    :param response: a response of the library requests.
    :returns: ``None`` if the answer is from Ironic itself.
    """
    try:
        found = response.json()['errors'][0]
        reasons = found.get('reasons', ())
        return Refused(
            f'{found["detail"].rstrip(".")} [{found["code"]}]', found['code'],
            [each['code'] for each in reasons],
            f'{reasons[0]["detail"]} [{found["code"]}]'
            if len(reasons) == 1 and 'detail' in reasons[0] else None)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


class Service:
    """The reservation API, at the endpoint of Ironic.

    :param connection: openstacksdk's proxy of the baremetal service.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def reserve(self, node_uuid: str, instance_uuid: str) -> Reservation:
        """Reserve a node for an instance, unless the instance has one.

        :returns: the reservation; an earlier one of the instance may be of
            another node.
        :raises Refused: the node cannot be reserved.
        :raises Unanswered: it is not known whether the node is reserved.
        """
        wanted: dict[str, Any] = {'instance_uuid': instance_uuid,
                                  'node_uuid': [node_uuid]}
        ttl = conf.CONF.ironic_reservations.ttl
        if ttl is not None:
            wanted['ttl'] = ttl
        # NOTE: so that a copy that arrives when the server has been deleted
        # does not reserve the node again.
        key = {KEY_HEADER: str(uuid.uuid4())}
        return _reservation(self._ask(
            'POST', '/reservations', json=wanted, headers=key)['reservation'])

    def of_instance(self, instance_uuid: str) -> list[Reservation]:
        """Return the reservations of an instance.

        :raises Refused: the service has refused the request.
        :raises Unanswered: the service has not answered.
        """
        return [_reservation(each) for each in self._ask(
            'GET', '/reservations', params={'instance': instance_uuid}
        )['reservations']]

    def release(self, uuid: str) -> None:
        """End a reservation, if it has not ended.

        :raises Refused: this user may not end the reservation.
        :raises Unanswered: it is not known whether the reservation has ended.
        """
        try:
            self._ask('DELETE', f'/reservations/{uuid}')
        except Missing:
            return

    def made_by_us(self, reservation: Reservation) -> bool:
        """Return whether the user of the connection made a reservation.

        Without Keystone, users are not distinguished.
        """
        user_id = self._connection.get_user_id()
        return user_id is None or user_id == reservation.user_id

    def lease_reservation_on(self, node_uuid: str,
                             project_id: str) -> str | None:
        """Return the lease reservation by which a project has a node now.

        :raises Refused: the service has refused the request.
        :raises Unanswered: the service has not answered.
        """
        try:
            booked = self._ask(
                'GET', f'/os-hosts/{node_uuid}/allocation',
                version=_LEASES_VERSION)['allocation']['reservations']
        except Missing:
            return None
        now = datetime.datetime.now(datetime.UTC)
        for each in booked:
            if (_instant(each['start_date']) <= now + _SKEW
                    and _instant(each['end_date']) > now - _SKEW
                    and self._active(each['lease_id'], each['id'],
                                     project_id)):
                ident: str = each['id']
                return ident
        return None

    def _active(self, lease_id: str, ident: str, project_id: str) -> bool:
        lease = self._lease(lease_id)
        return lease['project_id'] == project_id and any(
            each['id'] == ident and each['status'] == _ACTIVE
            for each in lease['reservations'])

    def _lease(self, lease_id: str) -> Any:
        try:
            return self._ask('GET', f'/leases/{lease_id}',
                             version=_LEASES_VERSION)['lease']
        except Missing:
            # NOTE: deleted since we were told of it.
            return {'project_id': None, 'reservations': []}

    def nodes_of(self, ident: str) -> frozenset[str]:
        """Return the nodes of a reservation or a lease reservation.

        :raises Missing: no reservation has that id, or it has not started, or
            is over.
        :raises Refused: the service has refused the request.
        :raises Unanswered: the service has not answered.
        """
        try:
            found = self._ask('GET', f'/reservations/{ident}')
            return frozenset((found['reservation']['node_uuid'],))
        except Missing:
            pass
        leases = {booked['lease_id'] for host in self._ask(
            'GET', '/os-hosts/allocations', version=_LEASES_VERSION,
            params={'reservation_id': ident})['allocations']
            for booked in host['reservations']}
        for lease_id in leases:
            for each in self._lease(lease_id)['reservations']:
                if each['id'] == ident and each['status'] == _ACTIVE:
                    return frozenset(node['uuid'] for node in each['nodes']
                                     if node['state'] != 'ending')
        raise Missing(f'there is no live reservation {ident}, and no lease '
                      'reservation that has begun and is not over')

    def _ask(self, method: str, path: str, version: str = _VERSION,
             headers: Mapping[str, str] | None = None, **how: Any) -> Any:
        options = conf.CONF.ironic_reservations
        try:
            response = self._connection.request(
                path, method,
                headers={VERSION_HEADER: version, **(headers or {})},
                raise_exc=False, timeout=options.timeout,
                connect_retries=options.retries,
                status_code_retries=options.retries,
                # NOTE: a conflict does not go away by asking again.
                retriable_status_codes=[503], **how)
            if response.status_code < 400:
                return response.json() if response.content else None
        except (ksa_exc.ClientException, sdk_exc.SDKException,
                ValueError) as exc:
            raise Unanswered(
                f'the reservations of Ironic do not answer to {method} '
                f'{path}: {exc}. Check that the API of Ironic runs, and '
                'try again') from exc
        raise _refusal(response, method, path)


def _instant(date: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(date).replace(tzinfo=datetime.UTC)


def _reservation(shown: Mapping[str, Any]) -> Reservation:
    return Reservation(shown['uuid'], shown['node_uuid'],
                       shown['instance_uuid'], shown.get('user_id'))


def _refusal(response: Any, method: str, path: str) -> Exception:
    refused = refusal(response)
    if refused is None:
        if response.status_code == 404:
            return Refused(
                f'the API of Ironic that answered {method} {path} has no '
                'reservations. Put "reservations" into [api] middleware of '
                'ironic.conf on each of its API hosts, or set compute_driver '
                'in nova.conf back to ironic.IronicDriver')
        return Unanswered(
            f'{method} {path} was answered with {response.status_code} '
            f'{response.reason}: {response.text[:200]}')
    if response.status_code >= 500:
        return Unanswered(str(refused))
    if response.status_code == 404 and refused.code in _NOT_FOUND:
        return Missing(str(refused), refused.code)
    return refused
