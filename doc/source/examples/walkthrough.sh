#!/bin/sh
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


# Reserve one of node-0 and node-1, deploy it, and free it again.
set -eu

# begin reserve
instance=ef1896b0-a794-425e-9396-e7557ad1bf61
baremetal reservation create node-0 node-1 --instance $instance --ttl 900
# end reserve

# begin again
baremetal reservation create node-0 node-1 --instance $instance -f value -c uuid
# end again

# begin second
baremetal reservation create node-0 || echo "exit status $?"
# end second

# begin unproven
baremetal node deploy node-0 || echo "exit status $?"
# end unproven

# begin keep
reservation=$(baremetal reservation list --instance $instance -f value -c uuid)
baremetal reservation renew $reservation --ttl 1800 -f value -c expires_at
# end keep

# begin deploy
baremetal reservation deploy $reservation --wait 120
baremetal reservation show $reservation --fields state expires_at
# end deploy

# begin free
baremetal node undeploy node-0 --wait 120
# end free

# begin listed
baremetal node list --provision-state available --unassociated
# end listed
