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
#: Steps among them of which Ironic does not show all that they change.
UNKNOWN_STEPS = 'steps:unknown'
BOOT_DEVICE = 'boot_device'
#: Settings that are read only before the first act that could change them,
#: since some of them are read from the machine.
_PARTS = {BOOT_DEVICE: (BOOT_DEVICE,), STEPS: ('bios', 'firmware')}
#: The number of parts of a field, and the length of their pointers, up to
#: which each is put back by itself.
_MOST_PARTS = 50
_LONGEST = 200
#: How many requests of the holder of a node may wait for their answers at
#: once, and the seconds after which one is taken to be carried out.
MOST_UNANSWERED = 20
LONGEST_UNANSWERED = 60
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
class Unanswered:
    """A request of a holder whose answer is not known.

    :ivar token: identifies it.
    :ivar at: the time at which it was recorded.
    :ivar adds: the acts that no answered request has recorded.
    :ivar soils: whether no answered request has made the node dirty.
    """

    token: str
    at: datetime.datetime
    adds: frozenset[str] = frozenset()
    soils: bool = True


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
    :ivar unanswered: the requests without an answer; their acts count, since
        Ironic may carry them out.
    :ivar token: that of the last request; ``None`` if the handover was read
        from its row.
    :ivar before: the row before the last request; ``None``: there was none,
        or the handover was read from its row.
    """

    node_uuid: str
    holder: str
    document: Document | None
    acts: frozenset[str]
    dirty: bool
    settles_at: datetime.datetime
    phase: Phase = Phase.LENT
    settled: bool = True
    unanswered: tuple[Unanswered, ...] = ()
    token: str | None = dataclasses.field(default=None, compare=False)
    before: Handover | None = dataclasses.field(default=None, compare=False)

    @property
    def earlier(self) -> datetime.datetime | None:
        """``settles_at`` before the last act was added."""
        return None if self.before is None else self.before.settles_at

    @property
    def earlier_settled(self) -> bool:
        """``settled`` before the last act was added."""
        return self.before is None or self.before.settled

    @property
    def _certain(self) -> frozenset[str]:
        """The acts of requests that Ironic has not refused."""
        return self.acts.difference(*(each.adds for each in self.unanswered))

    def waits_for(self, token: str | None) -> bool:
        """Return whether the answer to a request is not known."""
        return any(each.token == token for each in self.unanswered)

    def adds(self, act: str) -> bool:
        """Return whether the last request is the first one with an act."""
        return any(act in each.adds for each in self.unanswered
                   if each.token == self.token)

    @property
    def adds_steps(self) -> bool:
        """Whether the last request is the first one with some steps."""
        return any(act.partition(':')[0] == STEPS for each in self.unanswered
                   if each.token == self.token for act in each.adds)

    def crowded(self, now: datetime.datetime) -> bool:
        """Return whether too many requests have no answer."""
        return len(_young(self.unanswered, now)) >= MOST_UNANSWERED

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
              settled: bool = True,
              request: Unanswered | None = None) -> Handover:
        """Return the handover after further acts.

        :param acts: as in :attr:`acts`.
        :param settled: whether it is certain that the acts are over at
            ``settles_at``.
        :param request: the request of the acts, with its token and its time;
            ``None``: Ironic will not refuse them.
        """
        known = self if request is None else dataclasses.replace(
            self, unanswered=_young(self.unanswered, request.at))
        kept = _bounded(known.acts.union(acts), known.document)
        more = known.unanswered
        if request is not None:
            certain = known._certain
            # A part that is written for certain is now in its whole field.
            whole = {f'/{root(act)}' for act in certain - kept}
            more += (dataclasses.replace(
                request, adds=_as_kept(acts, kept) - certain - whole,
                soils=not known.dirty or any(each.soils for each in more)),)
        return dataclasses.replace(
            self, acts=kept, dirty=True,
            before=dataclasses.replace(self, before=None),
            settled=settled and self.settled, unanswered=more,
            token=None if request is None else request.token,
            # NOTE: another time than that of every earlier act.
            settles_at=max(settles_at, self.settles_at + datetime.timedelta(
                microseconds=1)))

    def carried_out(self, token: str | None) -> Handover:
        """Return the handover after Ironic has not refused a request."""
        done, left = self._split(token)
        return dataclasses.replace(
            self, acts=self.acts.union(*(each.adds for each in done)),
            unanswered=tuple(dataclasses.replace(
                each, adds=each.adds.difference(*(
                    one.adds for one in done)), soils=each.soils and not any(
                        one.soils for one in done)) for each in left))

    def refused(self, token: str | None) -> Handover | None:
        """Return the handover after a request has changed nothing.

        :returns: ``None``: then nothing is recorded.
        """
        done, left = self._split(token)
        alone = {act for each in done for act in each.adds}.difference(
            *(each.adds for each in left))
        acts = self.acts - alone
        dirty = self.dirty and (any(each.soils for each in left)
                                or not any(each.soils for each in done))
        return dataclasses.replace(
            self, acts=acts, dirty=dirty, unanswered=tuple(left)
            ) if acts or dirty or left else None

    def _split(self, token: str | None
               ) -> tuple[list[Unanswered], list[Unanswered]]:
        """Return a request without an answer, and all others."""
        return ([each for each in self.unanswered if each.token == token],
                [each for each in self.unanswered if each.token != token])


def _as_kept(acts: Collection[str], kept: Collection[str]) -> frozenset[str]:
    """Return acts by the names under which they are kept."""
    names = (act if act in kept else f'/{root(act)}' for act in acts)
    return frozenset(name for name in names if name in kept)


def _young(requests: Collection[Unanswered],
           now: datetime.datetime) -> tuple[Unanswered, ...]:
    """Return requests that may still get an answer soon."""
    since = now - datetime.timedelta(seconds=LONGEST_UNANSWERED)
    return tuple(each for each in requests if each.at > since)


def first(node_uuid: str, holder: str, document: Document | None,
          acts: Collection[str], settles_at: datetime.datetime,
          settled: bool = True,
          request: Unanswered | None = None) -> Handover:
    """Return the handover after the first acts of a holder.

    :param request: as in :meth:`Handover.after`.
    """
    kept = _bounded(acts, document)
    return Handover(
        node_uuid, holder, document, kept, True, settles_at, settled=settled,
        unanswered=() if request is None else (
            dataclasses.replace(request, adds=kept),),
        token=None if request is None else request.token)


def steps_of(interface: str) -> str:
    """Return the act of steps whose effects Ironic shows by their interface.

    It is added to :data:`STEPS`.
    """
    return f'{STEPS}:{interface}'


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
