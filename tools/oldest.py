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

"""Check the oldest dependencies that are allowed, at the cost of imports.

``.tox/oldest/bin/python -m tools.oldest``: exactly the lower bounds of both
distributions are installed, every module can be imported, and every command
shows its help. With ``--story``, which takes three times as long, the first
story of the demonstration works as well.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import importlib
from importlib import metadata
import io
import itertools
import pathlib
import pkgutil
import re
import sys

import ironic_reservations
import ironic_reservations_client
from tools import demo
from tools import lease_story

_ROOT = pathlib.Path(__file__).parents[1]
_PACKAGES = (ironic_reservations, ironic_reservations_client)
_DISTRIBUTIONS = ('ironic-reservations', 'ironic-reservations-client')
#: Where the requirements of each stand, below the root.
FILES = ('requirements.txt', 'plugins/client/requirements.txt')
#: Scripts of alembic, which it runs itself.
_NOT_MODULES = f'{ironic_reservations.__name__}.db.migrations.'
_BOUND = re.compile(r'^(?P<name>[\w.-]+)(?:\[[^\]]*\])?>=(?P<bound>[\w.]+)',
                    re.MULTILINE)
_COMMANDS = 'openstack.baremetal.v1'


def bounds(text: str) -> dict[str, str]:
    """Return the lower bound of each name in a file of requirements."""
    return {found['name']: found['bound']
            for found in _BOUND.finditer(text)}


def _versions() -> Iterator[str]:
    """Yield each bound that is not what is installed."""
    named: dict[str, str] = {}
    for file in FILES:
        named |= bounds((_ROOT / file).read_text())
    named['ironic'] = bounds(
        (_ROOT / 'test-requirements.txt').read_text())['ironic']
    for name, bound in named.items():
        installed = metadata.version(name)
        if installed != bound:
            yield (f'{name} {installed} is installed and not {bound}, the '
                   'lower bound. Install again with "tox run -e oldest '
                   '--notest"; if it stays, something else requires more: '
                   'raise the bound.')


def _imports() -> Iterator[str]:
    for package in _PACKAGES:
        for module in pkgutil.walk_packages(package.__path__,
                                            f'{package.__name__}.'):
            if not module.name.startswith(_NOT_MODULES):
                yield from _failure(module.name, lambda name=module.name:
                                    importlib.import_module(name))


def _helps() -> Iterator[str]:
    """Yield each command that does not show its help."""
    for entry in itertools.chain.from_iterable(
            metadata.distribution(name).entry_points
            for name in _DISTRIBUTIONS):
        if entry.group == 'console_scripts':
            yield from _failure(entry.name, lambda entry=entry:
                                _help(entry.load()))
        elif entry.group == _COMMANDS:
            yield from _failure(
                entry.name, lambda entry=entry: entry.load()(
                    argparse.Namespace(), None).get_parser(
                        entry.name).format_help())


def _help(main: Callable[[list[str]], object]) -> None:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            main(['--help'])
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f'it ended with {end.code}') from end


def _failure(name: str, work: Callable[[], object]) -> Iterator[str]:
    try:
        work()
    except Exception as exc:
        yield f'{name}: {type(exc).__name__}: {exc}'


def _story() -> Iterator[str]:
    # NOTE: the first of two, which takes half the time.
    lease_story.tell = lambda *given: None
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        status = demo.main([])
    if status:
        yield f'The demonstration: {told.getvalue()}'


def main(arguments: Sequence[str]) -> int:
    """Print what does not work, and return the exit status."""
    parser = argparse.ArgumentParser(prog='python -m tools.oldest')
    parser.add_argument('--story', action='store_true')
    checks = [_versions, _imports, _helps]
    if parser.parse_args(arguments).story:
        checks.append(_story)
    failures = [failure for check in checks for failure in check()]
    print('\n'.join(failures or ['The oldest dependencies work.']))
    return int(bool(failures))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
