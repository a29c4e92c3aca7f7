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

"""Deploys the nodes of a reservation or lease, and shows the progress."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
from typing import Any

from ironicclient import exc
from rich import console
from rich import progress

from ironic_reservations_client import counted
from ironic_reservations_client import deployment
from ironic_reservations_client import nodes
from ironic_reservations_client.osc import cells


def _line(node: dict[str, Any]) -> str:
    """Return the name and the state of a node."""
    target = node['target_provision_state']
    return (f'{node["name"] or "-"} ({node["uuid"]}) '
            f'{node["provision_state"] or "-"}'
            + (f', becomes {target}' if target else ''))


def chosen(client: Any, of: deployment.Promised, idents: Sequence[str],
           every: bool) -> deployment.Promised:
    """Return the nodes that are to be deployed.

    :param client: an Ironic client.
    :param of: the nodes of a reservation or lease.
    :param idents: the names or UUIDs of nodes that the user has typed.
    :param every: whether the user wants all nodes.
    :raises CommandError: the user has not chosen, or has named another node.
    """
    if every and of.lease is None:
        raise exc.CommandError(
            f'The {of.title} has one node: --all is for leases.')
    if every or (not idents and len(of.proofs) == 1):
        return of
    if not idents:
        raise exc.CommandError(
            f'The {of.title} has {counted.counted(len(of.proofs), "node")}'
            + (f': {_names(client, of)}. Use --all to deploy all of them, or '
               '--node to name those that you want.' if of.proofs else '.'))
    proofs = {}
    for ident in idents:
        uuid = nodes.uuid_of(client, ident)
        if uuid not in of.proofs:
            raise exc.CommandError(
                f'Node {ident} does not belong to the {of.title}, which has '
                f'{_names(client, of)}.')
        proofs[uuid] = of.proofs[uuid]
    return deployment.Promised(of.ident, proofs, of.lease)


def deploy(client: Any, of: deployment.Promised, settings: dict[str, Any],
           timeout: float | None, detailed: bool) -> dict[str, Any]:
    """Deploy nodes, and return the columns.

    :param client: an Ironic client.
    :param settings: as for ``Deployment.begin``.
    :param timeout: the time to wait in seconds; 0: for ever, ``None``: not at
        all.
    :param detailed: whether the error repeats the reasons that were shown
        during the wait, for programs.
    :raises ClientException: some nodes are not deployed.
    """
    under_way = deployment.Deployment(client, of)
    under_way.begin(**settings)
    reported = False
    if timeout is not None and under_way.failures.keys() != of.proofs.keys():
        with _display(of) as report:
            under_way.wait(timeout, report)
        reported = not detailed
    under_way.check(reported)
    shown = [_shown(ident, under_way.nodes.get(ident)) for ident in of.proofs]
    if of.lease is None:
        node, = shown
        return {'reservation_uuid': of.ident, 'node_uuid': node.pop('uuid'),
                'node_name': node.pop('name'), **node}
    return {'lease_id': of.lease.id, 'lease_name': of.lease.name,
            'nodes': cells.lines(_line, shown)}


def _shown(ident: str, node: Any) -> dict[str, Any]:
    return {'uuid': ident, **{
        name: getattr(node, name, None) for name in (
            'name', 'instance_uuid', 'provision_state',
            'target_provision_state')}}


def _names(client: Any, of: deployment.Promised) -> str:
    known = deployment.Deployment(client, of)
    return ', '.join(map(known.name, of.proofs))


@contextlib.contextmanager
def _display(of: deployment.Promised) -> Iterator[Any]:
    """Return a function that shows the progress of a deployment.

    It shows a bar in a terminal, and elsewhere a line for each change of a
    node.
    """
    # Not on stdout, which a program may read.
    screen = console.Console(stderr=True, highlight=False)
    seen: dict[str, str] = {}

    def changes(now: deployment.Deployment) -> Iterator[str]:
        for ident in of.proofs:
            node = now.nodes.get(ident)
            state = str(now.failures.get(ident)
                        or (node.provision_state if node else 'unknown'))
            if seen.get(ident) != state:
                seen[ident] = state
                yield f'{now.name(ident)}: {state}'

    with contextlib.ExitStack() as shown:
        bar = None
        if screen.is_terminal:
            bar = shown.enter_context(progress.Progress(
                progress.TextColumn('{task.description}', markup=False),
                progress.BarColumn(), progress.MofNCompleteColumn(),
                progress.TimeElapsedColumn(), console=screen,
                transient=True))
            task = bar.add_task(f'Deploying the {of.title}',
                                total=len(of.proofs))

        def report(now: deployment.Deployment) -> None:
            for line in changes(now):
                screen.print(line, markup=False, soft_wrap=True)
            if bar is not None:
                bar.update(task, completed=len(of.proofs) - len(now.left))

        yield report
