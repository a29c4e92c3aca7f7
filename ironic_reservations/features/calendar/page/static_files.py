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

"""The files of the page: a fixed list, read once when the service starts.

No path of a request is used as a path of the file system.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import pathlib
import re

from ironic_reservations.api import conditional
from ironic_reservations.api import wsgi

FOLDER = pathlib.Path(__file__).parents[1] / 'static'
INDEX = 'index.html'
#: The types that are served; licences, for example, are not.
_TYPES = {
    '.css': 'text/css; charset=utf-8', '.html': 'text/html; charset=utf-8',
    '.ico': 'image/x-icon', '.js': 'text/javascript; charset=utf-8',
    '.json': 'application/json', '.mjs': 'text/javascript; charset=utf-8',
    '.png': 'image/png', '.svg': 'image/svg+xml',
    '.webmanifest': 'application/manifest+json', '.woff2': 'font/woff2'}
_PACKED_ALREADY = frozenset(('.png', '.woff2'))
_VERSION = re.compile(r'-[0-9]+\.[0-9]+\.[0-9]+[.-]')
_FOREVER = 'public, max-age=31536000, immutable'
#: Browsers revalidate such a file each time, so that a new release is used at
#: once.
_ASK = 'no-cache'


@dataclasses.dataclass(frozen=True)
class File:
    """A file of the page.

    :ivar packed: the content, compressed with gzip; ``None`` if that saves
        nothing.
    """

    content_type: str
    body: bytes
    packed: bytes | None
    etag: str
    cache: str

    def answer(self, environ: wsgi.Environ) -> wsgi.Answer:
        """Return the answer to a request for the file."""
        packed = self.packed is not None and conditional.takes_gzip(environ)
        etag = f'"{self.etag}{"-gzip" if packed else ""}"'
        headers = [('ETag', etag), ('Cache-Control', self.cache),
                   ('Vary', 'Accept-Encoding')]
        if etag in [each.strip().removeprefix('W/') for each in
                    environ.get('HTTP_IF_NONE_MATCH', '').split(',')]:
            return wsgi.Answer(304, headers, b'')
        body = self.body
        if packed:
            assert self.packed is not None
            body = self.packed
            headers.append(('Content-Encoding', 'gzip'))
        return wsgi.Answer(200, [
            *headers, ('Content-Type', self.content_type),
            ('Content-Length', str(len(body)))], body)


def read(folder: pathlib.Path = FOLDER) -> dict[str, File]:
    """Return the files of the page by their paths below its folder."""
    found = {}
    for path in sorted(folder.rglob('*')):
        kind = _TYPES.get(path.suffix)
        if kind is None or not path.is_file() or path.is_symlink():
            continue
        found[path.relative_to(folder).as_posix()] = _file(path, kind)
    return found


def _file(path: pathlib.Path, content_type: str) -> File:
    body = path.read_bytes()
    packed = None
    if path.suffix not in _PACKED_ALREADY:
        # Without a time, the result is reproducible.
        smaller = gzip.compress(body, mtime=0)
        packed = smaller if len(smaller) < len(body) else None
    return File(content_type, body, packed,
                hashlib.sha256(body).hexdigest()[:32],
                _FOREVER if _VERSION.search(path.name) else _ASK)
