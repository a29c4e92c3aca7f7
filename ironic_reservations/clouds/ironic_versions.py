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

"""The reviewed and the served versions of Ironic's API."""

from __future__ import annotations

#: The newest minor version of Ironic's API whose routes were all reviewed for
#: this release. Raise it together with the tables of the guard.
REVIEWED_MINOR = 115
REVIEWED = f'1.{REVIEWED_MINOR}'


def minor(version: str) -> int:
    """Return the minor version of a version such as 1.115.

    :raises ValueError: the text is not such a version.
    """
    return int(version.partition('.')[2])


def installed() -> str | None:
    """Return the newest version that the installed Ironic serves.

    :returns: ``None`` if no Ironic is installed here, or its version is
        unknown.
    """
    try:
        from ironic.api.controllers.v1 import versions
        version = str(versions.max_version_string())
        minor(version)
    except (ImportError, AttributeError, ValueError):
        return None
    return version
