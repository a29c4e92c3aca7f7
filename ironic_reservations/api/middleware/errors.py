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

"""Converts exceptions to answers, without tracebacks."""

from __future__ import annotations

from oslo_log import log
from webob import exc as webob_exc

from ironic_reservations import errors
from ironic_reservations.api import dialects
from ironic_reservations.api import wsgi
from ironic_reservations.db import connection

LOG = log.getLogger(__name__)

#: Part of its User-Agent, which its users cannot change.
_IRONICCLIENT = 'python-ironicclient'

#: Errors that pecan raises itself.
_PECAN = {
    400: (errors.Malformed, 'The request cannot be read.'),
    404: (errors.ResourceNotFound, 'There is nothing at this path.'),
    405: (errors.MethodNotAllowed, 'The method is not served at this path.'),
    406: (errors.NotAcceptable,
          'The Accept header excludes application/json, and nothing else is '
          'served here. Add it to the header, or send no such header.'),
}


def from_pecan(exc: webob_exc.HTTPException) -> errors.ReservationError:
    """Return our error for one of pecan's own."""
    kind, sentence = _PECAN.get(exc.status_int, (None, ''))
    if kind is None:
        return unexpected()
    return kind(sentence)


def unexpected() -> errors.Unexpected:
    """Return the error for a bug."""
    return errors.Unexpected(
        'The service failed because of an unexpected error. Tell the operator '
        'the id of this request, under which the log says more.')


def translated(exc: Exception,
               environ: wsgi.Environ) -> errors.ReservationError:
    """Return the error for the answer, and log unexpected exceptions.

    :param exc: the exception that is being handled.
    """
    if isinstance(exc, errors.ReservationError):
        return exc
    if isinstance(exc, webob_exc.HTTPException):
        return from_pecan(exc)
    if isinstance(exc, connection.Conflict):
        return errors.Contention(
            'Other requests changed the same resources at the same time. '
            'This request has changed nothing; send it again.')
    LOG.error('Request %s failed unexpectedly',
              environ.get('openstack.request_id'), exc_info=exc)
    return unexpected()


def retry_after(error: errors.ReservationError,
                environ: wsgi.Environ) -> list[tuple[str, str]]:
    """Return the header with the time of a retry, if a retry may help.

    :param environ: the request that is refused.
    """
    # NOTE: python-ironicclient fails with a TypeError if an answer has it, and
    # tries 503 again after an interval of its own if it has not.
    if error.retry_after is None or (
            _IRONICCLIENT in environ.get('HTTP_USER_AGENT', '')):
        return []
    return [('Retry-After', str(error.retry_after))]


def answer(error: errors.ReservationError, environ: wsgi.Environ,
           dialect: dialects.Dialect, minor: int | None) -> wsgi.Answer:
    """Return the answer for an error.

    :param dialect: the format of the answer.
    :param minor: the version in use; ``None`` if none could be agreed on.
    """
    status, body = dialect.render(
        error, environ.get('openstack.request_id'),
        minor is None or minor >= dialect.details_since)
    headers = [('Content-Type', 'application/json'),
               ('Content-Length', str(len(body))),
               *retry_after(error, environ)]
    if isinstance(error, errors.MethodNotAllowed):
        headers.append(('Allow', ', '.join(error.details.get('allow', ()))))
    return wsgi.Answer(status, headers, body)
