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


"""Guarded requests: checked against the timeline, carried out by Ironic."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import dataclasses
import functools
from typing import Any
import uuid as uuid_module

from oslo_log import log
from oslo_utils import uuidutils

from ironic_reservations import errors
from ironic_reservations import policies
from ironic_reservations.api import wsgi
from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.clouds import ironic_objects
from ironic_reservations.engine import Engine
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import allocation_requests
from ironic_reservations.guard import audited
from ironic_reservations.guard import bodies
from ironic_reservations.guard import body_limits
from ironic_reservations.guard import callers
from ironic_reservations.guard import carry
from ironic_reservations.guard import failed_attempts
from ironic_reservations.guard import identity
from ironic_reservations.guard import inward
from ironic_reservations.guard import media
from ironic_reservations.guard import node_acts
from ironic_reservations.guard import protected
from ironic_reservations.guard import resolve
from ironic_reservations.lifecycle import admit
from ironic_reservations.model import handovers
from ironic_reservations.model import in_flight
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick
from ironic_reservations.reconciler import loops

LOG = log.getLogger(__name__)

_REBUILD = 'rebuild'
#: The scheduler hint that names a reservation, or a lease reservation.
_HINT = 'reservation'
#: No Ironic knows this provision target.
_NOTHING = 'nothing at all'
#: Ironic answers with these if its policy allows a request and the state of
#: the node does not.
_NOT_OF_POLICY = (400, 409)
#: Nothing is ever below such a field; Ironic applies the policy of the field
#: to such a path.
_NOTHING_BELOW = '/nothing'
_INSTANCE = '/instance_uuid'
#: Ironic answers so to an allocation without a resource class.
_MISSES_SOMETHING = 400
#: At most so many candidates of an allocation may be names: each name costs a
#: request to Ironic.
_MOST_NAMES = 50


class Acts:
    """Carries out guarded requests.

    :param app: Ironic's application.
    :param transport: calls it from other threads.
    :param strategy: Ironic's ``auth_strategy``.
    :param limits: the limits of request bodies.
    :param objects: Ironic's objects, to read nodes with; ``None``: by
        requests.
    """

    def __init__(self, app: wsgi.Application, engine: Engine,
                 transport: in_process.InProcess, strategy: str,
                 enforcer: policies.Enforcer,
                 limits: body_limits.BodyLimits,
                 objects: ironic_objects.Objects | None = None) -> None:
        self._app = app
        self._objects = objects
        self._limits = limits
        self._engine = engine
        self._transport = transport
        self._strategy = strategy
        self._callers = callers.Callers(
            strategy, enforcer, engine.conf.guard.proof_of_any_project)
        self._resolver = resolve.Resolver(app, strategy, objects)
        self.audited = audited.Audited(engine.audit, self._callers)
        self._failed = failed_attempts.FailedAttempts(self._callers,
                                                      engine.timer)
        self.protected = protected.Protected(
            app, engine, self._resolver, self._callers, self._failed, limits)

    def provision(self, environ: wsgi.Environ, ident: str) -> wsgi.Answer:
        """Change the provision state of a node, if the timeline allows it."""
        ident = resolve.canonical(ident)
        seen = self._resolve_sender(environ, ident)
        asked = bodies.read_provision(
            environ.get('CONTENT_TYPE', ''),
            inward.read_body(environ, self._limits.provision),
            self._limits.deepest)
        proof = bodies.one_proof(environ.get(inward.PROOF_HEADER_KEY),
                                 asked.proof)
        part = (None if seen is None
                else self._judge_family(environ, seen, proof,
                                        node_acts.on_children(asked.body)))
        if not asked.guarded:
            act = node_acts.OF_TARGETS.get(asked.target)
            answer = (
                self._act_on(environ, seen or self._resolver.node(
                    environ, ident), act, asked, proof, part)
                if act is not None else self._provide(inward.rebuilt(
                    environ, _provision_path(
                        ident if seen is None or part is None else seen.uuid),
                    body=asked.body), part))
            request_refresh(ident, answer)
            return answer
        node = seen or self._resolver.node(environ, ident)
        return self._failed.limited(
            node, proof, lambda: self._provision(environ, node, asked, proof,
                                                 part))

    def _judge_family(self, environ: wsgi.Environ, node: callers.Node,
                      proof: str | None, on_children: Collection[str]
                      ) -> protected.Judged | None:
        try:
            return self.protected.judge_family(environ, node, proof,
                                               on_children)
        except errors.ReservationError:
            self._require_ironic_policy(environ, node)
            raise

    def _provide(self, request: wsgi.Environ,
                 part: protected.Judged | None) -> wsgi.Answer:
        return (inward.call(self._app, request) if part is None
                else self.protected.pass_judged(part, request))

    def _provision(self, environ: wsgi.Environ, node: callers.Node,
                   asked: bodies.Provision, proof: str | None,
                   part: protected.Judged | None) -> wsgi.Answer:
        if part is not None and part.proof is not None:
            # It is the proof of the parent, and the node itself has none.
            proof = None
        request = inward.rebuilt(environ, _provision_path(node.uuid),
                                 body=asked.body)
        try:
            admitted = self._admit(
                node, node.instance_uuid, proof, _act(asked.target),
                self._always_required and asked.target in bodies.DEPLOYS,
                lambda: self._require_ironic_policy(environ, node))
        except errors.ReservationError as refused:
            if asked.target == 'manage' and isinstance(refused,
                                                       errors.ProofRequired):
                answer = self.protected.bring_back(environ, node.uuid,
                                                   request)
                if answer is not None:
                    request_refresh(node.uuid, answer)
                    return answer
            self._require_ironic_policy(environ, node)
            raise
        if part is not None:
            admitted = part.within(admitted)
        recorded = self.protected.holders.record_use(
            admitted, node, node_acts.of_provision(asked.target, asked.body),
            () if part is None else part.acts)
        return self._carry(
            environ, admitted, request,
            in_flight.Act.UNDEPLOY if asked.target in bodies.DEPLOYS
            else None, recorded)

    def _act_on(self, environ: wsgi.Environ, node: callers.Node,
                act: node_acts.Act, asked: bodies.Provision,
                proof: str | None,
                part: protected.Judged | None) -> wsgi.Answer:
        try:
            return self.protected.provision(
                environ, node, act,
                node_acts.of_provision(asked.target, asked.body), proof,
                inward.rebuilt(environ, _provision_path(node.uuid),
                               body=asked.body), part)
        except (errors.ProofRequired, errors.ProofInvalid):
            self._require_ironic_policy(environ, node)
            raise

    def _require_ironic_policy(self, environ: wsgi.Environ,
                               node: callers.Node) -> None:
        """Raise Ironic's own refusal if its policy refuses the caller.

        A caller who may only read a node must not learn whether it is
        promised, nor cause leases to move. Ironic applies its policy before it
        finds that the target is unknown, so this request has no effect.
        """
        self._require_accepted(inward.rebuilt(
            environ, _provision_path(node.uuid), body={'target': _NOTHING}))

    def _require_patch(self, environ: wsgi.Environ, node: callers.Node,
                       field: str) -> None:
        """Raise Ironic's own refusal if its policy refuses a PATCH.

        Ironic applies its policy before it finds nothing below the field.

        :param field: the field, which is no object, as a JSON pointer.
        """
        self._require_accepted(inward.rebuilt(
            environ, inward.node_path(node.uuid),
            body=[{'op': 'remove', 'path': f'{field}{_NOTHING_BELOW}'}]))

    def _require_accepted(self, request: wsgi.Environ) -> None:
        """Raise Ironic's refusal of a request that would have no effect.

        Ironic may also refuse one of the headers, before it applies its
        policy.
        """
        if not self._callers.has_roles:
            return
        answer = inward.call(self._app, request)
        if not (inward.succeeded(answer)
                or answer.status in _NOT_OF_POLICY):
            raise resolve.RefusedByIronic(answer)

    def act(self, environ: wsgi.Environ,
            asked: node_acts.NodeAct) -> wsgi.Answer:
        """Carry out a protected act, unless the node has another holder."""
        if asked.act in protected.BELOW:
            self.know_sender(environ)
        uuid, answer = self.protected.carry(environ, asked)
        if uuid is not None:
            request_refresh(uuid, answer)
        return answer

    def patch(self, environ: wsgi.Environ, ident: str | None) -> wsgi.Answer:
        """Change a node; its instance only if the timeline allows it.

        Removing the instance frees the node and so ends its reservation;
        therefore it needs the proof as well.

        :param ident: the node; ``None`` if the path is not the canonical one.
        """
        content_type = environ.get('CONTENT_TYPE', '')
        query = environ.get('QUERY_STRING', '')
        seen = None
        if ident is None:
            self.know_sender(environ)
        else:
            ident = resolve.canonical(ident)
            seen = self._resolve_sender(environ, ident)
        asked = bodies.read_bind(
            content_type, inward.read_body(environ, self._limits.other),
            ident is not None and not query, self._limits.deepest)
        if asked is None or ident is None:
            patch, acts, written = self._acts_of_patch(environ, ident)
            if written:
                assert ident is not None
                patch, parent = self.protected.adopt(environ, patch, seen)
                node = seen or self._resolver.node(environ, ident)
                answer = self.protected.patch(
                    environ, node, acts, node_acts.recorded(patch),
                    inward.rebuilt(
                        environ, inward.node_path(node.uuid), query,
                        body=patch), parent, self._patches(
                            environ, node, patch, acts))
                request_refresh(node.uuid, answer)
                return answer
            if media.may_be_form(content_type, 'PATCH'):
                # The body was read as JSON, and Ironic must not read it as a
                # form.
                environ['CONTENT_TYPE'] = media.JSON
            answer = inward.call(self._app, environ)
            if ident is not None:
                request_refresh(ident, answer)
            return answer
        proof = bodies.one_proof(environ.get(inward.PROOF_HEADER_KEY), None)
        patch, parent = self.protected.adopt(environ, asked.patch, seen)
        asked = dataclasses.replace(asked, patch=patch)
        node = seen or self._resolver.node(environ, ident)
        return self._failed.limited(node, proof, lambda: self._bind(
            environ, node, asked, proof, parent))

    def enroll(self, environ: wsgi.Environ) -> wsgi.Answer:
        """Enroll a node, as a part of another one only if the sender may.

        Nobody holds the node itself.
        """
        content_type = environ.get('CONTENT_TYPE', '')
        may_be_form = media.may_be_form(content_type, 'POST')
        if not inward.has_body(environ) or not (
                self._callers.has_roles or may_be_form):
            return inward.call(self._app, environ)
        raw = self.read_form(environ)
        if may_be_form:
            media.check_form(content_type, raw)
        if not self._callers.has_roles:
            return inward.call(self._app, environ)
        if not media.is_utf_8(content_type):
            raise errors.NotCanonical(
                'A node that may become a part of one that others have '
                'reserved must be JSON in UTF-8, with Content-Type '
                'application/json.')
        document, parent = self.protected.adopt(
            environ, bodies.read_json(raw, self._limits.deepest))
        return self._provide(inward.rebuilt(
            environ, environ['PATH_INFO'], environ.get('QUERY_STRING', ''),
            body=document), parent)

    def _patches(self, environ: wsgi.Environ, node: callers.Node, patch: Any,
                 acts: Collection[node_acts.Act]) -> Callable[[], None]:
        """Return a check that Ironic would judge a PATCH by its policy.

        :param acts: the protected acts of the PATCH.
        """
        def permitted() -> None:
            for act in sorted(node_acts.TAKES_AWAY.intersection(acts)):
                self._require_patch(environ, node, f'/{act}')
            bodies.check_description(patch)
        return permitted

    def _bind(self, environ: wsgi.Environ, node: callers.Node,
              asked: bodies.Bind, proof: str | None,
              parent: protected.Judged | None) -> wsgi.Answer:
        permitted = functools.cache(functools.partial(
            self._require_patch, environ, node, _INSTANCE))
        if not self._callers.trusted(node):
            # Ironic may fail in a request before it applies its policy, and
            # the node is kept until the outcome is known.
            permitted()
        bodies.check_description(asked.patch)
        try:
            admitted = self._admit(
                node, asked.instance_uuid or node.instance_uuid, proof,
                _act_of_bind(asked),
                self._always_required and asked.instance_uuid is not None,
                permitted)
        except errors.ReservationError:
            permitted()
            raise
        if parent is not None:
            admitted = parent.within(admitted)
        recorded = self.protected.holders.record_use(
            admitted, node, node_acts.recorded(asked.patch))
        return self._carry(environ, admitted, inward.rebuilt(
            environ, inward.node_path(node.uuid), body=asked.patch),
            None if asked.instance_uuid is None
            else in_flight.Act.CLEAR_INSTANCE, recorded)

    def _admit(self, node: callers.Node, instance_uuid: str | None,
               proof: str | None, act: admit.Act, required: bool,
               permitted: Callable[[], None]) -> admission.InFlightRequest:
        """Let a request use a node, with the hint of its server as a proof.

        A server that has the node needs the hint only while somebody holds it:
        after its lease, the node is freed without it.

        :param instance_uuid: the instance that the node has or gets.
        :param required: whether even a free node needs a reservation.
        :param permitted: see :func:`.admission.admit`.
        """
        def admitted(proof: str | None,
                     bearer: admit.Bearer) -> admission.InFlightRequest:
            return admission.admit(
                self._engine, node.uuid, proof,
                instance_uuid if self._vouches(node) else None, required, act,
                self._placed(node, instance_uuid), bearer, permitted)
        if act is admit.Act.USE:
            return admitted(*self._hinted(node, instance_uuid, proof))
        try:
            return admitted(proof, self._callers.bearer(node))
        except errors.ProofRequired:
            if act is admit.Act.TAKE:
                raise
            hint, bearer = self._hinted(node, instance_uuid, proof)
            if hint is None:
                raise
            return admitted(hint, bearer)

    def _acts_of_patch(self, environ: wsgi.Environ, ident: str | None
                       ) -> tuple[Any, frozenset[node_acts.Act],
                                  tuple[str, ...]]:
        """Return a PATCH, its protected acts and the fields that it writes."""
        raw = inward.read_body(environ, self._limits.other)
        patch = (bodies.read_json(raw, self._limits.deepest) if raw
                 else None)
        written = node_acts.pointers(patch)
        acts = node_acts.of_patch(patch, self.protected.acts)
        if written and ident is None or acts and not media.is_json_patch(
                environ.get('CONTENT_TYPE', '')):
            raise errors.NotCanonical(
                'A change of a node that others may have reserved must be '
                'sent as PATCH /v1/nodes/<uuid> without a query other than '
                'reset_interfaces, with Content-Type application/json.')
        return patch, acts, written

    def allocate(self, environ: wsgi.Environ) -> wsgi.Answer:
        """Create an allocation on a node that the timeline chooses."""
        caller = self.know_sender(environ)
        asked = bodies.read_allocate(
            environ.get('CONTENT_TYPE', ''),
            inward.read_body(environ, self._limits.other),
            self._limits.deepest)
        proof = bodies.one_proof(environ.get(inward.PROOF_HEADER_KEY), None)
        self._ask_policy(environ, asked)
        body = dict(asked.body)
        if asked.candidates is not None:
            body['candidate_nodes'] = self._candidates(environ,
                                                       asked.candidates)
        if asked.backfill is not None:
            node = self._resolver.node(environ,
                                       resolve.canonical(asked.backfill))
            body['node'] = node.uuid
            return self._failed.limited(node, proof, lambda: self._carry(
                environ, admission.admit(
                    self._engine, node.uuid, proof, act=admit.Act.STAY,
                    bearer=self._callers.bearer(node)),
                inward.rebuilt(environ, '/v1/allocations', body=body)))
        body['uuid'] = _allocation_uuid(body.get('uuid'))
        admitted = self._hold(environ, caller, asked, body, proof)
        body['candidate_nodes'] = [admitted.node_uuid]
        answer = carry.pass_on(self._engine, self._app, admitted,
                               inward.rebuilt(environ, '/v1/allocations',
                                              body=body))
        self.audited.used(environ, admitted, answer)
        if inward.succeeded(answer):
            # The request stays open: a conductor has not yet written the
            # allocation to the node.
            carry.accept(self._engine, admitted)
            request_refresh(admitted.node_uuid, answer)
        return answer

    def _ask_policy(self, environ: wsgi.Environ,
                    asked: bodies.Allocate) -> None:
        """Apply Ironic's policy to an allocation before any other answer.

        Ironic applies its policy before it finds that the resource class is
        missing, so this request has no effect.
        """
        if not self._callers.has_roles:
            return
        owner = asked.body.get('owner')
        answer = inward.call(self._app, inward.rebuilt(
            environ, '/v1/allocations',
            body={} if owner is None else {'owner': owner}))
        if answer.status != _MISSES_SOMETHING:
            resolve.check_scope(answer, environ[identity.CALLER])
            raise resolve.RefusedByIronic(answer)

    def _hold(self, environ: wsgi.Environ, caller: wsgi.Environ,
              asked: bodies.Allocate, body: dict[str, Any],
              proof: str | None) -> admission.InFlightRequest:
        listed = body.get('candidate_nodes')
        ask = pick.NodeRequest(
            instance_uuid=body['uuid'],
            node_uuids=tuple(listed) if listed else None,
            resource_class=asked.resource_class, traits=asked.traits,
            powered=True)
        try:
            return allocation_requests.hold(
                self._engine, ask, self._sees(caller, body.get('owner')),
                proof, self._observer(environ), self._always_required,
                self._callers.bearer(callers.Node(
                    '', None, caller, chosen_by=environ.get(
                        inward.PROJECT_HEADER_KEY))))
        except errors.NoNodeAvailable as exc:
            raise errors.AllocationRefused(
                'No node is left for this allocation: allocations do not use '
                f'reserved nodes. {exc}', **exc.details) from exc

    def _sees(self, caller: wsgi.Environ,
              owner: str | None) -> visibility.Visibility:
        if owner is not None:
            # Ironic considers the nodes of the owner that the allocation
            # names.
            return visibility.Visibility(project_id=owner)
        return visibility.Visibility(self._callers.creates_any(caller),
                                     self._callers.context(caller).project_id)

    def _candidates(self, environ: wsgi.Environ,
                    idents: tuple[str, ...]) -> list[str]:
        most = self._engine.conf.api.max_nodes_per_request
        if len(idents) > most:
            raise errors.InvalidValue(
                f'The key "candidate_nodes" has {len(idents)} nodes; one '
                f'request may have at most {most}.')
        named = sum(not uuidutils.is_uuid_like(ident) for ident in idents)
        if named > _MOST_NAMES:
            raise errors.InvalidValue(
                f'The key "candidate_nodes" has {named} nodes by name, and '
                f'each of these must be looked up; at most {_MOST_NAMES} are '
                'allowed. Send their uuids.')
        uuids = []
        for ident in idents:
            if uuidutils.is_uuid_like(ident):
                uuids.append(resolve.canonical(ident))
                continue
            try:
                uuids.append(self._resolver.node(environ, ident).uuid)
            except resolve.RefusedByIronic as refusal:
                if refusal.answer.status not in (400, 404):
                    raise
                raise errors.InvalidValue(
                    f'The candidate node {ident[:80]!r} does not exist, or '
                    'is not visible to you.') from refusal
        return list(dict.fromkeys(uuids))

    @property
    def _always_required(self) -> bool:
        return bool(self._engine.conf.guard.require == 'always')

    def _vouches(self, node: callers.Node) -> bool:
        return (self._engine.conf.guard.instance_uuid_from_service
                and self._callers.serves(node))

    def _placed(self, node: callers.Node,
                instance_uuid: str | None) -> str | None:
        """Return the instance, if its allocation can be a proof."""
        return (instance_uuid if self._engine.conf.guard.proof_by_placement
                and self._callers.serves(node) else None)

    def _hinted(self, node: callers.Node, instance_uuid: str | None,
                proof: str | None) -> tuple[str | None, admit.Bearer]:
        """Return the proof of a request, or the scheduler hint of a server.

        Nova does not pass the hints of a server on to its driver, so they are
        read from Nova's API.

        :param proof: the proof of the request.
        :returns: the proof and its bearer. The bearer of a hint is the project
            of the server, which has chosen the hint: the service itself may
            use the proofs of all projects.
        :raises InvalidValue: the hint is not a uuid.
        """
        nova, bearer = self._engine.nova, self._callers.bearer(node)
        if (proof is not None or nova is None or instance_uuid is None
                or not uuidutils.is_uuid_like(instance_uuid)
                or not self._callers.serves(node)):
            return proof, bearer
        try:
            found = nova.hint(resolve.canonical(instance_uuid), _HINT)
        except errors.NovaUnavailable as exc:
            # Without a hint, the node is given to nobody who may not have it.
            LOG.warning('The scheduler hints of server %s are not known: %s',
                        instance_uuid, exc)
            return None, bearer
        if found is None:
            return None, bearer
        hint, project_id = found
        return bodies.read_proof(
            str(hint), f'The scheduler hint "{_HINT}" of server '
            f'{instance_uuid}'), self._callers.bearer_in(project_id)

    def _carry(self,
               environ: wsgi.Environ,
               admitted: admission.InFlightRequest,
               request: wsgi.Environ,
               undo: in_flight.Act | None = None,
               recorded: Collection[handovers.Handover] = ()
               ) -> wsgi.Answer:
        answer = carry.pass_on(self._engine, self._app, admitted, request,
                               recorded)
        self.audited.used(environ, admitted, answer)
        if inward.succeeded(answer):
            carry.close(self._engine, admitted, True,
                        self._read_again(environ, admitted), undo)
        return answer

    def _read_again(self, environ: wsgi.Environ,
                    admitted: admission.InFlightRequest
                    ) -> admission.Shown | None:
        try:
            asked_at = self._engine.clock()
            # The mirror keeps the traits that it has, so they are not read.
            node = self._observer(environ).confirm(admitted.node_uuid,
                                                   with_traits=False)
        except (errors.IronicUnavailable, errors.Forbidden,
                errors.DatabaseUnavailable) as exc:
            LOG.info('Node %s will be read again later: %s',
                     admitted.node_uuid, exc)
            return None
        return None if node is None else admission.Shown(node, asked_at)

    def _observer(self, environ: wsgi.Environ) -> ironic_client.Ironic:
        """Return Ironic as the caller sees it."""
        return ironic_objects.observer(
            self._transport, inward.credentials(environ), self._objects,
            environ.get(identity.CALLER))

    def read_form(self, environ: wsgi.Environ) -> bytes:
        """Return the body of a request that may be a form.

        :raises RefusedByIronic: Ironic does not know the sender.
        """
        self.know_sender(environ)
        return inward.read_body(environ, self._limits.other)

    def know_sender(self, environ: wsgi.Environ) -> wsgi.Environ:
        """Return the sender of a request, before its body is read.

        :raises RefusedByIronic: Ironic does not know the sender.
        """
        caller = identity.identify(self._app, self._strategy, environ)
        if isinstance(caller, wsgi.Answer):
            raise resolve.RefusedByIronic(caller)
        environ[identity.CALLER] = caller
        return caller

    def _resolve_sender(self, environ: wsgi.Environ,
                        ident: str) -> callers.Node | None:
        """Return the node of a request, read as its sender.

        The node is needed anyway, so authentication costs no request of its
        own.

        :returns: ``None`` if everybody is an administrator of Ironic.
        """
        return (None if self._strategy == identity.NOAUTH
                else self._resolver.node(environ, ident))


def request_refresh(ident: str, answer: wsgi.Answer) -> None:
    """Request that the mirror reads a node soon, if Ironic has changed it."""
    running = loops.current()
    if (running is not None and inward.succeeded(answer)
            and uuidutils.is_uuid_like(ident)):
        running.request_refresh(resolve.canonical(ident))


def _act(target: str) -> admit.Act:
    """Return the kind of act of a provision target."""
    if target in bodies.DEPLOYS:
        return admit.Act.USE
    return admit.Act.STAY if target == _REBUILD else admit.Act.TAKE


def _act_of_bind(asked: bodies.Bind) -> admit.Act:
    """Return the kind of act that a patch of an instance is.

    A patch that frees a node passes while the node is put back, and nothing
    would undo other fields that it writes.
    """
    if asked.instance_uuid is not None:
        return admit.Act.USE
    return admit.Act.FREE if asked.frees else admit.Act.STAY


def _allocation_uuid(value: str | None) -> str:
    if value is None:
        return str(uuid_module.uuid4())
    if not uuidutils.is_uuid_like(value):
        raise errors.InvalidValue(
            'The key "uuid" of an allocation must be a uuid.')
    return resolve.canonical(value)


def _provision_path(ident: str) -> str:
    return f'{inward.node_path(ident)}/states/provision'
