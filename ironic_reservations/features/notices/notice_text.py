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

"""The text of notices, from templates that the operator may replace."""

from __future__ import annotations

from collections.abc import Mapping
import datetime
import pathlib
import re
import string
from typing import Any

from oslo_config import cfg
from oslo_log import log

from ironic_reservations.model import notices
from ironic_reservations.model import time_text

LOG = log.getLogger(__name__)

#: The templates of the package.
FOLDER = pathlib.Path(__file__).with_name('templates')
#: Characters that end a line or are invisible, and are removed from names.
_UNSEEN = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f'
                     r'\u202a-\u202e\u2066-\u2069\ud800-\udfff]+')
_LONGEST = 500
#: Fields that are written as local times; ``data`` has them in full.
_TIMES = frozenset(('start_date', 'end_date', 'timestamp'))


def line(conf: cfg.ConfigOpts, notice: notices.Notice) -> str:
    """Return the text of a notice in one line."""
    return one_line(template(conf, notice.kind.value).safe_substitute(
        _values(notice)), 4 * _LONGEST)


def entry(conf: cfg.ConfigOpts, notice: notices.Notice) -> str:
    """Return the text of a notice in a digest."""
    return template(conf, 'entry').safe_substitute(
        _values(notice), text=line(conf, notice),
        urgent='URGENT: ' if notice.kind.urgent else '').rstrip()


def digest(conf: cfg.ConfigOpts,
           mailed: list[notices.Notice], left: int) -> tuple[str, str]:
    """Return the subject and the text of a mail.

    :param left: the number of notices for the next mail.
    """
    urgent = sum(notice.kind.urgent for notice in mailed)
    summary = f'{len(mailed)} notice{"s" if len(mailed) > 1 else ""}'
    if urgent:
        summary += f', {urgent} urgent'
    written = template(conf, 'digest').safe_substitute(
        summary=summary, minutes=conf.notices.mail_interval // 60,
        notices='\n\n'.join(entry(conf, notice) for notice in mailed),
        left=left)
    subject, _, text = written.partition('\n')
    return one_line(subject, 200), text.strip() + '\n'


def template(conf: cfg.ConfigOpts, name: str) -> string.Template:
    """Return a template by its name: the operator's, or the package's."""
    folder = conf.notices.template_dir
    if folder is not None:
        path = pathlib.Path(folder, f'{name}.txt')
        try:
            return string.Template(path.read_text(encoding='utf-8'))
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as exc:
            LOG.warning('The template %s cannot be read; the one of the '
                        'package is used: %s', path, exc)
    return string.Template(
        (FOLDER / f'{name}.txt').read_text(encoding='utf-8'))


def one_line(text: str, longest: int = _LONGEST) -> str:
    """Return a text as one line, without invisible characters."""
    return ' '.join(_UNSEEN.sub(' ', text).split())[:longest]


def _values(notice: notices.Notice) -> Mapping[str, str]:
    payload = notice.payload
    fields: dict[str, Any] = {**payload['data'], 'id': payload['id'],
                              'timestamp': payload['timestamp']}
    for name in _TIMES & fields.keys():
        fields[name] = time_text.moment(
            datetime.datetime.fromisoformat(fields[name]))
    return {name: '' if value is None else one_line(str(value))
            for name, value in fields.items()}
