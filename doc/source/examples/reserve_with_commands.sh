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


# Reserve one of the nodes named on the command line, and deploy it.
set -eu

# begin reserve
reservation=$(baremetal reservation create "$@" --ttl 900 -f value -c uuid)
baremetal reservation show "$reservation"
# end reserve

# begin refused
node=$(baremetal reservation show "$reservation" -f value -c node_uuid)
baremetal reservation create "$node" || echo "refused, as it should be"
# end refused

# begin renew
baremetal reservation renew "$reservation" --ttl 1800
baremetal reservation list --node "$node"
# end renew

# begin deploy
baremetal reservation deploy "$reservation" --wait 120
# end deploy

# begin delete
baremetal reservation delete "$reservation"
# end delete
