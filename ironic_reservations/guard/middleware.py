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


"""The entry point ``reservations`` of the group ``ironic.api.middleware``."""

from __future__ import annotations

from collections.abc import Iterable
import functools
from urllib import parse

from oslo_config import cfg

from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations import policies
from ironic_reservations.api import app as api_app
from ironic_reservations.api import identity as api_identity
from ironic_reservations.api import pages
from ironic_reservations.api import wsgi
from ironic_reservations.api.middleware import unread_bodies
from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.clouds import ironic_objects
from ironic_reservations.clouds import ironic_versions
from ironic_reservations.db import migrate
from ironic_reservations.engine.reservations import find
from ironic_reservations.guard import acts
from ironic_reservations.guard import body_limits
from ironic_reservations.guard import callers
from ironic_reservations.guard import cors
from ironic_reservations.guard import identity
from ironic_reservations.guard import inward
from ironic_reservations.guard import ironic_roles
from ironic_reservations.guard import listing
from ironic_reservations.guard import media
from ironic_reservations.guard import metrics
from ironic_reservations.guard import mount
from ironic_reservations.guard import refusals
from ironic_reservations.guard import resolve
from ironic_reservations.guard import routes
from ironic_reservations.guard import service
from ironic_reservations.guard import tickets
from ironic_reservations.guard import unknown_routes
from ironic_reservations.reconciler import loops

_PROVIDERS = {identity.NOAUTH: api_identity.administrator,
              'http_basic': api_identity.basic,
              identity.KEYSTONE: api_identity.keystone}


def factory(app: wsgi.Application) -> wsgi.Application:
    """Wrap Ironic's API in reservations.

    Ironic calls this once, when it starts.  If it fails, the API of Ironic
    does not start, so that no node is left unguarded.

    :param app: Ironic's own application, with its other middleware.
    :raises oslo_config.cfg.Error: the configuration is not valid.
    :raises RuntimeError: Ironic uses an unknown way to authenticate.
    """
    # The global configuration belongs to Ironic. We only read it:
    # authentication, roles, limits of bodies, its URL, the origins of browsers
    # and whether a proxy is trusted.
    conf = project_conf.load()
    ironic_roles.follow(conf, cfg.CONF)
    return unread_bodies.Unread(cors.Cors(
        make(app, conf, cfg.CONF.auth_strategy, cfg.CONF), cfg.CONF))


def make(app: wsgi.Application, conf: cfg.ConfigOpts,
         strategy: str, ironic: cfg.ConfigOpts | None = None) -> Guard:
    """Wrap an application in reservations.

    :param strategy: Ironic's ``auth_strategy``.
    :param ironic: Ironic's configuration, for its limits, if the application
        is Ironic in this process.
    :raises RuntimeError: the configuration contradicts itself.
    """
    if strategy not in _PROVIDERS:
        raise RuntimeError(
            f'Ironic authenticates with "{strategy}", which '
            'ironic-reservations does not support. Use one of '
            f"{', '.join(sorted(_PROVIDERS))}.")
    if conf.guard.proof_by_placement and not conf.placement.enabled:
        raise RuntimeError(
            '[guard] proof_by_placement is set, but holds in Placement are '
            'switched off. Set enabled in the section [placement] of '
            'ironic-reservations.conf, or remove proof_by_placement from '
            '[guard].')
    transport = in_process.InProcess(app)
    gate = tickets.Gate(app)
    engine = build.engine(conf, ironic_client.Ironic(
        service.Authenticated(in_process.InProcess(gate), conf, strategy)))
    gate.engine = engine
    # Connections must not be shared with processes that a server forks later.
    migrate.at_start(engine.database)
    engine.database.close()
    if ironic is not None:
        engine.ironic_api.see(ironic_versions.installed())
    settings = ironic or cfg.ConfigOpts()
    return Guard(app, engine, transport, strategy, gate,
                 body_limits.of_ironic(settings, conf), settings,
                 None if ironic is None else ironic_objects.load(ironic))


