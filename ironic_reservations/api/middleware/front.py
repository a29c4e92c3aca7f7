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

"""The outermost layer: versions, errors, metrics and the audit."""

from __future__ import annotations

from collections.abc import Iterable

from oslo_context import context as oslo_context
from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.api import dialects
from ironic_reservations.api import log_text
from ironic_reservations.api import versions
from ironic_reservations.api import wsgi
from ironic_reservations.api.middleware import audited
from ironic_reservations.api.middleware import errors as api_errors
from ironic_reservations.api.middleware import metrics as api_metrics
from ironic_reservations.engine import audit_trail

LOG = log.getLogger(__name__)

#: The environ has under these keys the minor version in use, and that of our
#: own line: the same one, or the one that is named beside Blazar's.
MINOR = 'ironic_reservations.minor'
OWN_MINOR = 'ironic_reservations.own_minor'
#: Paths that programs ask every few seconds.
_POLLED = frozenset(('/healthcheck', '/metrics'))


class Front:
    """Determines the version, and converts exceptions to answers."""

    def __init__(self, application: wsgi.Application,
                 metrics: api_metrics.Metrics,
                 events: audit_trail.AuditTrail) -> None:
        self._application = application
        self._events = events
        self._metrics = metrics

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        method = environ['REQUEST_METHOD']
        # The thread has the context of its previous request, or one of
        # Ironic's, which must be restored for Ironic's log lines.
        before = oslo_context.get_current()
        oslo_context.RequestContext(
            request_id=environ.get('openstack.request_id'))
        try:
            return self._answered(environ, start_response, method)
        finally:
            # A context cannot be deleted, so an empty one replaces it.
            (before or oslo_context.RequestContext()).update_store()

    def _answered(self, environ: wsgi.Environ,
                  start_response: wsgi.StartResponse, method: str
                  ) -> Iterable[bytes]:
        dialect = dialects.of(environ.get('PATH_INFO', ''))
        asked = environ.get('HTTP_OPENSTACK_API_VERSION')
        used = dialect.negotiated(asked)
        code = None
        try:
            # All are determined or none, so that a client sees that it must
            # name another one.
            used = {line: line.requested(asked) for line in used}
            environ[MINOR] = used[dialect.line]
            environ[OWN_MINOR] = used.get(versions.OWN, versions.OWN.minimum)
            _make_plain(environ)
            answer = wsgi.call(self._application, environ)
        except Exception as exc:
            error = api_errors.translated(exc, environ)
            code = error.code
            answer = api_errors.answer(error, environ, dialect,
                                       used[dialect.line])
        self._metrics.count(method, answer.status, code)
        audited.record(self._events, environ, answer, code)
        polled = answer.status == 200 and environ.get('PATH_INFO') in _POLLED
        LOG.log(log.DEBUG if polled else log.INFO, '[%s] %s %s - %d%s',
                environ.get('openstack.request_id'),
                log_text.quoted(method), log_text.path(environ),
                answer.status, '' if code is None else f' {code}')
        answer.headers.extend(versions.headers(used))
        return answer.send(start_response, with_body=method != 'HEAD')


def _make_plain(environ: wsgi.Environ) -> None:
    """Remove a trailing slash from the path, and make HEAD a GET."""
    path = environ.get('PATH_INFO', '')
    try:
        path.encode('latin-1').decode('utf-8')
    except UnicodeError as exc:
        raise errors.Malformed('The path of the URL is not valid UTF-8. '
                               'Percent-encode it as UTF-8.') from exc
    environ['PATH_INFO'] = path[:-1] if path.endswith('/') else path
    if environ['REQUEST_METHOD'] == 'HEAD':
        environ['REQUEST_METHOD'] = 'GET'
