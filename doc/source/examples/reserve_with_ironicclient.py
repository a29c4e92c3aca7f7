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


"""Reserve one of the nodes named on the command line, and deploy it."""

import os
import sys

from ironicclient import client

from ironic_reservations_client import errors
from ironic_reservations_client import reservation

# begin connect
ironic = client.get_client('1', endpoint=os.environ['OS_ENDPOINT'],
                           os_ironic_api_version='1.95')
reservations = reservation.ReservationManager(ironic)
# end connect

nodes = [ironic.node.get(name, fields=['uuid']).uuid
         for name in sys.argv[1:]]

# begin reserve
held = reservations.create(
    instance_uuid='0d6f0c1e-6f0c-4a5f-9f0a-2f1f6a1f7c11', node_uuid=nodes,
    ttl=900)
print(f'{held.uuid} holds {held.node_uuid} until {held.expires_at}')
# end reserve

# begin refused
try:
    reservations.create(
        instance_uuid='7c1b8a52-6a53-4d52-8f1c-5d8ad6a0b6f2',
        node_uuid=[held.node_uuid])
except errors.Conflict as refusal:
    print(refusal.code)
    for reason in refusal.reasons:
        print(reason['node_uuid'], reason['code'], reason['detail'])
# end refused

# begin renew
reservations.renew(held.uuid, ttl=1800)
for found in reservations.list(node=held.node_uuid):
    print(f'{found.uuid} is {found.state} until {found.expires_at}')
# end renew

# begin deploy
reservations.deploy(held.uuid, wait=120)
print(ironic.node.get(held.node_uuid).provision_state)
# end deploy

# begin delete
reservations.delete(held.uuid)
# end delete
