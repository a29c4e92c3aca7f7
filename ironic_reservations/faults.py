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

"""Serializes errors, in the same form for the API and the guard."""

from __future__ import annotations

import http
import json
from typing import Any

from ironic_reservations import errors


def render(error: errors.ReservationError, request_id: str | None = None,
           with_details: bool = True) -> tuple[int, bytes]:
    """Return the HTTP status and the body for an error.

    ``error_message`` has the format of Ironic, which python-ironicclient and
    openstacksdk read. ``errors`` has the format of the API working group, and
    contains the code of the error.

    :param error: the error.
    :param request_id: the id under which the log has details.
    :param with_details: whether the structured details (the reasons of each
        node) are added; API versions below 1.4 do not have them.
    :returns: (status, JSON in UTF-8).
    """
    sentence = str(error)
    fault = {'faultcode': 'Client' if error.status < 500 else 'Server',
             'faultstring': sentence, 'debuginfo': None}
    entry = _entry(error, request_id)
    if with_details:
        entry.update(error.details)
    body = {'error_message': json.dumps(fault), 'errors': [entry]}
    return error.status, json.dumps(body).encode()


def render_as_blazar(error: errors.ReservationError,
                     request_id: str | None = None,
                     with_details: bool = True) -> tuple[int, bytes]:
    """Return the HTTP status and the body of an error for clients of Blazar.

    The keys that begin with ``error_`` are Blazar's; in Blazar, too,
    ``error_name`` is a number. The other keys are ours, and have the details.

    :param error: the error.
    :param request_id: the id under which the log has details.
    :param with_details: whether the structured details are added.
    :returns: (status, JSON in UTF-8).
    """
    body = {'error_code': error.status, 'error_message': str(error),
            'error_name': error.status, 'code': error.code,
            'request_id': request_id,
            'details': error.details if with_details else {},
            'errors': [_entry(error, request_id)]}
    return error.status, json.dumps(body).encode()


def _entry(error: errors.ReservationError,
           request_id: str | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        'status': error.status, 'code': error.code,
        'title': http.HTTPStatus(error.status).phrase, 'detail': str(error)}
    if request_id:
        entry['request_id'] = request_id
    return entry
