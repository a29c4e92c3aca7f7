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

"""Records requests in the audit trail."""

from __future__ import annotations

from typing import Any
from urllib import parse

from ironic_reservations.api import identity
from ironic_reservations.api import wsgi
from ironic_reservations.api.types import basic
from ironic_reservations.engine import audit_trail

_ACTIONS = {'POST': 'create', 'PUT': 'update', 'PATCH': 'update',
            'DELETE': 'delete'}
_KINDS = {'reservations': 'reservation', 'leases': 'lease',
          'os-hosts': 'host', 'calendar': 'calendar_token',
          'maintenances': 'maintenance'}
_UNKNOWN = 'unknown'


def record(events: audit_trail.AuditTrail, environ: wsgi.Environ,
           answer: wsgi.Answer, code: str | None) -> None:
    """Record a request that changes something.

    Unauthenticated requests are not recorded, since anybody could fill the log
    with them.

    :param code: the code of the refusal, if the request was refused.
    """
    action = _ACTIONS.get(environ['REQUEST_METHOD'])
    who = environ.get(identity.KEY)
    if action is None or who is None or not events.wanted:
        return
    if _is_dry_run(environ.get('QUERY_STRING', '')):
        return
    names = [name for name in environ.get('PATH_INFO', '').split('/') if name]
    kind = _KINDS.get(names[1] if len(names) > 1 else '')
    if kind is None:
        return
    if kind == 'calendar_token':
        # A token has no id, so the id of its user is used.
        names[2:] = [who.user_id or _UNKNOWN]
    if kind == 'host' and names[2:3] == ['properties'] and len(names) > 3:
        kind = 'host_property'
        del names[2]
    ident = names[2] if len(names) > 2 else _made(answer)
    if kind == 'reservation' and ident != _UNKNOWN:
        ident = audit_trail.digest(ident)
    events.record(audit_trail.Way.API, action, kind, ident[:255], who,
                  answer.status, code, environ.get('REMOTE_ADDR'),
                  f'{environ["REQUEST_METHOD"]} /v1/{names[1]}')


def _is_dry_run(query: str) -> bool:
    """Return whether a query requests a dry run, as handlers parse it."""
    for name, value in parse.parse_qsl(query):
        if name == 'dry_run':
            try:
                return basic.to_flag(value)
            except ValueError:
                return False
    return False


def _made(answer: wsgi.Answer) -> str:
    location: Any = next((value for name, value in answer.headers
                          if name.lower() == 'location'), None)
    return str(location).rpartition('/')[2] if location else _UNKNOWN
