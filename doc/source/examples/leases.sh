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

# The life of a lease: hosts gold-0 and gold-1, and later gold-2.
set -eu

# begin hosts
baremetal reservation host import gold-0 gold-1 --property rack=r1
# end hosts

# begin free
baremetal reservation availability --resource-class gold --until +14d \
    --hosts 2 --duration 4h
# end free

# begin try
baremetal reservation lease create training --hosts 2 --resource-class gold \
    --start-date +1d --duration 4h --dry-run
# end try

# begin book
baremetal reservation lease create training --hosts 2 --resource-class gold \
    --duration 4h
# end book

# begin refused
baremetal reservation lease create rush --resource-class gold \
    --start-date +2h --duration 1h || echo "exit status $?"
# end refused

# begin offer
baremetal reservation lease create rush --resource-class gold \
    --start-date +2h --duration 1h --accept later
# end offer

# begin start
baremetal reservation lease plan training --wait 120
# end start

# begin deploy
baremetal reservation deploy training --all --wait 120
# end deploy

# begin more
baremetal reservation host import --resource-class gold
# end more

# begin extend
baremetal reservation lease set training --extend 2h
baremetal reservation lease plan rush
# end extend

# begin back
baremetal reservation lease set training --give-back gold-1
# end back

# begin heal
baremetal reservation lease set training --heal
# end heal

# begin blazar
blazar --os-endpoint "$OS_ENDPOINT/v1" lease-list
blazar --os-endpoint "$OS_ENDPOINT/v1" lease-update rush --prolong-for 1h
# end blazar

# begin end
baremetal reservation lease list --long
baremetal reservation lease delete rush training
# end end
