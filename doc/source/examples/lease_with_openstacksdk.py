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


"""Lease a host of the class named on the command line, and end the lease."""

import os
import sys

import openstack

from ironic_reservations_client import lease_payload
from ironic_reservations_client.sdk import errors
from ironic_reservations_client.sdk import leases

kind = sys.argv[1]

# begin connect
conn = openstack.connect(auth_type='none', endpoint=os.environ['OS_ENDPOINT'])
# end connect

# begin lease
one = lease_payload.hosts(resource_class=kind)
held = leases.lease(conn, 'training', '2050-01-01 12:00', [one],
                    start='2050-01-01 10:00', key='training-2050')
print(f'{held.id} is {held.status}')
# end lease

# begin refused
try:
    leases.lease(conn, 'rush', '2050-01-01 12:00',
                 [lease_payload.hosts(3, resource_class=kind)],
                 start='2050-01-01 11:00')
except errors.Conflict as refusal:
    print(refusal)
# end refused

# begin list
for found in leases.leases(conn):
    print(f'{found.name} from {found.start_date} until {found.end_date}')
# end list

# begin end
leases.end(conn, held)
# end end
