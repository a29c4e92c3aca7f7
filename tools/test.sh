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
# With --stack first, those on a whole cloud as well; with --storm, storms of
# two minutes over each database, after all others.
#
# Takes what "stestr run" takes. The last line says how many passed, failed
# and were skipped; the exit code is 0 only where some ran and none failed.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/venv.sh
source tools/venv.sh

environments=(py3)
storms=()
while :; do
    case "${1:-}" in
        --stack) environments+=(stack) ;;
        --storm) storms=(storm) ;;
        *) break ;;
    esac
    shift
done
install_environment "${environments[@]}"

# Only a run that has been here before knows better.
.tox/py3/bin/python -m tools.durations .ci/durations

# The number of the run before, since one that breaks down leaves none.
last_run() { cat .stestr/next-stream 2>/dev/null || echo 0; }

streams=$(mktemp -d)
trap 'rm -rf "$streams"' EXIT
# Much of what the tests do is to wait, for processes that start and end; but
# each worker has connections to the databases, which have a limit. Another
# "--concurrency" among the arguments comes later, and counts.
cores=$(.tox/py3/bin/python -c 'import os; print(os.cpu_count() or 1)')
workers=$((cores < 4 ? 2 * cores : 8))

# Where the tests have a folder in their name they are looked for there alone:
# to find them all costs the run and each of its workers seconds.
place=()
if [[ $# -eq 1 && $1 =~ ^tests\.(inprocess|processes|unit)(\.[A-Za-z0-9_]+)*$ ]]; then
    folder=./${1//.//}
    until [ -d "$folder" ]; do folder=$(dirname "$folder"); done
    place=(--test-path "$folder")
    # These wait for nothing, and to import them costs each worker seconds.
    case $folder in ./tests/unit*) workers=$cores ;; esac
fi

status=0
broken=0
for environment in "${environments[@]}" "${storms[@]}"; do
    before=$(last_run)
    ended=0
    which=$environment
    selected=(--concurrency "$workers" "$@")
    if [ "$environment" = py3 ]; then
        selected=("${place[@]}" "${selected[@]}")
    elif [ "$environment" = storm ]; then
        # Nothing beside them: how soon there is quiet afterwards counts.
        export IRONIC_RESERVATIONS_STORM_SECONDS="${IRONIC_RESERVATIONS_STORM_SECONDS:-120}"
        which=py3
        selected=(--test-path ./tests/processes --serial test_storm)
    fi
    .venv/bin/tox run -q -e "$which" --skip-pkg-install -- \
        "${selected[@]}" || ended=$?
    if [ "$(last_run)" = "$before" ]; then
        echo "No results: no test matches, or one cannot be imported" \
            "(tox -e $which ended with $ended)." >&2
        broken=$((broken + 1))
    else
        # It ends with 1 where a test has failed, which is counted below.
        .tox/py3/bin/stestr last --subunit > "$streams/$environment" || true
        [ -s "$streams/$environment" ] || broken=$((broken + 1))
    fi
    [ "$ended" -eq 0 ] || status=1
done

cat /dev/null "$streams"/* 2>/dev/null \
    | .tox/py3/bin/python -m tools.summary "$broken" || status=1
exit "$status"
