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

"""Nova's driver for Ironic, which reserves the nodes that it deploys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nova import exception
from nova.virt.ironic import driver
from nova.virt.ironic_reservations import naming
from nova.virt.ironic_reservations import proofs
from nova.virt.ironic_reservations import service
from oslo_log import log

LOG = log.getLogger(__name__)

_LEASED = 'leased'


class ReservingIronicDriver(driver.IronicDriver):
    """Deploys servers only on nodes that are reserved for them.

    If a server has the flavor of a lease, or its request names a reservation,
    the lease or the reservation is the proof. For any other server, the node
    is reserved before it is changed, and the reservation ends with the server.
    """

    def __init__(self, virtapi: Any, read_only: bool = False) -> None:
        super().__init__(virtapi, read_only)
        self._proofs = proofs.Proofs()
        self._showing: Any = None

    @property
    def ironic_connection(self) -> Any:
        """The connection to Ironic, which adds our proofs to requests."""
        connection = super().ironic_connection
        if connection is not self._showing:
            self._proofs.put_into(connection)
            self._showing = connection
        return connection

    def prepare_for_spawn(self, instance: Any) -> None:
        """Reserve the node, and bind it to the server.

        :raises ComputeResourcesUnavailable: the node has another holder, or
            its holder is not known; the scheduler then tries another node.
        """
        if not instance.get('node'):
            super().prepare_for_spawn(instance)
            return
        proof = self._reserved(instance)
        with self._proofs.shown(instance.node, lambda: proof):
            try:
                super().prepare_for_spawn(instance)
            except exception.InstanceDeployFailure as exc:
                # NOTE: Nova gives up on the server for this one, and on the
                # node for the other one.
                refused = service.refusal(
                    getattr(exc.__context__, 'response', None))
                if refused is None:
                    raise
                raise _unavailable(instance, refused) from exc

    def failed_spawn_cleanup(self, instance: Any) -> None:
        """Unbind the server from the node, then end its reservation."""
        with self._shown_if_known(instance):
            super().failed_spawn_cleanup(instance)
        self._release(instance)

    def spawn(self, context: Any, instance: Any, *args: Any,
              **kwargs: Any) -> None:
        """Deploy the node with its reservation.

        For a server that is unshelved, and after a restart of Nova,
        prepare_for_spawn has not been called before.

        :raises ComputeResourcesUnavailable: the node has another holder.
        """
        if not instance.get('node'):
            super().spawn(context, instance, *args, **kwargs)
            return
        proof = self._reserved(instance)
        with self._proofs.shown(instance.node, lambda: proof):
            super().spawn(context, instance, *args, **kwargs)

    def rebuild(self, context: Any, instance: Any, *args: Any,
                **kwargs: Any) -> None:
        """Deploy the node again, with its reservation as the proof.

        A server that is older than this driver has no reservation and needs
        none.

        :raises InstanceDeployFailure: the reservation is not known.
        """
        try:
            proof = self._known(instance)
        except (service.Refused, service.Unanswered, ValueError) as exc:
            raise exception.InstanceDeployFailure(reason=str(exc)) from exc
        with self._proofs.shown(instance.node, lambda: proof):
            super().rebuild(context, instance, *args, **kwargs)

    def destroy(self, context: Any, instance: Any, *args: Any,
                **kwargs: Any) -> None:
        """Free the node, then end the reservation of the server."""
        with self._shown_if_known(instance):
            super().destroy(context, instance, *args, **kwargs)
        self._release(instance)

    @property
    def _service(self) -> service.Service:
        return service.Service(self.ironic_connection)

    def _reserved(self, instance: Any) -> proofs.Proof:
        """Return the proof for the node; without one, reserve the node."""
        try:
            return (_named(instance)
                    or proofs.Proof(self._find_or_make(instance)))
        except (service.Refused, service.Unanswered, ValueError) as exc:
            raise _unavailable(instance, exc) from exc

    def _find_or_make(self, instance: Any) -> str:
        try:
            made = self._service.reserve(instance.node, instance.uuid)
            if made.node_uuid != instance.node:
                # NOTE: left over from an attempt on another node, which Nova
                # has given up.
                LOG.info('The reservation of node %s is released for one of '
                         'node %s', made.node_uuid, instance.node,
                         instance=instance)
                self._service.release(made.uuid)
                made = self._service.reserve(instance.node, instance.uuid)
        except service.Refused as refused:
            found = None
            if refused.code == service.INSTANCE_RESERVED:
                found = self._of_instance(instance)
            elif _LEASED in refused.reasons:
                found = self._service.lease_reservation_on(
                    instance.node, instance.project_id)
            if found is None:
                raise
            return found
        return made.uuid

    def _known(self, instance: Any) -> proofs.Proof | None:
        """Return the proof for the node, ``None`` without one.

        A reservation that the request names may be over by now. Its id is not
        used then, since the service refuses it even if no proof is needed any
        more.
        """
        named = _named(instance)
        if named is not None and self._has(named.ident, instance.node):
            return named
        found = (self._of_instance(instance)
                 or self._service.lease_reservation_on(instance.node,
                                                       instance.project_id))
        return None if found is None else proofs.Proof(found)

    def _has(self, ident: str, node_uuid: str) -> bool:
        try:
            return node_uuid in self._service.nodes_of(ident)
        except service.Missing:
            return False

    def _of_instance(self, instance: Any) -> str | None:
        return next((each.uuid for each
                     in self._service.of_instance(instance.uuid)
                     if each.node_uuid == instance.node), None)

    def _shown_if_known(self, instance: Any) -> Any:
        """Show the proof, if it is known, while the server is removed."""
        def find() -> proofs.Proof | None:
            return self._tried(instance, lambda: self._known(instance))
        return self._proofs.shown(instance.node, find)

    def _release(self, instance: Any) -> None:
        """End the reservation that this driver made for the server."""
        def release() -> None:
            for each in self._service.of_instance(instance.uuid):
                if self._service.made_by_us(each):
                    self._service.release(each.uuid)
        self._tried(instance, release)

    def _tried(self, instance: Any, act: Callable[[], Any]) -> Any:
        """Call a function whose failure must not prevent a deletion.

        A reservation that remains ends by itself: a used one when its node is
        freed, any other one when it expires.
        """
        try:
            return act()
        except Exception as exc:
            LOG.warning('The reservation of the server ends by itself later: '
                        '%s', exc, instance=instance)
            return None


def _named(instance: Any) -> proofs.Proof | None:
    """Return the proof that the flavor or the request of a server names.

    Any user who knows an id can write it into a request, and the service
    accepts all proofs from Nova. So the proof contains the project of the
    server, which must be entitled to it.
    """
    leased = naming.of_flavor(instance.flavor.extra_specs)
    if leased is not None:
        return proofs.Proof(leased)
    hinted = naming.of_request(instance)
    return (None if hinted is None
            else proofs.Proof(hinted, instance.project_id))


def _unavailable(instance: Any, why: Exception) -> Exception:
    LOG.info('Node %s is not for this server: %s', instance.node, why,
             instance=instance)
    # NOTE: Nova shows users 255 characters, of which its own words take two
    # thirds; so what matters comes first, and nothing twice.
    short, named = getattr(why, 'short', None), f'node {instance.node}'
    if short is not None:
        reason = f'{named} {short}'
    elif str(why).lower().startswith(named):
        reason = str(why)
    else:
        reason = f'{named}: {why}'
    return exception.ComputeResourcesUnavailable(reason=reason)
