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

"""The record of acts on promises, which a feature keeps.

The uuid of a reservation is a proof, so no record has it, but a digest of it.
"""

from __future__ import annotations

import enum
import uuid as uuid_module

from oslo_context import context as oslo_context

SERVICE = 'service/bare-metal/reservations'
NAMESPACE = uuid_module.uuid5(uuid_module.NAMESPACE_OID, SERVICE)


class Way(enum.StrEnum):
    """The channel by which an act was done."""

    API = 'api'
    GUARD = 'guard'
    #: No request: the clock, or a change of the node in Ironic.
    SERVICE = 'service'


def digest(proof: str) -> str:
    """Return a digest of a proof, from which the proof cannot be computed.

    It has the form of a uuid, as CADF requires.
    """
    return str(uuid_module.uuid5(NAMESPACE, proof))


class AuditTrail:
    """Records acts; here, none of them."""

    @property
    def wanted(self) -> bool:
        """Return whether acts are recorded."""
        return False

    def record(self, way: Way, action: str, kind: str, ident: str,
               who: oslo_context.RequestContext | None = None,
               status: int | None = None, code: str | None = None,
               address: str | None = None, name: str | None = None) -> None:
        """Record an act that was done or refused.

        A failure is only logged, since the act is done already.

        :param action: an action of CADF: ``create``, ``update``, ``delete``,
            ``allow``, ``deny``.
        :param kind: the kind of the target: ``reservation``,
            ``lease``, ``host``, ``host_property``, ``maintenance``,
            ``calendar_token``, ``node`` or ``allocation``.
        :param ident: the id of the target; never a proof.
        :param who: the caller; ``None``: no caller.
        :param status: the status of the answer, if there is one.
        :param code: the code of the refusal, or the reason
            of the act.
        :param address: the address of the client.
        :param name: the act in detail, such as the method and the path.
        """
