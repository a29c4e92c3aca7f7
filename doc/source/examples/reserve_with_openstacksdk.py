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


"""Reserve any node of a resource class, and deploy it."""

import sys

import openstack
from openstack import exceptions

from ironic_reservations_client import sdk

# begin connect
conn = openstack.connect()
# end connect

# begin reserve
held = sdk.reserve(conn, resource_class=sys.argv[1], ttl=900, wait=60)
print(f'{held.id} holds {held.node_id} until {held.expires_at}')
# end reserve

# begin refused
try:
    sdk.reserve(conn, [held.node_id])
except exceptions.ConflictException as refusal:
    print(refusal)
# end refused

# begin deploy
sdk.renew(conn, held, ttl=1800)
node = sdk.deploy(conn, held, wait=True, timeout=120)
print(node.provision_state)
# end deploy

# begin list
for found in sdk.reservations(conn):
    print(found.id, found.node_id, found.state)
# end list

# begin release
sdk.release(conn, held)
# end release
