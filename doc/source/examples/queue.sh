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

# A lease that does not fit is queued, and starts earlier, on one host.
set -eu

# begin queue
baremetal reservation lease create first --resource-class gold \
    --start-date +1d --duration 8h
baremetal reservation lease create second --resource-class gold \
    --start-date +1d --duration 2h --queue
# end queue

# begin earlier
baremetal reservation lease delete first
# end earlier

# begin show
baremetal reservation lease show second -c queued -c promised_start -f json
# end show

# begin end
baremetal reservation lease delete second
# end end
