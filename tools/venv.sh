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

# Sourced by the other scripts: where everything is installed.
#
# .venv has tox; tox keeps what the project and its tests need in .tox/py3.

# NOTE: packages are installed without bytecode. A process that may not write it
# compiles all that it reads, which takes most of them longer than their work.
unset PYTHONDONTWRITEBYTECODE

say() { echo "$*" >&2; }

find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
                >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
    done
    say "Python 3.11 or newer is needed, and no python3 in PATH is that."
    return 1
}

make_venv() {
    local python
    if [ -x .venv/bin/tox ] && .venv/bin/python -c '' 2>/dev/null; then
        return
    fi
    python=$(find_python)
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        say "The venv module of $python is needed" \
            "(package python3-venv on Debian and Ubuntu)."
        return 1
    fi
    # NOTE: a tox that was run by hand may have left a file of that name.
    [ -d .venv ] || rm -f .venv
    say "Making .venv with $("$python" --version) ..."
    "$python" -m venv --clear .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        'tox>=4.11' 'tox-uv>=1.20' >&2
}

# Everything that runs and tests the project; a change of what it needs is
# taken in as well. Its arguments are environments of tox; by default py3.
install_environment() {
    local environments="${*:-py3}" environment installed
    make_venv
    [ -x .tox/py3/bin/stestr ] \
        || say "Installing Ironic and the rest into .tox/py3" \
               "(once, a minute or two) ..."
    # NOTE: in parallel, since each waits for what it downloads.
    if ! .venv/bin/tox run-parallel -qq -e "${environments// /,}" --notest \
            --parallel-no-spinner >&2; then
        say "The installation failed; the reason is above."
        return 1
    fi
    # tox does not see that the client has got another command.
    for environment in $environments; do
        installed=$(find ".tox/$environment/lib" -name entry_points.txt \
            -path '*/ironic_reservations_client-*')
        if [ -n "$installed" ] \
                && [ plugins/client/setup.cfg -nt "$installed" ]; then
            .venv/bin/uv pip install --quiet --no-deps \
                --python ".tox/$environment" -e plugins/client >&2
        fi
    done
}
