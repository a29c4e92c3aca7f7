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

"""HTTP basic authentication against an htpasswd file."""

from __future__ import annotations

from collections.abc import Iterable
import json

from oslo_middleware import basic_auth
import webob.exc

from ironic_reservations.api import wsgi


class BasicAuth:
    """Authenticates users of the file, and stores who they are.

    NOTE: oslo.middleware's own class is not used: it reads its option from the
    global configuration, and treats errors of the application as a wrong
    password.

    :param path: an Apache htpasswd file with bcrypt hashes.
    :raises oslo_middleware.exceptions.ConfigInvalid: there is no such file.
    """

    def __init__(self, application: wsgi.Application, path: str) -> None:
        basic_auth.validate_auth_file(path)
        self._application = application
        self._path = path

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        try:
            user, password = basic_auth.parse_token(
                basic_auth.parse_header(environ))
            who = basic_auth.authenticate(self._path, user, password)
        except (webob.exc.HTTPException, ValueError) as exc:
            return _refusal(exc).send(start_response)
        environ.update(who)
        return self._application(environ, start_response)


def _refusal(exc: Exception) -> wsgi.Answer:
    sentence = getattr(exc, 'detail', None) or (
        'The request carries no valid credentials.')
    body = json.dumps({'error': {'message': sentence, 'code': 401}}).encode()
    return wsgi.Answer(401, [
        ('WWW-Authenticate', 'Basic realm="Baremetal API"'),
        ('Content-Type', 'application/json'),
        ('Content-Length', str(len(body)))], body)
