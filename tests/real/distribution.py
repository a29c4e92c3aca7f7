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

"""Distributions of ours, installed as an operator does."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile

_TIMEOUT = 120


def install(source: pathlib.Path, target: pathlib.Path) -> None:
    """Build what lies in a folder, and install it in another one."""
    with tempfile.TemporaryDirectory() as folder:
        # NOTE: a build leaves things behind in the folder that it reads.
        copy = pathlib.Path(folder, 'source')
        shutil.copytree(source, copy)
        subprocess.run(
            [sys.executable, '-m', 'pip', 'install', '--quiet', '--no-deps',
             '--no-build-isolation', '--disable-pip-version-check',
             '--target', str(target), str(copy)],
            check=True, timeout=_TIMEOUT, stdin=subprocess.DEVNULL)
