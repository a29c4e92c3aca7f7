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

# Run the tests, all of them or those selected: ./tools/test.sh tests.unit
#
# Takes what "stestr run" takes. The last line says how many passed, failed
# and were skipped; the exit code is 0 only where some ran and none failed.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/venv.sh
source tools/venv.sh
install_environment

# The number of the run before, since one that breaks down leaves none.
last_run() { cat .stestr/next-stream 2>/dev/null || echo 0; }
before=$(last_run)

status=0
.venv/bin/tox run -q -e py3 --skip-pkg-install -- "$@" || status=$?

if [ "$(last_run)" = "$before" ]; then
    echo "No results: no test matches, or one cannot be imported" \
        "(tox ended with $status)." >&2
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
counted=0
.tox/py3/bin/stestr last --subunit \
    | .tox/py3/bin/python -m tools.summary || counted=$?
[ "$status" -eq 0 ] && [ "$counted" -eq 0 ]
