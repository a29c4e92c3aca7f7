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


"""Lease hosts of the class named on the command line, and end the lease."""

import datetime
import os
import sys

from ironicclient import client

from ironic_reservations_client import availability
from ironic_reservations_client import errors
from ironic_reservations_client import lease
from ironic_reservations_client import lease_payload

kind = sys.argv[1]

# begin connect
ironic = client.get_client('1', endpoint=os.environ['OS_ENDPOINT'],
                           os_ironic_api_version='1.95')
leases = lease.LeaseManager(ironic)
# end connect

# begin free
found = availability.AvailabilityManager(ironic).get(
    resource_class=kind, hosts=2, duration=4 * 3600)
print(f'2 hosts for 4 hours: from {found.earliest} on')
for each in found.classes:
    for span in each['spans']:
        print(f"{span['start_date']} {span['free']} of {each['hosts']} free")
# end free

# begin lease
start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
end = start + datetime.timedelta(hours=4)
two = lease_payload.hosts(2, resource_class=kind)
held = leases.create('training', end, [two], start=start)
print(f'{held.id} is {held.status}, with {len(held.node_uuids)} nodes')
# end lease

# begin refused
try:
    leases.create('rush', end, [two], start=start, dry_run=True)
except errors.Conflict as refusal:
    print(refusal.code)
    for reason in refusal.reasons:
        print(reason['detail'])
    offer = next(each for each in refusal.offers if each['kind'] == 'later')
    taken = leases.post(offer['lease'])
    print(f'{taken.name} starts at {taken.start_date}')
# end refused

# begin change
longer = leases.change(taken.id, end=datetime.datetime.fromisoformat(
    taken.end_date) + datetime.timedelta(hours=1))
print(f'{longer.name} ends at {longer.end_date}')
# end change

# begin end
leases.delete(taken.id)
leases.delete(held.id)
# end end
