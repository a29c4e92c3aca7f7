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

"""The e-mail addresses of users."""

from __future__ import annotations

import pathlib
import re
import urllib.parse

from oslo_config import cfg
import yaml

from ironic_reservations.clouds import keystone_reader

_WORD = r'[^\s@.,;:<>()\[\]"\\]+'
_WORDS = rf'{_WORD}(\.{_WORD})*'
#: Accepted addresses: without characters that could end a header or begin
#: another address, and without encoded words.
_ADDRESS = re.compile(rf'(?!.*=\?){_WORDS}@{_WORDS}')


class Unknown(Exception):
    """The address of a user cannot be read now."""


def find(conf: cfg.ConfigOpts, user_id: str) -> str | None:
    """Return the address of a user; ``None`` if there is none.

    :raises Unknown: the file or Keystone cannot be read.
    """
    found = _listed(conf.notices.mail_addresses_file).get(user_id)
    if found is None and conf.notices.mail_addresses_from_keystone:
        found = _of_keystone(conf, user_id)
    # Users may be able to set it to any text.
    return found if isinstance(found, str) and (
        _ADDRESS.fullmatch(found)) else None


def _listed(path: str | None) -> dict[str, object]:
    if path is None:
        return {}
    try:
        read = yaml.safe_load(pathlib.Path(path).read_text(encoding='utf-8'))
    except (OSError, ValueError, yaml.YAMLError) as exc:
        raise Unknown('[notices] mail_addresses_file cannot be read: '
                      f'{type(exc).__name__}') from exc
    if read is None:
        return {}
    if not isinstance(read, dict):
        raise Unknown('[notices] mail_addresses_file does not map ids of '
                      'users to addresses')
    return {str(key): value for key, value in read.items()}


def _of_keystone(conf: cfg.ConfigOpts, user_id: str) -> object:
    try:
        found = keystone_reader.KeystoneReader(conf).find(
            f"/users/{urllib.parse.quote(user_id, safe='')}")
        return None if found is None else found['user'].get('email')
    except keystone_reader.UNKNOWN as exc:
        raise Unknown(f'Keystone does not return the address of the user '
                      f'{user_id}: {type(exc).__name__}: {exc}') from exc
