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

# The nodes of a class are booked for maintenance, and given back early.
set -eu

# begin try
baremetal reservation maintenance create firmware --resource-class copper \
    --reason "New firmware" --duration 4h --dry-run
# end try

# begin book
window=$(baremetal reservation maintenance create firmware \
    --resource-class copper --reason "New firmware" --duration 4h \
    -f value -c uuid)
baremetal reservation maintenance list
# end book

# begin wait
until baremetal reservation maintenance show "$window" -f value -c nodes |
        grep active; do sleep 1; done
baremetal node show copper-0 -c maintenance -c maintenance_reason
# end wait

# begin end
baremetal reservation maintenance delete "$window"
until baremetal reservation maintenance show "$window" -f value -c state |
        grep over; do sleep 1; done
baremetal node show copper-0 -c maintenance -c maintenance_reason
# end end
