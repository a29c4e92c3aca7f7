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

"""The API accepts and returns the samples of the API reference.

The stories in samples/ send each request sample to the whole application, and
compare each answer with its sample, or write the sample if WRITE is set.
"""

from collections.abc import Iterable
import difflib
import json
import os
import pathlib
import re
from typing import Any
import unittest
import uuid

from gabbi import handlers
from gabbi import suitemaker
from gabbi import utils
from gabbi.handlers import base
import testtools

from ironic_reservations.api import wsgi
from tests.inprocess.api import fixtures

SAMPLES = pathlib.Path(__file__).parents[3] / 'api-ref/source/samples'
#: In the environment: write the samples of answers instead of comparing them.
WRITE = 'IRONIC_RESERVATIONS_WRITE_SAMPLES'
_STORIES = pathlib.Path(__file__).parent / 'samples'
_PREFIX = '/reservation'
_NODES = {node['uuid'] for node in fixtures.SampleNodes.nodes.values()}
#: The instance of the samples.
_INSTANCE = 'ef1896b0-a794-425e-9396-e7557ad1bf61'
#: Values that differ between runs, and their placeholders.
_CHANGING = (
    (r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00', '(time)'),
    (r'20[0-4]\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{6})?)?(\+00:00| UTC)?',
     '(time)'),
    (r'req-[0-9a-f-]{36}', '(request)'),
    (r'"[0-9a-f]{32}"', '"(sequence)"'),
    (r'"now": -\d+', '"now": 0'))


def settled(name: str, text: str) -> Any:
    """Replace values that differ between runs by placeholders.

    :param name: the name of the sample; a lease may get any of its hosts.
    """
    text = json.dumps(json.loads(text))
    for pattern, placeholder in _CHANGING:
        text = re.sub(pattern, placeholder, text)
    kept = () if name.startswith('leases/') else {*_NODES, _INSTANCE}
    return json.loads(re.sub(
        r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}',
        lambda found: found[0] if found[0] in kept else '(uuid)', text))


def sample(name: str) -> Any:
    """Read a sample."""
    return settled(name, (SAMPLES / f'{name}.json').read_text())


def written(name: str, before: Any, answer: Any) -> Any:
    """Return an answer with the changing values of the sample before it."""
    if settled(name, json.dumps(before)) == settled(name, json.dumps(answer)):
        return before
    if isinstance(answer, dict) and isinstance(before, dict):
        order = before if before.keys() == answer.keys() else answer
        return {key: written(name, before.get(key), answer[key])
                for key in order}
    if isinstance(answer, list) and isinstance(before, list):
        return [written(name, *pair) for pair in zip(
            [*before, *[None] * len(answer)], answer, strict=False)]
    return answer


def write(name: str, answer: Any) -> None:
    """Write the sample of an answer, with rows of numbers in one line."""
    path = SAMPLES / f'{name}.json'
    before = json.loads(path.read_text()) if path.exists() else None
    text = json.dumps(written(name, before, answer), indent=4)
    path.write_text(re.sub(
        r'\[\s+(-?\d+(?:,\s+-?\d+)*)\s+\]',
        lambda row: f'[{" ".join(row[1].split())}]', text) + '\n')


class Answered(base.ResponseHandler):
    """``response_sample``: the sample that equals the answer."""

    test_key_suffix = 'sample'
    test_key_value: list[str] = []

    def action(self, test: Any, name: str, value: Any = None) -> None:
        """Compare the answer with the sample, or write it."""
        if os.environ.get(WRITE):
            write(name, json.loads(test.output))
        expected, actual = (
            json.dumps(each, indent=4, sort_keys=True).splitlines()
            for each in (sample(name), settled(name, test.output)))
        if expected != actual:
            test.fail('\n'.join([
                f'Write the sample (set {WRITE}=1), or change the version '
                'that its request names in tests/inprocess/api/samples/:',
                *difflib.unified_diff(
                    expected, actual, f'api-ref/source/samples/{name}.json',
                    'the answer', lineterm='')]))


class Sent(base.ResponseHandler):
    """``response_to_sample``: a request sample, with current values."""

    test_key_suffix = 'to_sample'
    test_key_value: list[str] = []

    def action(self, test: Any, name: str, value: Any = None) -> None:
        """Compare the request with the sample."""
        test.assertEqual(sample(name), settled(name, json.dumps(
            test.replace_template(test.test_data['data']))))


def _application(environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
    """Serve the application at the root, and below Ironic's prefix."""
    if environ['PATH_INFO'].startswith(_PREFIX):
        environ['SCRIPT_NAME'] = _PREFIX
        environ['PATH_INFO'] = environ['PATH_INFO'].removeprefix(_PREFIX)
    return fixtures.current_app()(environ, start_response)


class TestSamples(testtools.TestCase):

    def test_no_sample_is_left_out(self) -> None:
        """A sample that no story reads could be wrong."""
        told = ''.join(path.read_text() for path in _STORIES.iterdir())
        self.assertEqual(
            {str(path.relative_to(SAMPLES)) for path
             in SAMPLES.rglob('*.json')},
            {f'{"".join(name)}.json' for name in re.findall(
                r'<@(\S+)\.json|sample: \[(\S+)\]', told)})


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite,
               pattern: str | None) -> unittest.TestSuite:
    """Make a test of each request of each story."""
    for path in sorted(_STORIES.iterdir()):
        tests.addTest(suitemaker.test_suite_from_dict(
            loader, path.stem, utils.load_yaml(
                yaml_file=str(path), safe=True),
            str(SAMPLES), str(uuid.uuid4()), None, fixtures,
            lambda: _application, test_loader_name=__name__,
            handlers=[each() for each in (
                *handlers.RESPONSE_HANDLERS, Answered, Sent)]))
    return tests
