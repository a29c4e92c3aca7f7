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
# With --stack first, those on a whole cloud as well, at the same time; with
# --storm, storms of two minutes over each database, after all others.
#
# Takes what "stestr run" takes. The last line says how many passed, failed
# and were skipped; the exit code is 0 only where some ran and none failed.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/venv.sh
source tools/venv.sh

stack=() storm=()
while :; do
    case "${1:-}" in
        --stack) stack=(stack) ;;
        --storm) storm=(storm) ;;
        *) break ;;
    esac
    shift
done
install_environment py3 "${stack[@]}"

# Only a run that has been here before knows better.
.tox/py3/bin/python -m tools.durations .ci/durations

results=$(mktemp -d)
# Whoever stops us stops the tests on a cloud, too: a group of their own.
finish() {
    local group
    for group in $(jobs -pr); do kill -- "-$group"; done
    rm -rf "$results"
}
trap finish EXIT
# Much of what the tests do is to wait, for processes that start and end; but
# each worker has connections to the databases, which have a limit. Another
# "--concurrency" among the arguments comes later, and counts.
cores=$(.tox/py3/bin/python -c 'import os; print(os.cpu_count() or 1)')
workers=$((cores < 4 ? 2 * cores : 8))
# The cloud and its tests keep as many processes busy as a worker.
workers=$((workers - ${#stack[@]}))

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

# Leaves results/NAME.stream, or results/NAME.broken if there are no results,
# and results/NAME.failed unless all tests passed.
run() {
    local name=$1 environment=$2 folder=$3 ended=0 before
    local next=$folder/.stestr/next-stream
    shift 3
    # The number of the run before, since one that breaks down leaves none.
    before=$(cat "$next" 2>/dev/null || echo 0)
    .venv/bin/tox run -q -e "$environment" --skip-pkg-install -- "$@" \
        || ended=$?
    if [ "$(cat "$next" 2>/dev/null || echo 0)" = "$before" ]; then
        echo "No results: no test matches, or one cannot be imported" \
            "(tox -e $environment ended with $ended)." >&2
        touch "$results/$name.broken"
    else
        # It ends with 1 where a test has failed, which is counted below.
        .tox/py3/bin/stestr --repo-url "$folder" last --subunit \
            > "$results/$name.stream" || true
        [ -s "$results/$name.stream" ] || touch "$results/$name.broken"
    fi
    [ "$ended" -eq 0 ] || touch "$results/$name.failed"
}

# The cloud waits most of the time, so that the others have the processors.
if [ "${#stack[@]}" -gt 0 ]; then
    set -m
    run stack stack .tox/stack "$@" > "$results/stack.log" 2>&1 &
    set +m
fi
run py3 py3 . "${place[@]}" --concurrency "$workers" "$@"
wait
if [ "${#stack[@]}" -gt 0 ]; then
    cat "$results/stack.log"
fi
if [ "${#storm[@]}" -gt 0 ]; then
    # Nothing beside them: how soon there is quiet afterwards counts.
    export IRONIC_RESERVATIONS_STORM_SECONDS="${IRONIC_RESERVATIONS_STORM_SECONDS:-120}"
    run storm py3 . --test-path ./tests/processes --serial test_storm
fi

shopt -s nullglob
broken=("$results"/*.broken) failed=("$results"/*.failed)
status=0
cat /dev/null "$results"/*.stream \
    | .tox/py3/bin/python -m tools.summary "${#broken[@]}" || status=1
[ "${#failed[@]}" -eq 0 ] || status=1
exit "$status"
