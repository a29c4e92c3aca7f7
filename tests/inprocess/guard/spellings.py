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


"""Ways in which a node could be taken, in the canonical spelling and others.

Each of them reaches, in Ironic 39 on pecan 1.8, the code that deploys, binds
or allocates; a test asks Ironic's own routing.  About half of them take the
node there; the others are stopped by nothing but the checks of arguments, such
as that no function knows one named "_method".  Another test sends them to an
Ironic that runs, with a node that is reserved.
"""

from __future__ import annotations

import dataclasses
import json

NODE = 'aaaaaaaa-2222-3333-4444-555555555555'
NAME = 'rack-1'
INSTANCE = '99999999-2222-3333-4444-555555555555'

_JSON = 'application/json'
_FORM = 'application/x-www-form-urlencoded'
_MULTIPART = 'multipart/form-data; boundary=b'
_DEPLOY = b'{"target": "active"}'
_BIND = json.dumps([{'op': 'add', 'path': '/instance_uuid',
                     'value': INSTANCE}]).encode()
_ALLOCATE = json.dumps({'resource_class': 'gold',
                        'candidate_nodes': [NODE]}).encode()


@dataclasses.dataclass(frozen=True)
class Spelling:
    """A request as it goes over the wire.

    :ivar path: percent-decoded.
    :ivar version: of Ironic's API.
    :ivar wire: whether a client can send it so; the rest needs a server
        that is lenient itself.
    """

    name: str
    method: str
    path: str
    query: str = ''
    body: bytes = b''
    content_type: str = _JSON
    version: str = '1.109'
    wire: bool = True

    def about(self, uuid: str, name: str) -> Spelling:
        """Write the same about another node."""
        def swap(text: str) -> str:
            return text.replace(NODE, uuid).replace(NAME, name)
        body = self.body
        if NODE.encode() in body or NAME.encode() in body:
            body = swap(body.decode()).encode()
        elif NODE.encode('utf-16-le') in body:
            body = swap(body.decode('utf-16')).encode('utf-16')
        return dataclasses.replace(self, path=swap(self.path),
                                   query=swap(self.query), body=body)


def _fields(**values: str) -> bytes:
    return b''.join(
        b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
        % (name.encode(), value.encode())
        for name, value in values.items()) + b'--b--\r\n'


_STATES = f'/v1/nodes/{NODE}/states'
_PROVISION = f'{_STATES}/provision'
_ELSEWHERE = f'node_ident={NODE}&target=active'

#: What is let through with a proof.
CANONICAL = (
    Spelling('deploy', 'PUT', _PROVISION, body=_DEPLOY),
    Spelling('deploy_by_name', 'PUT',
             f'/v1/nodes/{NAME}/states/provision', body=_DEPLOY),
    Spelling('deploy_without_v1', 'PUT',
             f'/nodes/{NODE}/states/provision', body=_DEPLOY),
    Spelling('deploy_with_slash', 'PUT', _PROVISION + '/', body=_DEPLOY),
    Spelling('bind', 'PATCH', f'/v1/nodes/{NODE}', body=_BIND),
    Spelling('bind_by_name', 'PATCH', f'/v1/nodes/{NAME}', body=_BIND),
    Spelling('bind_without_v1', 'PATCH', f'/nodes/{NODE}', body=_BIND),
    Spelling('bind_with_slash', 'PATCH', f'/v1/nodes/{NODE}/', body=_BIND),
    Spelling('allocate', 'POST', '/v1/allocations', body=_ALLOCATE),
    Spelling('allocate_by_name', 'POST', '/v1/allocations',
             body=_ALLOCATE.replace(NODE.encode(), NAME.encode())),
    Spelling('allocate_with_slash', 'POST', '/v1/allocations/',
             body=_ALLOCATE),
    Spelling('allocate_without_v1', 'POST', '/allocations', body=_ALLOCATE),
)