class Guard:
    """The middleware: Ironic's API with reservations in front of it."""

    def __init__(self, app: wsgi.Application, engine: engine_module.Engine,
                 transport: in_process.InProcess, strategy: str,
                 gate: tickets.Gate,
                 limits: body_limits.BodyLimits,
                 ironic: cfg.ConfigOpts,
                 objects: ironic_objects.Objects | None = None) -> None:
        enforcer = policies.Enforcer(engine.conf, strategy)
        self._app = app
        self._gate = gate
        self._engine = engine
        self._metrics = metrics.Metrics()
        self._acts = acts.Acts(app, engine, transport, strategy, enforcer,
                               limits, objects)
        self._unknown = unknown_routes.UnknownRoutes(
            app, engine, resolve.Resolver(app, strategy, objects),
            callers.Callers(strategy, enforcer,
                            engine.conf.guard.proof_of_any_project),
            self._acts.know_sender, limits)
        sign_in = pages.SignIn(
            strategy, ironic, engine.conf,
            functools.partial(identity.identify, app, strategy))
        served = mount.Mount(
            app, api_app.make_app(engine, enforcer, engine.conf,
                                  _PROVIDERS[strategy], sign_in),
            transport, strategy, self._metrics, objects)
        self._mount = api_app.Beside(served, [
            page for each in engine.features
            for page in each.pages(sign_in, served.ask, True)])

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        # Not started when the module is loaded: a server may fork later, and
        # Ironic does not answer yet.
        loops.start(self._engine)
        path = environ.get('PATH_INFO', '')
        if inward.TICKET_KEY not in environ and mount.mounted(path):
            return self._mount(environ, start_response)
        identity.know_request(environ)
        if inward.TICKET_KEY in environ:
            return self._use_ticket(environ, start_response)
        try:
            found = routes.classify(
                environ['REQUEST_METHOD'], path,
                environ.get('QUERY_STRING', ''),
                environ.get('CONTENT_TYPE', ''), inward.has_body(environ))
            wanted = (listing.wanted(environ['QUERY_STRING'])
                      if found is not None and found.kind is routes.Kind.LIST
                      else None)
        except errors.ReservationError as exc:
            return self._refuse(exc, environ, start_response)
        if (found is None
                or found.kind is routes.Kind.LIST and wanted is None
                or found.kind is routes.Kind.UNKNOWN and self._unknown.opened(
                    environ['REQUEST_METHOD'], found.names)):
            return self._app(environ, start_response)
        try:
            answer = (self._serve(found, environ) if wanted is None
                      else self._list(found, wanted, environ))
        except resolve.RefusedByIronic as refusal:
            answer = refusal.answer
        except Exception as exc:
            return self._refuse(exc, environ, start_response)
        return answer.send(start_response)

    def _use_ticket(self, environ: wsgi.Environ,
                    start_response: wsgi.StartResponse) -> Iterable[bytes]:
        try:
            self._acts.know_sender(environ)
            answer = self._gate.answer(environ)
        except resolve.RefusedByIronic as refusal:
            answer = refusal.answer
        except Exception as exc:
            return self._refuse(exc, environ, start_response)
        return answer.send(start_response)

    def _serve(self, found: routes.Classification,
               environ: wsgi.Environ) -> wsgi.Answer:
        match found.kind:
            case routes.Kind.PROVISION:
                assert found.ident is not None
                return self._acts.provision(environ, found.ident)
            case routes.Kind.PATCH:
                return self._acts.patch(environ, found.ident)
            case routes.Kind.ENROLL:
                return self._acts.enroll(environ)
            case routes.Kind.ALLOCATE:
                return self._acts.allocate(environ)
            case routes.Kind.ACT:
                assert found.act is not None
                return self._acts.act(environ, found.act)
            case routes.Kind.UNKNOWN:
                uuids, answer = self._unknown.carry(environ, found)
                for uuid in uuids:
                    acts.request_refresh(uuid, answer)
                return answer
        assert found.kind is routes.Kind.FORM
        media.check_form(environ.get('CONTENT_TYPE', ''),
                         self._acts.read_form(environ))
        return inward.call(self._app, environ)

    def _list(self, found: routes.Classification,
              wanted: listing.EligibleList,
              environ: wsgi.Environ) -> wsgi.Answer:
        reserved = find.reserved_node_uuids(self._engine)
        path = '/v1/nodes/detail' if found.detail else '/v1/nodes'
        return listing.fill(
            wanted, lambda parameters: inward.call(self._app, inward.rebuilt(
                environ, path, parse.urlencode(parameters))), reserved)

    def _refuse(self, exc: Exception, environ: wsgi.Environ,
                start_response: wsgi.StartResponse) -> Iterable[bytes]:
        error, answer = refusals.refuse(exc, environ)
        self._metrics.refused(error.code)
        self._acts.audited.refused(environ, error)
        return answer.send(start_response)
