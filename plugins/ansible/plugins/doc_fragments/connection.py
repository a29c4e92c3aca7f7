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


"""Documentation of the options that all modules have."""

from __future__ import annotations


class ModuleDocFragment:
    """The options of a connection, the same as in openstack.cloud."""

    DOCUMENTATION = r'''
options:
  cloud:
    description:
      - Name of a cloud in C(clouds.yaml), or a dictionary with what would
        stand there.
      - Without it, and without O(auth), the variables C(OS_*) count.
    type: raw
  auth:
    description:
      - What the authentication plugin needs, such as C(auth_url),
        C(username), C(password) and C(project_name); C(endpoint) for a
        service without authentication.
    type: dict
  auth_type:
    description:
      - Name of the authentication plugin, such as V(password), V(http_basic)
        or V(none).
    type: str
  region_name:
    description: Name of the region.
    type: str
  interface:
    description: Which endpoint of the catalog to use.
    type: str
    choices: [public, internal, admin]
    default: public
    aliases: [endpoint_type]
  validate_certs:
    description: Whether certificates of servers are verified.
    type: bool
    aliases: [verify]
  ca_cert:
    description: Path to a bundle of certificates of authorities.
    type: str
    aliases: [cacert]
  client_cert:
    description: Path to a certificate of the client.
    type: str
    aliases: [cert]
  client_key:
    description: Path to the key of that certificate.
    type: str
    aliases: [key]
  api_timeout:
    description: How many seconds an answer may take.
    type: int
requirements:
  - python >= 3.11
  - ironic-reservations-client
  - openstacksdk
'''
