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

"""Handovers: a node as it was before the first act of its holder on it.

Source: ../doc/source/admin/handover.rst, the table of acts.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import enum
from typing import Any

#: The act of setting or clearing maintenance.
MAINTENANCE = 'maintenance'
#: After these acts, an undeploy leaves no trace, since Ironic cleans the node.
DEPLOYING = frozenset(('active', 'deploy', 'rebuild', 'deleted', 'undeploy',
                       '/instance_uuid'))
#: Further acts that leave no trace after an undeploy.
_UNDEPLOYED = DEPLOYING | {'power', '/instance_info', '/instance_name'}
#: Steps that the holder has named: of a cleaning, a deploy or a service.
STEPS = 'steps'
BOOT_DEVICE = 'boot_device'
#: Settings that are read only before the first act that could change them,
#: since some of them are read from the machine.
_PARTS = {BOOT_DEVICE: (BOOT_DEVICE,), STEPS: ('bios', 'firmware')}
#: The number of parts of a field, and the length of their pointers, up to
#: which each is put back by itself.
_MOST_PARTS = 50
_LONGEST = 200
#: The beginning of the reason in Ironic, if a holder has set maintenance.
_OF_HOLDER = '[by the holder of the node, '
#: The maximum length of the name of an act.
_LONGEST_NAME = 32


class Phase(enum.StrEnum):
    """The progress of the return of a node."""

    #: The holder has the node, or the return has not begun.
    LENT = 'lent'
    #: The node is out of use, to be put back and cleaned.
    MANAGED = 'managed'
    #: Its undeploy has been requested, which cleans it.
    UNDEPLOYED = 'undeployed'
    #: It was put back, and its cleaning has been requested.
    PROVIDED = 'provided'
    #: The cleaning has failed, and an operator works on the node.
    FAILED = 'failed'


@dataclasses.dataclass(frozen=True)
class Document:
    """A node of Ironic with the objects below it, as its API shows them.

    :ivar node: the fields of the node.
    :ivar vifs: the ids of the attached VIFs.
    :ivar targets: the volume targets, by uuid.
    :ivar connectors: the volume connectors, by uuid.
    :ivar ports: the ports, by uuid; ``None``: not read.
    :ivar portgroups: the port groups, by uuid; ``None``: not read.
    :ivar parts: further settings, as far as they were read, by name; a value
        of ``None``: Ironic does not know it.
    """

    node: Mapping[str, Any]
    vifs: tuple[str, ...] = ()
    targets: Mapping[str, Mapping[str, Any]] = dataclasses.field(
        default_factory=dict)
    connectors: Mapping[str, Mapping[str, Any]] = dataclasses.field(
        default_factory=dict)
    ports: Mapping[str, Mapping[str, Any]] | None = None
    portgroups: Mapping[str, Mapping[str, Any]] | None = None
    parts: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def is_of(self, enrolled_at: str | None) -> bool:
        """Return whether the node is the one that was enrolled then.

        A node that was deleted may have been enrolled again with its uuid.
        """
        return self.node.get('created_at') == enrolled_at


@dataclasses.dataclass(frozen=True)
class Handover:
    """The acts of a holder on a node, and the node before them.

    :ivar holder: the uuid of the booking.
    :ivar document: the node before the first act; ``None`` if it was not read.
    :ivar acts: the acts, as in :mod:`~ironic_reservations.guard.node_acts`;
        fields of the node as JSON pointers.
    :ivar dirty: whether the node has to be cleaned.
    :ivar settles_at: the time by which all acts have reached Ironic or have
        been refused, except for acts with a request in flight.
    :ivar settled: whether this time is certain; otherwise, a conductor that
        was stopped may carry out an act later.
    :ivar earlier: ``settles_at`` before the last act was added; ``None``:
        there is only one act, or the handover was read from its row.
    :ivar earlier_settled: ``settled`` before the last act was added.
    """

    node_uuid: str
    holder: str
    document: Document | None
    acts: frozenset[str]
    dirty: bool
    settles_at: datetime.datetime
    phase: Phase = Phase.LENT
    settled: bool = True
    earlier: datetime.datetime | None = dataclasses.field(
        default=None, compare=False)
    earlier_settled: bool = dataclasses.field(default=True, compare=False)

    @property
    def undeployed(self) -> bool:
        """Whether all acts are undone when the node is undeployed."""
        return self.settled and all(
            (f'/{root(act)}' if act.startswith('/') else act) in _UNDEPLOYED
            for act in self.acts)

    def marked(self, reason: str) -> str:
        """Return the reason for Ironic if the holder sets maintenance.

        Ironic keeps the reason until the next maintenance replaces it, so the
        maintenance of one holder is never taken for that of another.
        """
        # Ironic cuts a long reason at its end.
        return f'{self._mark} {reason}'.rstrip()

    def maintains(self, shown: str | None) -> bool:
        """Return whether a reason in Ironic was written for this holder."""
        return shown is not None and shown.startswith(self._mark)

    @property
    def _mark(self) -> str:
        return f'{_OF_HOLDER}{self.holder}]'

    def after(self, acts: Collection[str], settles_at: datetime.datetime,
              settled: bool = True) -> Handover:
        """Return the handover after further acts.

        :param acts: as in :attr:`acts`.
        :param settled: whether it is certain that the acts are over at
            ``settles_at``.
        """
        return dataclasses.replace(
            self, acts=_bounded(self.acts.union(acts), self.document),
            dirty=True, earlier=self.settles_at,
            settled=settled and self.settled, earlier_settled=self.settled,
            # NOTE: another time than that of every earlier act.
            settles_at=max(settles_at, self.settles_at + datetime.timedelta(
                microseconds=1)))


def first(node_uuid: str, holder: str, document: Document | None,
          acts: Collection[str], settles_at: datetime.datetime,
          settled: bool = True) -> Handover:
    """Return the handover after the first acts of a holder."""
    return Handover(node_uuid, holder, document, _bounded(acts, document),
                    True, settles_at, settled=settled)


def parts_of(acts: Collection[str]) -> frozenset[str]:
    """Return the parts of a document that only some acts can change."""
    return frozenset(part for act in acts for part in _PARTS.get(act, ()))


def _bounded(acts: Collection[str],
             document: Document | None) -> frozenset[str]:
    """Return acts, limited to a size that no holder can exceed.

    A field with many written parts is put back as a whole. Fields that Ironic
    does not show are omitted, since it refuses to write them.
    """
    kept = {act for act in acts if (
        document is None or root(act) in document.node
        if act.startswith('/') else len(act) <= _LONGEST_NAME)}
    parts: dict[str, list[str]] = {}
    for act in kept:
        if act.startswith('/'):
            parts.setdefault(root(act), []).append(act)
    whole = {name for name, found in parts.items()
             if len(found) > _MOST_PARTS or max(map(len, found)) > _LONGEST}
    return frozenset(
        f'/{root(act)}' if act.startswith('/') and root(act) in whole else act
        for act in kept)


def root(pointer: str) -> str:
    """Return the field of a node that a JSON pointer names."""
    return pointer.lstrip('/').partition('/')[0]


def is_of_holder(shown: str | None) -> bool:
    """Return whether a reason in Ironic was written for any holder."""
    return shown is not None and shown.startswith(_OF_HOLDER)
