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


"""Media types: how Ironic would parse a body."""

from __future__ import annotations

from urllib import parse

from ironic_reservations import errors

JSON = 'application/json'
_PATCH_TYPES = frozenset((JSON, 'application/json-patch+json'))
_UTF_8 = frozenset(('utf-8', 'utf8'))


def _name(content_type: str) -> str:
    return content_type.partition(';')[0].strip().lower()


def may_be_form(content_type: str, method: str) -> bool:
    """Return whether Ironic could parse a body as a form.

    NOTE: webob does so for a POST without a Content-Type, and for any method
    with the Content-Type of a form.
    """
    name = _name(content_type)
    return 'form' in name or name.startswith('multipart') or (
        not name and method == 'POST')


def is_json(content_type: str) -> bool:
    """Check whether a body is plainly JSON in UTF-8."""
    return _name(content_type) == JSON and is_utf_8(content_type)


def is_json_patch(content_type: str) -> bool:
    """Check whether a body is plainly JSON or a JSON patch in UTF-8."""
    return _name(content_type) in _PATCH_TYPES and is_utf_8(content_type)


def is_utf_8(content_type: str) -> bool:
    """Check whether no other encoding than UTF-8 is named."""
    parameters = content_type.partition(';')[2]
    if 'charset' not in parameters.lower():
        return True
    named = [part.partition('=') for part in parameters.split(';')
             if 'charset' in part.lower()]
    return all(name.strip().lower() == 'charset'
               and value.strip().strip('"\'').lower() in _UTF_8
               for name, _, value in named)


def check_form(content_type: str, body: bytes) -> None:
    """Refuse a form that may override the method of its request.

    :raises NotCanonical: the form overrides the method, or may do so.
    """
    if not body:
        return
    if (_name(content_type).startswith('multipart')
            or not is_utf_8(content_type)
            or b'_method' in parse.unquote_to_bytes(
                body.replace(b'+', b' '))):
        raise errors.NotCanonical(
            'The body is a form, which could change the method of the '
            'request. Send it as JSON, with Content-Type application/json.')
