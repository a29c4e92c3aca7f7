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

"""Protected acts on promised nodes: for the holder or an administrator."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import contextlib
import dataclasses
import math
from typing import Any

from oslo_utils import uuidutils

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.engine import Engine
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.guard import act_bodies
from ironic_reservations.guard import body_limits
from ironic_reservations.guard import callers
from ironic_reservations.guard import carry
from ironic_reservations.guard import failed_attempts
from ironic_reservations.guard import holder_acts
from ironic_reservations.guard import inward
from ironic_reservations.guard import node_acts
from ironic_reservations.guard import resolve
from ironic_reservations.lifecycle import admit
from ironic_reservations.lifecycle import protect as protection
from ironic_reservations.model import handovers
from ironic_reservations.model import node_condition

#: Acts on objects below a node, which name themselves.
BELOW = frozenset((node_acts.Act.VOLUME, node_acts.Act.PORT))
_NOT_FOUND = 404
#: Ironic answers so where a caller may not read a node.
_HIDDEN = (403, _NOT_FOUND)
#: Ironic answers so where there is no such node.
_NO_NODE = (400, _NOT_FOUND)
#: The acts on a node of who makes another one a part of it, or acts on its
#: parent or a part.
_OF_FAMILY = frozenset((node_acts.Act.POWER, node_acts.Act.SETTINGS))


@dataclasses.dataclass(frozen=True)
class Judged:
    """The permission to pass a request to Ironic within some seconds.

    :ivar what: a description of the request.
    :ivar deadline: the end of the permission, by the monotonic timer of the
        engine.
    :ivar held: whether the node is promised; then the caller is authenticated.
    :ivar acts: the acts of holders, which are written before it is sent.
    :ivar proof: the proof of the request, if it is that of the node.
    """

    what: str
    deadline: float = math.inf
    held: bool = True
    acts: tuple[holder_acts.Unwritten, ...] = ()
    proof: str | None = None

    def beside(self, other: Judged | None) -> Judged:
        """Return the permission of a request that needs another one, too."""
        return self if other is None else dataclasses.replace(
            self, deadline=min(self.deadline, other.deadline),
            acts=(*self.acts, *other.acts),
            proof=self.proof or other.proof)

    def within(self, admitted: admission.InFlightRequest
               ) -> admission.InFlightRequest:
        """Return a request that is sent only while this is valid."""
        return dataclasses.replace(admitted, deadline=min(
            admitted.deadline, self.deadline))


class Protected:
    """Passes protected acts to Ironic, or refuses them.

    For a node that is not promised, this costs one statement, and one request
    to Ironic if the node is given by name.

    :param app: Ironic's application.
    :param limits: the limits of request bodies.
    """

    def __init__(self, app: wsgi.Application, engine: Engine,
                 resolver: resolve.Resolver, who: callers.Callers,
                 failed: failed_attempts.FailedAttempts,
                 limits: body_limits.BodyLimits) -> None:
        self._app = app
        self._engine = engine
        self._resolver = resolver
        self._callers = who
        self._failed = failed
        self._limits = limits
        #: Writes the acts of holders.
        self.holders = holder_acts.HolderActs(engine, who, limits)

    @property
    def acts(self) -> frozenset[node_acts.Act]:
        """The protected acts; none if all callers are administrators."""
        if not self._callers.has_roles:
            return frozenset()
        return frozenset(map(node_acts.Act,
                             self._engine.conf.guard.protected_acts))

    def carry(self, environ: wsgi.Environ, asked: node_acts.NodeAct
              ) -> tuple[str | None, wsgi.Answer]:
        """Have Ironic change a node, if the caller may.

        :returns: the uuid of the node, if there is one, and the answer.
        """
        if asked.of_allocation:
            return self._free(environ, asked)
        if asked.act in BELOW:
            return self._change_below(environ, asked)
        node = None
        uuid = resolve.canonical(asked.ident)
        takes_away = asked.act in node_acts.TAKES_AWAY
        powers = asked.act is node_acts.Act.POWER and self._callers.has_roles
        follows = not takes_away and inward.has_body(environ)
        if takes_away or follows or powers or not uuidutils.is_uuid_like(uuid):
            node = self._resolver.node(environ, uuid)
            uuid = node.uuid
        if follows:
            # Read after the sender is authenticated, and before the timeline,
            # since a slow client may take long to send it.
            inward.read_body(environ, self._limits.other)
        path = '/'.join((inward.node_path(uuid), *asked.below))
        if takes_away:
            assert node is not None
            actor = self.holders.actor(node, act_bodies.proof(environ))
            recorded = (asked.recorded,)
            # An administrator may do this, regardless of the holder of the
            # node.
            if actor.administers or asked.act not in self.acts:
                return uuid, self._take_away(
                    node, actor, recorded,
                    act_bodies.readdressed(environ, path))
            return uuid, self._change(
                node, protect.ChangeRequest(actor),
                act_bodies.rebuilt(environ, path, self._limits), recorded)
        family = (self.judge_family(environ, node)
                  if powers and node is not None else None)
        judged = self._judge(environ, uuid, (asked.act,), node,
                             (asked.recorded,), elsewhere=_shows(family)
                             ).beside(family)
        return uuid, self.pass_judged(
            judged, act_bodies.rebuilt(environ, path, self._limits)
            if judged.held else act_bodies.readdressed(environ, path))

    def _free(self, environ: wsgi.Environ, asked: node_acts.NodeAct
              ) -> tuple[str | None, wsgi.Answer]:
        """Have Ironic delete an allocation, which frees its node."""
        if inward.has_body(environ):
            self._resolver.node_of_allocation(environ, asked.ident)
            inward.read_body(environ, self._limits.other)
        deadline = self._engine.timer() + protect.FRESH
        uuid, node = self._resolver.node_of_allocation(environ, asked.ident)
        judged = Judged(f'allocation {uuid}', deadline)
        if node is not None:
            # The allocation may move to another node later.
            judged = judged.beside(self._judge(
                environ, node.uuid, (asked.act,), node, (asked.recorded,)))
        return None if node is None else node.uuid, self.pass_judged(
            judged, act_bodies.readdressed(environ,
                                           f'/v1/allocations/{uuid}'))

    def _change_below(self, environ: wsgi.Environ, asked: node_acts.NodeAct
                      ) -> tuple[str | None, wsgi.Answer]:
        """Have Ironic change a volume, a port or a port group of a node.

        The sender has been authenticated by now.
        """
        of_port = asked.act is node_acts.Act.PORT
        document = act_bodies.document(environ, self._limits, of_port)
        kind = '/'.join(asked.below)
        uuids = set()
        if asked.ident:
            uuids.add(self._resolver.node_of(environ, kind, asked.ident))
        for value in act_bodies.nodes_in(document):
            try:
                uuids.add(self._resolver.node(environ,
                                              resolve.canonical(value)).uuid)
            except resolve.RefusedByIronic as refused:
                # Ironic refuses the port itself, with another status.
                if not of_port or refused.answer.status != _NOT_FOUND:
                    raise
        path = '/'.join(('', 'v1', *asked.below,
                         *([asked.ident] if asked.ident else [])))
        judged = Judged(f'{kind} {asked.ident}')
        for uuid in sorted(uuids):
            judged = judged.beside(self._judge(
                environ, uuid, (asked.act,), recorded=(asked.recorded,)))
        return None, self.pass_judged(judged, inward.rebuilt(
            environ, path, body=document))

    def pass_judged(self, judged: Judged,
                    request: wsgi.Environ) -> wsgi.Answer:
        """Have Ironic answer a request, while its permission is valid."""
        recorded: list[handovers.Handover] = []
        with carry.unsent(self._engine, recorded):
            self.holders.write(judged.acts, recorded)
        return carry.pass_judged(self._engine, self._app, judged.deadline,
                                 judged.what, request, recorded)

    def _take_away(self, node: callers.Node, actor: protection.Actor,
                   recorded: Collection[str], request: wsgi.Environ,
                   also: Judged | None = None) -> wsgi.Answer:
        """Have Ironic take a node from its holder, for an administrator."""
        deadline = self._engine.timer() + protect.FRESH
        written: list[handovers.Handover] = []
        with carry.unsent(self._engine, written):
            self.holders.write([holder_acts.Unwritten(
                node.uuid, recorded, actor, None)], written)
            sent, until = self.holders.maintaining(node, written, recorded,
                                                   request)
        permission = Judged(f'node {node.uuid}', min(deadline, until)
                            if written else math.inf).beside(also)
        return carry.pass_judged(self._engine, self._app, permission.deadline,
                                 permission.what, sent, written)

    def patch(self, environ: wsgi.Environ, node: callers.Node,
              acts: Collection[node_acts.Act], recorded: Collection[str],
              request: wsgi.Environ,
              also: Judged | None = None,
              permitted: Callable[[], None] = lambda: None) -> wsgi.Answer:
        """Have Ironic patch a node, if the caller may.

        :param node: the node as the caller sees it.
        :param acts: the protected acts of the patch.
        :param recorded: the acts, as in a handover.
        :param request: the request to Ironic.
        :param also: the permission for its parent.
        :param permitted: raises if Ironic would refuse the caller; called
            before the node is kept for the request.
        :raises ReservationError: the caller may not, or its right cannot be
            determined.
        """
        if node_acts.TAKES_AWAY.isdisjoint(acts):
            return self.pass_judged(self._judge(
                environ, node.uuid, acts, node, recorded,
                elsewhere=_shows(also)).beside(also), request)
        actor = dataclasses.replace(
            self.holders.actor(node, act_bodies.proof(environ)),
            elsewhere=_shows(also))
        if actor.administers:
            return self._take_away(node, actor, recorded, request, also)
        return self._change(node, protect.ChangeRequest(actor), request,
                            recorded, also=also, permitted=permitted)

    def provision(self, environ: wsgi.Environ, node: callers.Node,
                  act: node_acts.Act, recorded: Collection[str],
                  proof: str | None,
                  request: wsgi.Environ,
                  also: Judged | None = None) -> wsgi.Answer:
        """Have Ironic change the provision state of a node, if the caller may.

        A conductor may carry out the change although Ironic has answered with
        an error, so the node is not promised before the outcome is known.

        :param node: the node as the caller sees it.
        :param recorded: the acts, as in a handover.
        :param proof: the proof from the header or the body.
        :param request: the request to Ironic.
        :param also: the permission for its parent.
        :raises ReservationError: the caller may not, or its right cannot be
            determined.
        """
        actor = dataclasses.replace(self.holders.actor(node, proof),
                                    elsewhere=_shows(also))
        return self._change(node, protect.ChangeRequest(
            actor, act in self.acts, act in node_acts.FREES,
            of_state=True), request, recorded,
            cleans=act is node_acts.Act.UNDEPLOY, also=also)

    def bring_back(self, environ: wsgi.Environ, node_uuid: str,
                   request: wsgi.Environ) -> wsgi.Answer | None:
        """Have Ironic manage a node that has failed, for an administrator.

        No holder can use a failed node. A node whose cleaning has failed can
        only be restored in this way, and the end of a lease waits for it.

        :param request: the request to Ironic.
        :returns: ``None`` if the caller may not, or if the node is available
            or could become so at any time, so that its holder would lose it.
        :raises HandedOverLate: the process was stopped for too long.
        """
        deadline = self._engine.timer() + protect.FRESH
        node = self._resolver.node(environ, node_uuid)
        if (not node_condition.waits_for_operator(node.provision_state)
                or not self._callers.actor(node, admit.Claim()).administers):
            return None
        return carry.pass_judged(self._engine, self._app, deadline,
                                 f'node {node_uuid}', request)

    def _change(self, node: callers.Node, asked: protect.ChangeRequest,
                request: wsgi.Environ, recorded: Collection[str],
                cleans: bool = False,
                also: Judged | None = None,
                permitted: Callable[[], None] = lambda: None) -> wsgi.Answer:
        """Have Ironic change a node that no other holder can get meanwhile.

        :param recorded: the acts, as a handover names them.
        :param cleans: whether Ironic cleans the node by this.
        :param also: the permission for its parent.
        :param permitted: as in :meth:`patch`.
        """
        kept: list[admission.InFlightRequest] = []

        def change() -> wsgi.Answer:
            if not self._callers.trusted(node):
                permitted()
            try:
                admitted = protect.keep(self._engine, node.uuid, asked)
                kept.append(admitted)
            except (errors.DatabaseUnavailable, errors.Contention):
                # An administrator may do this, regardless of the holder of the
                # node.
                if asked.protected and not asked.actor.administers:
                    raise
                return (inward.call(self._app, request) if also is None
                        else self.pass_judged(also, request))
            permission = Judged(f'node {node.uuid}').beside(also)
            with self.holders.closed_if_lost(admitted) as written:
                self.holders.write(permission.acts, written)
                if admitted.holder is not None:
                    self.holders.write([holder_acts.Unwritten(
                        node.uuid, recorded, asked.actor, admitted.holder,
                        True)], written)
                sent, until = self.holders.maintaining(node, written, recorded,
                                                       request)
            admitted = dataclasses.replace(
                permission, deadline=min(until, permission.deadline)
            ).within(admitted)
            answer = carry.change(self._engine, self._app, admitted, asked,
                                  sent, written)
            if cleans and inward.succeeded(answer):
                for each in written:
                    if each.node_uuid == node.uuid:
                        acted.cleaned(self._engine, each)
            return answer
        # Counted without the proof, since any proof passes if nobody holds the
        # node.
        return self._failed.limited(
            node, None, change,
            lambda: any(admitted.holder is not None for admitted in kept))

    def _judge(self, environ: wsgi.Environ, node_uuid: str,
               acts: Collection[node_acts.Act],
               node: callers.Node | None = None,
               recorded: Collection[str] = (), proof: str | None = None,
               stranger: callers.Node | None = None,
               elsewhere: bool = False) -> Judged:
        """Return the permission of the caller to act on a node, or raise.

        :param recorded: the acts, as a handover names them.
        :param proof: the proof, if it is not in the header.
        :param elsewhere: whether the proof may be that of another node that
            the request changes as well.
        :param stranger: the node as a caller knows it to whom Ironic does not
            show it.
        """
        what = f'node {node_uuid}'
        proof = proof or act_bodies.proof(environ)
        try:
            view, deadline = protect.read_view(self._engine, node_uuid)
            if node is None and (view.claimed or (
                    proof is not None and not elsewhere)):
                # This is a request to Ironic, so the timeline must be read
                # again after it.
                node = self._seen(environ, node_uuid, stranger)
                view, deadline = protect.read_view(self._engine, node_uuid)
        except errors.DatabaseUnavailable:
            node = node or self._seen(environ, node_uuid, stranger)
            if self._callers.actor(node, admit.Claim()).administers:
                return Judged(what)
            raise
        if not view.claimed and (elsewhere or proof is None):
            return Judged(what, deadline, held=False)
        assert node is not None
        actor = dataclasses.replace(self.holders.actor(node, proof),
                                    elsewhere=elsewhere)
        # Nothing puts back a change that is made while the node is put back.
        protect.check(view, protect.ChangeRequest(
            actor, not self.acts.isdisjoint(acts) or view.being_put_back
            or (proof is not None and not elsewhere and not view.held),
            not node_acts.FREES.isdisjoint(acts)))
        written = self.holders.of_tenant(holder_acts.acts_of_holder(
            view, actor, recorded), actor) if view.held else ()
        # An administrator may do this, regardless of the holder of the node.
        return Judged(
            what, math.inf if actor.administers and not written else deadline,
            view.claimed,
            acts=(holder_acts.Unwritten(node_uuid, written, actor,
                                        view.holder),) if written else (),
            proof=proof if view.shows(proof) else None)

    def _seen(self, environ: wsgi.Environ, node_uuid: str,
              stranger: callers.Node | None) -> callers.Node:
        try:
            return self._resolver.node(environ, node_uuid)
        except resolve.RefusedByIronic as refused:
            if stranger is None or refused.answer.status not in _HIDDEN:
                raise
            return stranger

    def judge_family(self, environ: wsgi.Environ, node: callers.Node,
                     proof: str | None = None,
                     on_children: Collection[str] = ()) -> Judged | None:
        """Return the permission of the caller to power the family of a node.

        Ironic powers on the parent of a node with the node itself, and powers
        off its children with it.

        :param proof: the proof, if it is not in the header.
        :param on_children: the other acts on its children.
        :returns: ``None`` if the node stands alone.
        :raises ProofRequired: somebody else has one of them.
        :raises ProofInvalid: the proof is not valid for one of them.
        """
        if not self._callers.has_roles:
            return None
        power = node_acts.Act.POWER.value
        upper = self._judge_all(environ, self._parents(node.parent),
                                node.caller, (power,), proof)
        lower = self._judge_all(environ, self._children(node.uuid),
                                node.caller, (power, *on_children), proof)
        return lower if upper is None else upper.beside(lower)

    def adopt(self, environ: wsgi.Environ, document: Any,
              node: callers.Node | None = None) -> tuple[Any, Judged | None]:
        """Return a body with the uuid of the parent that it gives a node.

        :param document: a node to enroll, or a PATCH of one.
        :param node: the node that is patched, whose children get a further
            parent.
        :returns: the body, and the permission of the caller to power the
            parent and the children; ``None`` if the body names no parent.
        :raises ProofRequired: somebody else has one of them.
        :raises ProofInvalid: the proof is not valid for one of them.
        """
        judged: Judged | None = None
        if not self._callers.has_roles:
            return document, judged

        def adopted(ident: str) -> str:
            nonlocal judged
            try:
                parent = self._resolver.node(environ,
                                             resolve.canonical(ident))
            except resolve.RefusedByIronic as refused:
                if refused.answer.status not in _NO_NODE:
                    raise
                # Ironic 35 enrolls it as a child of any UUID.
                raise errors.InvalidValue(
                    'parent_node names no node that you may see. Leave it '
                    'out, or send the uuid of such a node.') from refused
            judged = self._judge_adoption(environ, parent, node).beside(judged)
            return parent.uuid
        return act_bodies.with_parent(document, adopted), judged

    def _judge_adoption(self, environ: wsgi.Environ, parent: callers.Node,
                        node: callers.Node | None) -> Judged:
        family = self._judge_all(
            environ, (*self._parents(parent.uuid),
                      *(() if node is None else self._children(node.uuid))),
            parent.caller)
        assert family is not None
        # A proof of none of them may be that of the node.
        return family if node is not None or family.proof else self._judge(
            environ, parent.uuid, _OF_FAMILY, parent).beside(family)

    def _parents(self, parent: str | None) -> list[str]:
        if parent is None:
            return []
        try:
            return protect.read_ancestors(self._engine, parent)
        except errors.DatabaseUnavailable:
            # An administrator may do this, regardless of the holder.
            return [parent]

    def _children(self, parent: str) -> list[str]:
        try:
            return protect.read_descendants(self._engine, parent)
        except errors.DatabaseUnavailable:
            # Only an administrator may then act on the parent itself.
            return []

    def _judge_all(self, environ: wsgi.Environ, uuids: Collection[str],
                   caller: wsgi.Environ, recorded: Collection[str] = (),
                   proof: str | None = None) -> Judged | None:
        judged: Judged | None = None
        if not uuids:
            return judged
        with contextlib.suppress(errors.DatabaseUnavailable):
            # Read at once, since a node may have many children.
            views, deadline = protect.read_views(self._engine, uuids)
            judged = Judged('a node with its parents and children', deadline,
                            held=False)
            uuids = [view.node_uuid for view in views if view.claimed]
        for uuid in uuids:
            judged = self._judge(
                environ, uuid, _OF_FAMILY, recorded=recorded, proof=proof,
                stranger=callers.Node(uuid, None, caller),
                elsewhere=True).beside(judged)
        return judged


def _shows(other: Judged | None) -> bool:
    """Return whether the proof is that of another node of the request."""
    return other is not None and other.proof is not None
