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

"""Read nodes through Ironic's own objects, in the process of its API.

A caller sees the same node as in ``GET /v1/nodes/<uuid>``, for a fraction of
the processor time: the row is read by the function behind Ironic's list of
nodes, and Ironic's policy decides who may see it.

pecan has no part in this, so a controller may do it in its own thread.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from oslo_config import cfg
from oslo_log import log

from ironic_reservations.clouds import ironic
from ironic_reservations.clouds import ironic_answers
from ironic_reservations.model import mirrored_node

LOG = log.getLogger(__name__)

#: Our name in Ironic's ``[api] middleware``.
_MIDDLEWARE = 'reservations'
_GET = 'baremetal:node:get'
_TRAITS = 'traits'
_COLUMNS = tuple(name for name in ironic.FIELDS if name != _TRAITS)


@dataclasses.dataclass(frozen=True)
class Objects:
    """The modules of Ironic with which its API reads nodes."""

    node: Any
    context: Any
    policy: Any
    exception: Any

    def read(self, caller: Mapping[str, Any], uuid: str,
             with_traits: bool) -> mirrored_node.Node | None:
        """Return a node as Ironic's API shows it to a caller.

        :param caller: the keys that Ironic's authentication wrote about the
            caller.
        :returns: ``None`` if Ironic shows the caller no such node.
        """
        # The context of this thread's request is ours, and log records are
        # written with it, so it must not be overwritten.
        context = self.context.RequestContext.from_environ(
            dict(caller), overwrite=False)
        # By default, Ironic omits nodes that have a parent.
        found = self.node.Node.list(
            context, filters={'uuid_in': [uuid], 'include_children': True},
            fields=[*_COLUMNS, _TRAITS] if with_traits else [*_COLUMNS])
        if not found or not self._visible(context, found[0]):
            return None
        body = {name: getattr(found[0], name) for name in _COLUMNS}
        if with_traits:
            body[_TRAITS] = found[0].traits.get_trait_names()
        return ironic_answers.node_of(body)

    def _visible(self, context: Any, node: Any) -> bool:
        # The same as ironic.api.controllers.v1.utils.check_owner_policy().
        target = dict(context.to_policy_values())
        target['node.owner'] = node.owner
        if node.lessee:
            target['node.lessee'] = node.lessee
        try:
            self.policy.authorize(_GET, target, context)
        except self.exception.HTTPForbidden:
            return False
        return True


def load(conf: cfg.ConfigOpts) -> Objects | None:
    """Return Ironic's objects, if they show the same nodes as its API.

    :param conf: the configuration of Ironic.
    :returns: ``None`` if its API must be asked.
    """
    # Middleware between Ironic and us may hide nodes; Ironic's audit records
    # each request to its API.
    if conf.api.middleware[:1] != [_MIDDLEWARE] or conf.audit.enabled:
        LOG.info("Nodes are confirmed by requests to Ironic's API, since its "
                 'options name other middleware first in [api] middleware, '
                 'or switch [audit] on')
        return None
    try:
        from ironic.common import context
        from ironic.common import exception
        from ironic.common import policy
        from ironic.objects import node
    except ImportError:
        LOG.warning("Nodes are confirmed by requests to Ironic's API, since "
                    'its modules are not where they were', exc_info=True)
        return None
    return Objects(node, context, policy, exception)


class EmbeddedIronic(ironic.Ironic):
    """Ironic as a caller sees it, in the process of its API.

    :param transport: sends the requests.
    :param headers: the credentials of the caller.
    :param objects: Ironic's objects.
    :param caller: the keys that Ironic's authentication wrote about the
        caller.
    """

    def __init__(self, transport: ironic.Transport,
                 headers: Mapping[str, str], objects: Objects,
                 caller: Mapping[str, Any]) -> None:
        super().__init__(transport, headers)
        self._objects = objects
        self._authenticated = caller

    def confirm(self, uuid: str,
                with_traits: bool) -> mirrored_node.Node | None:
        try:
            return self._objects.read(self._authenticated, uuid, with_traits)
        except Exception:
            # These objects are not a public interface of Ironic, and may
            # change. On any error, its API is asked instead, and reports the
            # cause.
            LOG.warning('Node %s could not be read through the objects of '
                        'Ironic; its API is asked', uuid, exc_info=True)
            return self.node(uuid)


def observer(transport: ironic.Transport, headers: Mapping[str, str],
             objects: Objects | None,
             caller: Mapping[str, Any] | None) -> ironic.Ironic:
    """Return Ironic as a caller sees it, at the least cost in processor time.

    :param transport: sends the requests.
    :param headers: the credentials of the caller.
    :param objects: Ironic's objects; ``None``: nodes are read by requests.
    :param caller: the keys that Ironic's authentication wrote about the
        caller; ``None``: the caller is not authenticated yet.
    """
    if objects is None or caller is None:
        return ironic.Ironic(transport, headers)
    return EmbeddedIronic(transport, headers, objects, caller)
