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

# A lease whose dates are open makes room for another one, on one host.
set -eu

# begin ask
baremetal reservation lease create anytime --resource-class gold \
    --between +3d +14d --duration 3d
# end ask

# begin room
baremetal reservation lease create talk --resource-class gold \
    --start-date +4d --duration 4h
baremetal reservation lease plan anytime
# end room

# begin window
baremetal reservation lease set anytime --between +3d +30d --duration 4d
# end window

# begin fix
baremetal reservation lease set anytime --extend 1h
baremetal reservation lease show anytime -c between -c fixed -f json
# end fix

# begin end
baremetal reservation lease delete anytime talk
# end end