#: What is refused, whoever sends it.
OTHERS = (
    # Where the node or the target is.
    Spelling('target_in_query', 'PUT', _PROVISION, 'target=active'),
    Spelling('target_in_path', 'PUT', _PROVISION + '/active'),
    Spelling('target_before', 'PUT', f'/v1/nodes/{NODE}/active/states'
             '/provision'),
    Spelling('query_besides', 'PUT', _PROVISION, 'x=1', _DEPLOY),
    Spelling('ident_in_query', 'PUT', '/v1/nodes/states/provision',
             _ELSEWHERE),
    Spelling('ident_in_body', 'PUT', '/v1/nodes/states/provision',
             body=b'{"node_ident": "%s", "target": "active"}'
             % NODE.encode()),
    Spelling('ident_behind', 'PUT',
             f'/v1/nodes/states/provision/{NODE}/active'),
    Spelling('chassis', 'PUT', f'/v1/chassis/nodes/{NODE}/states/provision',
             body=_DEPLOY),
    Spelling('chassis_in_query', 'PUT',
             '/v1/chassis/nodes/states/provision', _ELSEWHERE),
    Spelling('chassis_of', 'PUT',
             f'/v1/chassis/{NODE}/nodes/active/states/provision'),
    Spelling('below_ports', 'PUT',
             f'/v1/nodes/{NODE}/ports/{NODE}/states/provision',
             body=_DEPLOY),
    # How the path is written.
    Spelling('empty_segments', 'PUT', f'/v1/nodes//{NODE}//states//provision',
             body=_DEPLOY),
    Spelling('no_slash_first', 'PUT', f'x/v1/nodes/{NODE}/states/provision',
             body=_DEPLOY, wire=False),
    Spelling('json_suffix', 'PUT', _PROVISION + '.json', body=_DEPLOY,
             version='1.50'),
    Spelling('json_suffix_slashes', 'PUT', _PROVISION + '.json//',
             body=_DEPLOY, version='1.50'),
    # What the body is said to be.
    Spelling('javascript', 'PUT', _PROVISION, body=_DEPLOY,
             content_type='application/javascript'),
    Spelling('form', 'PUT', _PROVISION, body=b'target=active',
             content_type=_FORM),
    Spelling('multipart', 'PUT', _PROVISION, body=_fields(target='active'),
             content_type=_MULTIPART),
    Spelling('utf_16', 'PUT', _PROVISION,
             body='{"target": "active"}'.encode('utf-16'),
             content_type=_JSON + '; charset=utf-16'),
    Spelling('utf_7', 'PUT', _PROVISION,
             body=b'{"target": "+AGE-ctive"}',
             content_type=_JSON + '; charset="utf-7"'),
    Spelling('key_twice', 'PUT', _PROVISION,
             body=b'{"target": "provide", "target": "active"}'),
    # Which method it is.
    Spelling('method_is_action', 'PROVISION', _STATES, 'target=active'),
    Spelling('method_parameter', 'GET', _STATES,
             '_method=provision&target=active'),
    Spelling('method_parameter_quoted', 'GET', _STATES,
             '%5Fmeth%6Fd=provision&target=active'),
    Spelling('method_parameter_put', 'HEAD', _PROVISION,
             '_method=put&target=active'),
    Spelling('method_parameter_post', 'POST', _PROVISION, '_method=put',
             _DEPLOY),
    Spelling('method_parameter_delete', 'DELETE', _STATES,
             '_method=provision&target=active'),
    Spelling('method_in_form', 'POST', _STATES,
             body=b'_method=provision&target=active', content_type=_FORM),
    Spelling('method_in_form_quoted', 'POST', _STATES, 'target=active',
             b'%5fmethod=provision', content_type=_FORM),
    Spelling('method_in_form_of_options', 'OPTIONS', _STATES,
             body=b'_method=provision&target=active', content_type=_FORM),
    Spelling('method_in_form_of_delete', 'DELETE', _STATES,
             body=b'_method=provision&target=active', content_type=_FORM),
    Spelling('method_in_form_of_no_type', 'POST', _STATES,
             body=b'_method=provision&target=active', content_type=''),
    Spelling('method_in_multipart', 'POST', _STATES,
             body=_fields(_method='provision', target='active'),
             content_type=_MULTIPART),
    Spelling('method_in_small_letters', 'put', _PROVISION, body=_DEPLOY),
    # By way of attributes of the controllers.
    Spelling('self_of_v1', 'PUT',
             '/v1/add_version_attributes/__self__/nodes/'
             f'{NODE}/states/provision', body=_DEPLOY),
    Spelling('self_of_root', 'PUT',
             f'/__init__/__self__/v1/nodes/{NODE}/states/provision',
             body=_DEPLOY),
    Spelling('self_of_nodes', 'PUT',
             f'/v1/nodes/{NODE}/__init__/__self__/active/states/provision'),
    Spelling('self_of_states', 'PUT',
             f'{_STATES}/__init__/__self__/provision', body=_DEPLOY),
    # Instances.
    Spelling('bind_ident_in_query', 'PATCH', '/v1/nodes',
             f'node_ident={NODE}', _BIND),
    Spelling('bind_with_query', 'PATCH', f'/v1/nodes/{NODE}', 'x=1', _BIND),
    Spelling('bind_as_text', 'PATCH', f'/v1/nodes/{NODE}', body=_BIND,
             content_type='text/plain'),
    Spelling('bind_as_form', 'PATCH', f'/v1/nodes/{NODE}', body=_BIND,
             content_type=_FORM),
    Spelling('bind_in_utf_16', 'PATCH', f'/v1/nodes/{NODE}',
             body=_BIND.decode().encode('utf-16'),
             content_type='text/plain; charset=utf-16'),
    Spelling('bind_with_argument', 'PATCH', f'/v1/nodes/{NODE}/true',
             body=_BIND),
    Spelling('bind_empty_segment', 'PATCH', f'/v1/nodes//{NODE}',
             body=_BIND),
    Spelling('bind_by_get', 'GET', f'/v1/nodes/{NODE}', '_method=patch',
             _BIND),
    Spelling('bind_by_post', 'POST', f'/v1/nodes/{NODE}', '_method=patch',
             _BIND),
    Spelling('bind_chassis', 'PATCH', f'/v1/chassis/nodes/{NODE}',
             body=_BIND),
    Spelling('bind_small_letters', 'patch', f'/v1/nodes/{NODE}',
             body=_BIND),
    Spelling('bind_key_twice', 'PATCH', f'/v1/nodes/{NODE}', body=_BIND.
             replace(b'"op"', b'"path": "/extra/a", "op"')),
    Spelling('bind_newline', 'PATCH', f'/v1/nodes/{NODE}', body=_BIND.
             replace(b'instance_uuid', b'instance_uuid\\n')),
    # Allocations.
    Spelling('allocate_query', 'POST', '/v1/allocations', 'x=1', _ALLOCATE),
    Spelling('allocate_argument', 'POST', '/v1/allocations/x',
             body=_ALLOCATE),
    Spelling('allocate_suffix', 'POST', '/v1/allocations.json',
             body=_ALLOCATE, version='1.58'),
    Spelling('allocate_by_get', 'GET', '/v1/allocations', '_method=post',
             _ALLOCATE),
    Spelling('allocate_by_delete', 'DELETE', '/v1/allocations',
             '_method=post', _ALLOCATE),
    Spelling('allocate_small_letters', 'post', '/v1/allocations',
             body=_ALLOCATE),
    Spelling('allocate_below_node', 'POST',
             f'/v1/nodes/{NODE}/allocation/inner', body=_ALLOCATE),
    Spelling('allocate_as_form', 'POST', '/v1/allocations', body=_ALLOCATE,
             content_type=_FORM),
    Spelling('allocate_as_text', 'POST', '/v1/allocations', body=_ALLOCATE,
             content_type='text/plain'),
    Spelling('allocate_in_utf_16', 'POST', '/v1/allocations',
             body=_ALLOCATE.decode().encode('utf-16'),
             content_type='text/plain; charset=utf-16'),
    Spelling('allocate_key_twice', 'POST', '/v1/allocations', body=_ALLOCATE.
             replace(b'{', b'{"candidate_nodes": ["other"], ')),
)

#: What is passed on as something that Ironic reads in one way only.
DISARMED = (
    Spelling('method_in_json_that_is_a_form', 'PATCH', _STATES,
             body=b'[{"op": "remove", "path": "/extra&_method=provision'
             b'&target=active&"}]', content_type=_FORM),
)
