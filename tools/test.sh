#!/usr/bin/env bash
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

# Run the gate: ./tools/test.sh
# Some tests: ./tools/test.sh tests.unit (it takes what "stestr run" takes).
# Tests of the gate without MariaDB and PostgreSQL: --without-servers
# The long run, or pieces of it: ./tools/test.sh --all --all=cloud,storms
#
# The last line says how many passed, failed and were skipped; the exit code
# is 0 only where some ran and none failed.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ " $* " =~ \ (-h|--help)\  ]]; then
    # Before anything is installed or imported.
    sed -n '/^# Run the gate/,/^$/s/^# \{0,1\}//p' tools/test.sh
    exit
fi
# shellcheck source=tools/venv.sh
source tools/venv.sh
install_environment py3
exec .tox/py3/bin/python -m tools.run_tests "$@"
