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

"""Requests of a client of Blazar, on a cloud with a flavor."""

from collections.abc import Iterator
import re
from typing import Any

import testtools

from tests import small_nova
from tests.inprocess.api import world


class StoryCase(testtools.TestCase):
    """Takes the steps of a document; later ones use earlier answers.

    :ivar kept: values of answers, by the names that stand for them.
    """

    world: Any

    def setUp(self) -> None:
        """Keep nothing yet."""
        super().setUp()
        self.kept: dict[str, str] = {}

    def add_node(self, number: int) -> Any:
        """Enroll a node for the flavor."""
        return self.world.ironic.add(
            name=f'compute-{number}', resource_class='gold', properties=(
                ('cpus', '64'), ('cpu_arch', 'x86_64'),
                ('local_gb', '2000'), ('memory_mb', '262144')))

    def keep(self, step: dict[str, Any], found: Any) -> None:
        """Keep values of an answer for later requests."""
        for name, keys in step.get('keeps', {}).items():
            value = found
            for key in keys:
                value = value[key]
            self.kept[name] = value

    def filled(self, value: Any) -> Any:
        """Replace $names by the values that were kept."""
        if isinstance(value, dict):
            return {key: self.filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each) for each in value]
        if isinstance(value, str):
            for name, kept in self.kept.items():
                value = value.replace(f'${name}', kept)
        return value


class ClientCase(StoryCase):
    """Sends the requests of a document."""

    def setUp(self) -> None:
        """Serve a Nova with a flavor, and no node yet."""
        super().setUp()
        nova = self.useFixture(small_nova.SmallNova())
        add_flavor(nova)
        self.world = self.useFixture(world.OpenWorld(
            nova__enabled=True, placement__enabled=True,
            nova__endpoint_override=nova.endpoint))

    def send(self, sends: Any, **environ: str) -> tuple[world.Answer, str]:
        """Send a request; return the answer, and both as a text."""
        method, path, *body = self.filled(sends)
        answer = world.request(
            self.world, method, path, *body, version=None, environ={
                'HTTP_ACCEPT': 'application/json',
                'HTTP_X_AUTH_TOKEN': 'unused', **environ})
        return answer, f'{method} {path} {body}: {answer.body!r}'


def add_flavor(nova: small_nova.SmallNova) -> None:
    """Add the flavor of the nodes."""
    nova.flavor('3', 'bm.gold', 64, 262144, 2000, extra_specs={
        'resources:CUSTOM_GOLD': '1', **{
            f'resources:{name}': '0'
            for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}})


def differences(wanted: Any, got: Any, where: str = '') -> Iterator[str]:
    """Yield the differences between an answer and its requirements.

    The answer may have more fields.

    :param wanted: ``/text/`` stands for what a regular expression finds.
    """
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key, value in wanted.items():
            if key not in got:
                yield f'{where}.{key} is missing'
            else:
                yield from differences(value, got[key], f'{where}.{key}')
    elif isinstance(wanted, list) and isinstance(got, list) and (
            len(wanted) == len(got)):
        for index, value in enumerate(wanted):
            yield from differences(value, got[index], f'{where}[{index}]')
    elif isinstance(wanted, str) and isinstance(got, str) and (
            wanted[:1] == wanted[-1:] == '/'):
        if not re.search(wanted[1:-1], got):
            yield f'{where} is {got!r}, which is not {wanted}'
    elif wanted != got:
        yield f'{where} is {got!r} and not {wanted!r}'
