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


"""Guarded requests: admitted on the timeline, carried out by Ironic."""

from __future__ import annotations

import dataclasses
from typing import Any
import uuid as uuid_module

from oslo_log import log
from oslo_utils import uuidutils

from ironic_reservations import errors
from ironic_reservations import policies
from ironic_reservations.api import identity as api_identity
from ironic_reservations.api import wsgi
from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.engine import Engine
from ironic_reservations.engine import passage as passages
from ironic_reservations.guard import bodies
from ironic_reservations.guard import identity
from ironic_reservations.guard import inward
from ironic_reservations.guard import media
from ironic_reservations.planner import admit
from ironic_reservations.planner import facts
from ironic_reservations.planner import pick
from ironic_reservations.reconciler import loop

LOG = log.getLogger(__name__)

_SERVICE_ROLE = 'service'
_REBUILD = 'rebuild'
_ANY_NODE = 'baremetal:reservation:create_any_node'


class Turned(Exception):
    """Ironic itself has the answer, and nothing is to be done."""

    def __init__(self, answer: wsgi.Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


@dataclasses.dataclass(frozen=True)
class _Node:
    """A node as the caller sees it, and who the caller is."""

    uuid: str
    instance_uuid: str | None
    caller: wsgi.Environ


class Acts:
    """Carries guarded requests out.

    :param app: Ironic's application.
    :param transport: the way to it from other threads.
    :param strategy: how Ironic authenticates its callers.
    """

    def __init__(self, app: wsgi.Application, engine: Engine,
                 transport: in_process.InProcess, strategy: str,
                 enforcer: policies.Enforcer) -> None:
        self._app = app
        self._engine = engine
        self._transport = transport
        self._strategy = strategy
        self._enforcer = enforcer

    def provision(self, environ: wsgi.Environ, ident: str) -> wsgi.Answer:
        """Change a node's provision state, if the timeline lets it."""
        asked = bodies.read_provision(environ.get('CONTENT_TYPE', ''),
                                      self._body(environ))
        proof = bodies.one_proof(environ.get(inward.PROOF_HEADER_KEY),
                                 asked.proof)
        ident = _canonical(ident)
        if not asked.guarded:
            answer = inward.call(self._app, inward.rebuilt(
                environ, _provision_path(ident), body=asked.body))
            poke(ident, answer)
            return answer
        node = self._resolve(environ, ident)
        passage = passages.admit(
            self._engine, node.uuid, proof,
            node.instance_uuid if self._vouches(node.caller) else None,
            required=(self._always_required
                      and asked.target in bodies.DEPLOYS),
            act=_act(asked.target),
            placed_instance=self._placed(node.caller, node.instance_uuid))
        return self._carry(environ, passage, inward.rebuilt(
            environ, _provision_path(node.uuid), body=asked.body))

    def patch(self, environ: wsgi.Environ, ident: str | None) -> wsgi.Answer:
        """Change a node; its instance only if the timeline lets it.

        NOTE: a node whose instance is taken off is free, and with that its
        reservation is over; so this takes a proof as well.

        :param ident: ``None`` where the path is not the canonical one.
        """
        content_type = environ.get('CONTENT_TYPE', '')
        asked = bodies.read_bind(content_type, self._body(environ),
                                 ident is not None)
        if asked is None or ident is None:
            if media.may_be_form(content_type, 'PATCH'):
                # NOTE: it has been read as JSON; nobody shall read it again
                # as a form.
                environ['CONTENT_TYPE'] = media.JSON
            answer = inward.call(self._app, environ)
            if ident is not None:
                poke(ident, answer)
            return answer
        proof = bodies.one_proof(environ.get(inward.PROOF_HEADER_KEY), None)
        node = self._resolve(environ, _canonical(ident))
        instance_uuid = asked.instance_uuid or node.instance_uuid
        passage = passages.admit(
            self._engine, node.uuid, proof,
            instance_uuid if self._vouches(node.caller) else None,
            required=(self._always_required
                      and asked.instance_uuid is not None),
            act=(admit.Act.FREE if asked.instance_uuid is None
                 else admit.Act.USE),
            placed_instance=self._placed(node.caller, instance_uuid))
        return self._carry(environ, passage, inward.rebuilt(
            environ, inward.node_path(node.uuid), body=asked.patch))

    def allocate(self, environ: wsgi.Environ) -> wsgi.Answer:
        """Create an allocation, on a node that the timeline chooses."""
        asked = bodies.read_allocate(environ.get('CONTENT_TYPE', ''),
                                     self._body(environ))
        proof = bodies.one_proof(environ.get(inward.PROOF_HEADER_KEY), None)
        caller = identity.identify(self._app, self._strategy, environ)
        if isinstance(caller, wsgi.Answer):
            return caller
        body = dict(asked.body)
        if asked.candidates is not None:
            body['candidate_nodes'] = self._candidates(environ,
                                                       asked.candidates)
        if asked.backfill is not None:
            node = self._resolve(environ, _canonical(asked.backfill))
            body['node'] = node.uuid
            return self._carry(
                environ, passages.admit(self._engine, node.uuid, proof,
                                        act=admit.Act.STAY),
                inward.rebuilt(environ, '/v1/allocations', body=body))
        body['uuid'] = _allocation_uuid(body.get('uuid'))
        passage = self._hold(environ, caller, asked, body, proof)
        body['candidate_nodes'] = [passage.node_uuid]
        answer = inward.call(self._app, inward.rebuilt(
            environ, '/v1/allocations', body=body))
        if inward.succeeded(answer):
            # NOTE: the passage stays: a conductor has yet to write the
            # allocation on the node.
            poke(passage.node_uuid, answer)
        else:
            self._close(passage, False, None)
        return answer

    def _hold(self, environ: wsgi.Environ, caller: wsgi.Environ,
              asked: bodies.Allocate, body: dict[str, Any],
              proof: str | None) -> passages.Passage:
        listed = body.get('candidate_nodes')
        ask = pick.Ask(
            instance_uuid=body['uuid'],
            node_uuids=tuple(listed) if listed else None,
            resource_class=asked.resource_class, traits=asked.traits)
        try:
            return passages.hold_for_allocation(
                self._engine, ask, self._sees(caller, body.get('owner')),
                proof, self._observer(environ), self._always_required)
        except errors.NoNodeAvailable as exc:
            raise errors.AllocationRefused(
                'No node is left for this allocation: allocations do not '
                f'land on reserved nodes. {exc}', **exc.details) from exc

    def _sees(self, caller: wsgi.Environ,
              owner: str | None) -> facts.Visibility:
        if owner is not None:
            # NOTE: Ironic looks among the nodes of the allocation's owner.
            return facts.Visibility(project_id=owner)
        if self._strategy != identity.KEYSTONE:
            return facts.Visibility(everything=True)
        context = api_identity.keystone(caller)
        return facts.Visibility(
            self._enforcer.check(context, _ANY_NODE,
                                 {'project_id': context.project_id}),
            context.project_id)

    def _candidates(self, environ: wsgi.Environ,
                    idents: tuple[str, ...]) -> list[str]:
        most = self._engine.conf.api.max_nodes_per_request
        if len(idents) > most:
            raise errors.InvalidValue(
                f'The key "candidate_nodes" names {len(idents)} nodes, more '
                f'than the {most} that one request may name.')
        uuids = []
        for ident in idents:
            if uuidutils.is_uuid_like(ident):
                uuids.append(_canonical(ident))
                continue
            try:
                uuids.append(self._resolve(environ, ident).uuid)
            except Turned as turned:
                if turned.answer.status not in (400, 404):
                    raise
                raise errors.InvalidValue(
                    f'The candidate node {ident[:80]!r} does not exist, or '
                    'is not visible to you.') from turned
        return list(dict.fromkeys(uuids))

    def _resolve(self, environ: wsgi.Environ, ident: str) -> _Node:
        """Ask Ironic, as the caller, which node is meant.

        NOTE: at the latest version, since an older one knows no names, and
        takes ".json" off them.

        :raises Turned: the caller may not know, or there is no such node.
        """
        if '/' in ident or ident in ('', '.', '..'):
            raise errors.InvalidValue(f'{ident[:80]!r} names no node.')
        if self._strategy != identity.NOAUTH:
            # NOTE: what is there afterwards about the caller has been
            # written by Ironic's authentication, and by nobody else.
            environ = identity.without(environ)
        seen = inward.asking(
            environ, inward.node_path(ident), 'fields=uuid,instance_uuid',
            # NOTE: Ironic 39 answers 500 to "latest" where the path ends
            # with ".json"; from this version on it leaves that alone.
            '1.91' if ident.endswith('.json') else 'latest')
        answer = inward.call(self._app, seen)
        if answer.status != 200:
            raise Turned(answer)
        found = inward.document(answer)
        return _Node(found['uuid'], found.get('instance_uuid'),
                     identity.about_caller(seen))

    @property
    def _always_required(self) -> bool:
        return bool(self._engine.conf.guard.require == 'always')

    def _vouches(self, caller: wsgi.Environ) -> bool:
        return (self._engine.conf.guard.instance_uuid_from_service
                and self._serves(caller))

    def _placed(self, caller: wsgi.Environ,
                instance_uuid: str | None) -> str | None:
        """Give the instance, if Placement may speak for it."""
        return (instance_uuid if self._engine.conf.guard.proof_by_placement
                and self._serves(caller) else None)

    def _serves(self, caller: wsgi.Environ) -> bool:
        return (self._strategy == identity.KEYSTONE
                and _SERVICE_ROLE in identity.roles(caller))

    def _carry(self, environ: wsgi.Environ, passage: passages.Passage,
               request: wsgi.Environ) -> wsgi.Answer:
        # NOTE: where this does not come back, nobody knows what Ironic has
        # done; the passage then ends by itself, and the reconciler looks.
        answer = inward.call(self._app, request)
        done = inward.succeeded(answer)
        self._close(passage, done,
                    self._look_again(environ, passage) if done else None)
        return answer

    def _look_again(self, environ: wsgi.Environ,
                    passage: passages.Passage) -> facts.Node | None:
        try:
            return self._observer(environ).node(passage.node_uuid)
        except errors.IronicUnavailable as exc:
            LOG.info('Node %s will be read again later: %s',
                     passage.node_uuid, exc)
            return None

    def _close(self, passage: passages.Passage, done: bool,
               node: facts.Node | None) -> None:
        try:
            passages.close(self._engine, passage, done, node)
        except (errors.DatabaseUnavailable, errors.Contention) as exc:
            # NOTE: what Ironic answered is true all the same.
            LOG.warning('The passage of node %s is left to end by itself: '
                        '%s', passage.node_uuid, exc)

    def _observer(self, environ: wsgi.Environ) -> ironic_client.Ironic:
        return ironic_client.Ironic.in_process(
            self._transport, inward.credentials(environ))

    def _body(self, environ: wsgi.Environ) -> bytes:
        return inward.read_body(environ,
                                self._engine.conf.guard.max_body_size)


def poke(ident: str, answer: wsgi.Answer) -> None:
    """Have a node read again soon, if Ironic did something to it."""
    running = loop.current()
    if (running is not None and inward.succeeded(answer)
            and uuidutils.is_uuid_like(ident)):
        running.poke(_canonical(ident))


def _act(target: str) -> admit.Act:
    """Tell what a change of the provision state does to a node."""
    if target in bodies.DEPLOYS:
        return admit.Act.USE
    return admit.Act.STAY if target == _REBUILD else admit.Act.TAKE


def _canonical(ident: str) -> str:
    if uuidutils.is_uuid_like(ident):
        return str(uuid_module.UUID(ident))
    return ident


def _allocation_uuid(value: str | None) -> str:
    if value is None:
        return str(uuid_module.uuid4())
    if not uuidutils.is_uuid_like(value):
        raise errors.InvalidValue(
            'The key "uuid" of an allocation has to be a uuid.')
    return _canonical(value)


def _provision_path(ident: str) -> str:
    return f'{inward.node_path(ident)}/states/provision'
