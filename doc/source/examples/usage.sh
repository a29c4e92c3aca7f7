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

# What the leases of a project had, in several forms.
set -eu

# begin usage
baremetal reservation usage
baremetal reservation usage --first-day 2026-03-01 --last-day 2026-03-31 --by class
baremetal reservation usage --by day -f csv
# end usage
