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


"""A terminal of any width, and its content."""

from __future__ import annotations

import io

from rich import console


def drawn(what, width=40, encoding='utf-8', **more):
    """Return the lines on a terminal of this width."""
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding)
    console.Console(file=out, width=width, highlight=False, **more).print(
        what)
    out.flush()
    return [line.rstrip() for line in
            raw.getvalue().decode(encoding).splitlines()]
