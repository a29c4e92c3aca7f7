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


"""The files of the calendar's page in the repository."""

from __future__ import annotations

import hashlib
import pathlib
import re

import testtools

import ironic_reservations
from ironic_reservations.features.history import values as lease_history
from ironic_reservations.model import notices

_STATIC = (pathlib.Path(ironic_reservations.__file__).parent
           / 'features/calendar/static')
_VENDOR = _STATIC / 'vendor'
_IMPORT = re.compile(r"from '\./([a-z_]+\.js)'")
#: Functions that would turn others' text into elements, or run it.
_AS_HTML = re.compile(
    r'innerHTML|outerHTML|insertAdjacentHTML|document\.write\b|\beval\(|'
    r'new Function|DOMParser|createContextualFragment|setHTML')
_ELSEWHERE = re.compile(r'(?:https?:)?//(?!www\.(?:apache|w3)\.org/)\w')


class CalendarFilesTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.index = (_STATIC / 'index.html').read_text()
        self.modules = {path.name: path.read_text()
                        for path in _STATIC.glob('*.js')}

    def test_vendored_as_it_was_published(self):
        listed = {}
        for line in (_VENDOR / 'SHA256SUMS').read_text().splitlines():
            digest, name = line.split()
            listed[name] = digest
        self.assertEqual(
            {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
             for path in _VENDOR.iterdir() if path.name != 'SHA256SUMS'},
            listed)
        for name in re.findall(r'static/vendor/([^"]+)', self.index):
            self.assertIn(name, listed)

    def test_all_modules_come_at_once(self):
        """No module is discovered only after another has been read."""
        first = set(re.findall(r'modulepreload" href="static/([^"]+)"',
                               self.index))
        self.assertEqual(set(self.modules) - {'main.js'}, first)

    def test_each_module_is_used(self):
        used = {name for text in self.modules.values()
                for name in _IMPORT.findall(text)}
        self.assertEqual(set(self.modules) - {'main.js'}, used)

    def test_nothing_is_read_as_html(self):
        for name, text in self.modules.items():
            self.assertNotRegex(text, _AS_HTML, name)
        self.assertNotRegex(self.index, r'<script>|<style|\sstyle=|\son\w+=')

    def test_nothing_comes_from_elsewhere(self):
        for path in _STATIC.glob('*.*'):
            self.assertNotRegex(
                re.sub(r'/\*.*?\*/|<!--.*?-->', '', path.read_text(),
                       flags=re.DOTALL), _ELSEWHERE, path.name)

    def test_history_has_words_for_all_that_happens(self):
        text = self.modules['lease_history.js']
        for kinds in (lease_history.What, notices.Kind):
            for kind in kinds:
                self.assertRegex(text, rf'\b{kind.value}: ')
