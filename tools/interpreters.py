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

"""Other versions of Python that this machine has."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess


def find(version: str) -> pathlib.Path | None:
    """Return the path of a Python, in PATH or of pyenv's, or ``None``.

    :param version: like "3.13".
    """
    name = f'python{version}'
    root = pathlib.Path(os.environ.get('PYENV_ROOT')
                        or pathlib.Path.home() / '.pyenv')
    found = shutil.which(name)
    for path in (*([] if found is None else [pathlib.Path(found)]),
                 *sorted(root.glob(f'versions/{version}.*/bin/{name}'))):
        # NOTE: pyenv puts a script into PATH for each version that it keeps,
        # and it fails unless the version is chosen.
        if subprocess.run([path, '-c', ''], check=False,
                          capture_output=True).returncode == 0:
            return path
    return None


def environment(version: str | None) -> dict[str, str]:
    """Return the environment in which tox finds a Python.

    :param version: ``None``: the one that tox has itself.
    """
    path = None if version is None else find(version)
    if path is None:
        return dict(os.environ)
    return {**os.environ, 'UV_PYTHON_DOWNLOADS': 'never',
            'PATH': f'{os.environ["PATH"]}{os.pathsep}{path.parent}'}
