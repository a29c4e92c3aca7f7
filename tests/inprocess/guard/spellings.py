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


"""Requests that could take a node, in canonical and other spellings.

Each of them reaches, in Ironic 39 on pecan 1.8, the code that deploys, binds
or allocates; a test asks Ironic's own routing.  About half of them take the
node there; only checks of arguments stop the others, such as a parameter named
"_method" that no function has.  Another test sends them to a running Ironic
with a reserved node.
"""

from __future__ import annotations

import dataclasses
import functools
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
    """A request on the wire.

    :ivar path: percent-decoded.
    :ivar version: the version of Ironic's API.
    :ivar wire: whether a client can send it so; the other requests need a
        tolerant server.
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
        """Return the same request for another node."""
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

_deploy = functools.partial(Spelling, method='PUT', path=_PROVISION,
                            body=_DEPLOY)
_bind = functools.partial(Spelling, method='PATCH', path=f'/v1/nodes/{NODE}',
                          body=_BIND)
_allocate = functools.partial(Spelling, method='POST', path='/v1/allocations',
                              body=_ALLOCATE)
_form = functools.partial(Spelling, method='POST', path=_STATES,
                          body=b'_method=provision&target=active',
                          content_type=_FORM)


#: Requests that pass with a proof.
CANONICAL = (
    _deploy('deploy'),
    _deploy('deploy_by_name', path=f'/v1/nodes/{NAME}/states/provision'),
    _deploy('deploy_without_v1', path=f'/nodes/{NODE}/states/provision'),
    _deploy('deploy_with_slash', path=_PROVISION + '/'),
    _bind('bind'),
    _bind('bind_by_name', path=f'/v1/nodes/{NAME}'),
    _bind('bind_without_v1', path=f'/nodes/{NODE}'),
    _bind('bind_with_slash', path=f'/v1/nodes/{NODE}/'),
    _allocate('allocate'),
    _allocate('allocate_by_name',
              body=_ALLOCATE.replace(NODE.encode(), NAME.encode())),
    _allocate('allocate_with_slash', path='/v1/allocations/'),
    _allocate('allocate_without_v1', path='/allocations'),
)

#: Requests that are refused to everybody.
OTHERS = (
    # The place of the node or the target.
    Spelling('target_in_query', 'PUT', _PROVISION, 'target=active'),
    Spelling('target_in_path', 'PUT', _PROVISION + '/active'),
    Spelling('target_before', 'PUT', f'/v1/nodes/{NODE}/active/states'
             '/provision'),
    _deploy('query_besides', query='x=1'),
    Spelling('ident_in_query', 'PUT', '/v1/nodes/states/provision',
             _ELSEWHERE),
    Spelling('ident_in_body', 'PUT', '/v1/nodes/states/provision',
             body=b'{"node_ident": "%s", "target": "active"}'
             % NODE.encode()),
    Spelling('ident_behind', 'PUT',
             f'/v1/nodes/states/provision/{NODE}/active'),
    _deploy('chassis', path=f'/v1/chassis/nodes/{NODE}/states/provision'),
    Spelling('chassis_in_query', 'PUT',
             '/v1/chassis/nodes/states/provision', _ELSEWHERE),
    Spelling('chassis_of', 'PUT',
             f'/v1/chassis/{NODE}/nodes/active/states/provision'),
    _deploy('below_ports',
            path=f'/v1/nodes/{NODE}/ports/{NODE}/states/provision'),
    # The spelling of the path.
    _deploy('empty_segments', path=f'/v1/nodes//{NODE}//states//provision'),
    _deploy('no_slash_first', path=f'x/v1/nodes/{NODE}/states/provision',
            wire=False),
    _deploy('json_suffix', path=_PROVISION + '.json', version='1.50'),
    _deploy('json_suffix_slashes', path=_PROVISION + '.json//',
            version='1.50'),
    # The declared type of the body.
    _deploy('javascript', content_type='application/javascript'),
    _deploy('form', body=b'target=active', content_type=_FORM),
    _deploy('multipart', body=_fields(target='active'),
            content_type=_MULTIPART),
    _deploy('utf_16', body='{"target": "active"}'.encode('utf-16'),
            content_type=_JSON + '; charset=utf-16'),
    _deploy('utf_7', body=b'{"target": "+AGE-ctive"}',
            content_type=_JSON + '; charset="utf-7"'),
    _deploy('key_twice', body=b'{"target": "provide", "target": "active"}'),
    # The method.
    Spelling('method_is_action', 'PROVISION', _STATES, 'target=active'),
    Spelling('method_parameter', 'GET', _STATES,
             '_method=provision&target=active'),
    Spelling('method_parameter_quoted', 'GET', _STATES,
             '%5Fmeth%6Fd=provision&target=active'),
    Spelling('method_parameter_put', 'HEAD', _PROVISION,
             '_method=put&target=active'),
    _deploy('method_parameter_post', method='POST', query='_method=put'),
    Spelling('method_parameter_delete', 'DELETE', _STATES,
             '_method=provision&target=active'),
    _form('method_in_form'),
    _form('method_in_form_quoted', query='target=active',
          body=b'%5fmethod=provision'),
    _form('method_in_form_of_options', method='OPTIONS'),
    _form('method_in_form_of_delete', method='DELETE'),
    _form('method_in_form_of_no_type', content_type=''),
    _form('method_in_multipart',
          body=_fields(_method='provision', target='active'),
          content_type=_MULTIPART),
    _deploy('method_in_small_letters', method='put'),
    # Attributes of the controllers.
    _deploy('self_of_v1', path='/v1/add_version_attributes/__self__/nodes/'
            f'{NODE}/states/provision'),
    _deploy('self_of_root',
            path=f'/__init__/__self__/v1/nodes/{NODE}/states/provision'),
    Spelling('self_of_nodes', 'PUT',
             f'/v1/nodes/{NODE}/__init__/__self__/active/states/provision'),
    _deploy('self_of_states', path=f'{_STATES}/__init__/__self__/provision'),
    # Instances.
    _bind('bind_ident_in_query', path='/v1/nodes', query=f'node_ident={NODE}'),
    _bind('bind_with_query', query='x=1'),
    _bind('bind_as_text', content_type='text/plain'),
    _bind('bind_as_form', content_type=_FORM),
    _bind('bind_in_utf_16', body=_BIND.decode().encode('utf-16'),
          content_type='text/plain; charset=utf-16'),
    _bind('bind_with_argument', path=f'/v1/nodes/{NODE}/true'),
    _bind('bind_empty_segment', path=f'/v1/nodes//{NODE}'),
    _bind('bind_by_get', method='GET', query='_method=patch'),
    _bind('bind_by_post', method='POST', query='_method=patch'),
    _bind('bind_chassis', path=f'/v1/chassis/nodes/{NODE}'),
    _bind('bind_small_letters', method='patch'),
    _bind('bind_key_twice', body=_BIND.
          replace(b'"op"', b'"path": "/extra/a", "op"')),
    _bind('bind_newline', body=_BIND.
          replace(b'instance_uuid', b'instance_uuid\\n')),
    # Allocations.
    _allocate('allocate_query', query='x=1'),
    _allocate('allocate_argument', path='/v1/allocations/x'),
    _allocate('allocate_suffix', path='/v1/allocations.json', version='1.58'),
    _allocate('allocate_by_get', method='GET', query='_method=post'),
    _allocate('allocate_by_delete', method='DELETE', query='_method=post'),
    _allocate('allocate_small_letters', method='post'),
    _allocate('allocate_below_node',
              path=f'/v1/nodes/{NODE}/allocation/inner'),
    _allocate('allocate_as_form', content_type=_FORM),
    _allocate('allocate_as_text', content_type='text/plain'),
    _allocate('allocate_in_utf_16', body=_ALLOCATE.decode().encode('utf-16'),
              content_type='text/plain; charset=utf-16'),
    _allocate('allocate_key_twice', body=_ALLOCATE.
             replace(b'{', b'{"candidate_nodes": ["other"], ')),
)

#: Requests that Ironic can read in only one way after the guard.
DISARMED = (
    _form('method_in_json_that_is_a_form', method='PATCH',
          body=b'[{"op": "remove", "path": "/extra&_method=provision'
          b'&target=active&"}]'),
)
