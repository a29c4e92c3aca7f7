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


# Reserve a node (its UUID is the argument) with the old command.
set -eu

# begin old
instance=5f0c2a38-9d1e-4b52-a0f3-8f3f1b0f6f4e
ironic reservation-create "$1" "$instance"
ironic reservation-list
uuid=$(ironic --json reservation-list \
    | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["uuid"])')
ironic reservation-show "$uuid"
ironic reservation-delete "$uuid"
# end old
