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


"""The answers of the guard to requests that it refuses."""

from __future__ import annotations

from oslo_context import context as oslo_context
from oslo_log import log

from ironic_reservations import errors
from ironic_reservations import faults
from ironic_reservations.api import log_text
from ironic_reservations.api import wsgi
from ironic_reservations.api.middleware import errors as api_errors
from ironic_reservations.guard import identity

LOG = log.getLogger(__name__)


def refuse(exc: Exception, environ: wsgi.Environ
           ) -> tuple[errors.ReservationError, wsgi.Answer]:
    """Return the error to count and the answer to send.

    :param exc: the reason; an unexpected exception is logged as a bug.
    """
    identity.know_request(environ)
    request_id = environ[identity.REQUEST_ID]
    # The thread has the context of the last request that Ironic has answered,
    # which may be one of ours.
    before = oslo_context.get_current()
    oslo_context.RequestContext(
        request_id=request_id,
        global_request_id=environ.get(identity.GLOBAL_REQUEST_ID))
    try:
        error = api_errors.translated(exc, environ)
        LOG.info('[%s] The guard refused %s %s: %s', request_id,
                 log_text.quoted(environ.get('REQUEST_METHOD')),
                 log_text.path(environ), error.code)
    finally:
        # A context cannot be deleted, so an empty one replaces that of the
        # request.
        (before or oslo_context.RequestContext()).update_store()
    status, body = faults.render(error, request_id)
    return error, wsgi.Answer(status, [
        *api_errors.retry_after(error, environ),
        ('Content-Type', 'application/json'),
        ('Content-Length', str(len(body))),
        ('X-OpenStack-Request-ID', request_id),
        ('OpenStack-Request-ID', request_id)], body)
