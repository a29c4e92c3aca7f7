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


"""What a storm is judged by."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
from typing import Any

from tests.processes.checker import commits
from tests.processes.checker import dates
from tests.processes.checker import gone
from tests.processes.checker import handed
from tests.processes.checker import history
from tests.processes.checker import kept
from tests.processes.checker import notices
from tests.processes.checker import owners
from tests.processes.checker import promises
from tests.processes.checker import quiet
from tests.processes.checker import reservations
from tests.processes.checker import shares
from tests.processes.checker import starts
from tests.processes.checker import windows

_OURS = ('/v1/reservations', '/v1/leases', '/v1/os-hosts',
         '/v1/availability', windows.WINDOWS)
_SHORTEST = 0.05
#: An answer of a machine that has too much to do: ask again.
_BUSY = frozenset({'service.database_unavailable'})
#: How long, in seconds, reading all tables may take.
_READ_WITHIN = 5.0
#: So long, in seconds, before it hands a request over that keeps no node the
#: guard may have looked who has it.
_FRESH = 5.0


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that must not be.

    :ivar rule: which rule it breaks.
    :ivar at: when, on the one clock.
    :ivar about: the node, reservation or lease that it is about.
    :ivar others: more whose events belong to its story.
    """

    rule: str
    at: float
    about: str
    text: str
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert self.rule in kept.KEPT_BY


@dataclasses.dataclass(frozen=True)
class Case:
    """A history, with what each rule needs of it."""

    told: history.History
    sure: list[owners.Sure]
    asked: dict[str, history.Exchange]

    def count(self, rule: str, times: int = 1) -> None:
        """Count that a rule was in a position to find something."""
        self.told.judged[rule] += times

    def owners_of(self, node: str, begin: float,
                  end: float) -> Iterator[owners.Sure]:
        """Return whose a node surely was all through some time."""
        seen = set()
        for sure in self.sure:
            if (sure.node == node and sure.covers(begin, end)
                    and sure.owner not in seen):
                seen.add(sure.owner)
                yield sure


def judge(told: history.History) -> list[Finding]:
    """Return all that is wrong, in the order in which it happened."""
    told.judged.clear()
    case = Case(told, owners.find(told),
                {each.id: each for each in told.exchanges})
    excuses = gone.Excuses(told)
    return sorted((found for rule in RULES for found in rule(case)
                   if not excuses.holds(found.rule, found.at,
                                        (found.about, *found.others))),
                  key=lambda found: found.at)


def _two_owners(case: Case) -> Iterator[Finding]:
    """Two have one node at one time."""
    open_now: dict[str, list[owners.Sure]] = {}
    last: dict[str, str] = {}
    told = set()
    for sure in case.sure:
        if sure.node in case.told.capacities:
            continue
        case.count('two owners', last.get(sure.node, sure.owner) != sure.owner)
        last[sure.node] = sure.owner
        others = [each for each in open_now.get(sure.node, ())
                  if each.end > sure.begin]
        for other in others:
            both = min(other.end, sure.end) - sure.begin
            pair = frozenset((other.owner, sure.owner))
            if other.owner != sure.owner and both > _SHORTEST and (
                    pair not in told):
                told.add(pair)
                yield Finding(
                    'two owners', sure.begin, sure.node,
                    f'{_name(sure)} and {_name(other)} both had it for '
                    f'{both:.1f} s', (sure.owner, other.owner))
        open_now[sure.node] = [*others, sure]


def _done_to_anothers(case: Case) -> Iterator[Finding]:
    """Something was done to a node in the name of one who has it not."""
    for done in case.told.done:
        if done.kind != 'node' or done.what != 'save':
            continue
        by = case.asked.get(done.request or '')
        for sure in case.owners_of(done.uuid, done.began, done.ended):
            case.count('done to the node of another')
            for wrong in _wrong(done, by, sure):
                yield Finding(
                    'done to the node of another', done.began, done.uuid,
                    f'{wrong} at {done.began:.2f} {_by(by)}, while '
                    f'{_name(sure)} had it',
                    (sure.owner,))


def _wrong(done: history.Done, by: history.Exchange | None,
           sure: owners.Sure) -> Iterator[str]:
    # NOTE: a project uses the nodes of its own leases without a proof.
    shows = by is not None and (by.proof in sure.proofs or (
        by.project is not None and by.project == sure.project
        and (by.op == 'act' or sure.lease and by.proof is None)))
    state = done.values.get('provision_state')
    if state == 'deploying' and not shows:
        yield 'deployed'
    elif state == 'deleting' and by is None:
        yield 'undeployed'
    elif state in ('manageable', 'adopting', 'enroll') and not shows:
        yield f'made {state}'
    if done.values.get('instance_uuid') and by is not None and (
            by.op == 'bind' and not shows):
        yield 'bound'
    if done.values.get('maintenance') and by is not None and (
            by.op == 'meddle' and not shows
            and by.project != sure.project):
        yield 'put into maintenance'
    if 'lessee' in done.values:
        lessee = done.values['lessee']
        if lessee != sure.project and (sure.lease or lessee is not None):
            yield f'given to {lessee}'


def _switched(case: Case) -> Iterator[Finding]:
    """A node was switched on or off by one who has it not."""
    for done in case.told.done:
        by = case.asked.get(done.request or '')
        if by is None or by.op != 'switch' or (
                not done.values.get('target_power_state')):
            continue
        looked = case.told.handed.get(by.id, 0.0) - _FRESH
        for sure in case.owners_of(done.uuid, done.began, done.ended):
            if by.project != sure.project and sure.begin < looked:
                yield Finding('done to the node of another', done.began,
                              done.uuid, f'switched {_by(by)}, while '
                              f'{_name(sure)} had it', (sure.owner,))


def _not_as_lent(case: Case) -> Iterator[Finding]:
    """Somebody has a node as its holder before has left it."""
    for at, node, text, others in handed.Handed(case.told, case.sure).wrong():
        yield Finding('not as lent', at, node, text, others)


def _allocated(case: Case) -> Iterator[Finding]:
    """An allocation landed on a node that somebody has."""
    for done in case.told.done:
        node = case.told.node_ids.get(done.values.get('node_id') or 0)
        if done.kind != 'allocation' or node is None:
            continue
        for sure in case.owners_of(node, done.began, done.ended):
            case.count('done to the node of another')
            by = next((each for each in case.told.exchanges
                       if each.op == 'allocate'
                       and each.body.get('uuid') == done.uuid), None)
            if by is None or by.proof not in sure.proofs:
                yield Finding('done to the node of another', done.began,
                              node, f'allocated to {done.uuid}, while '
                              f'{_name(sure)} had it',
                              (sure.owner, done.uuid))


def _lost(case: Case) -> Iterator[Finding]:
    """What was acknowledged is not there."""
    for each in case.told.exchanges:
        for base in (owners.RESERVATIONS, owners.LEASES):
            if not each.plain_path.startswith(f'{base}/'):
                continue
            owner = each.plain_path.rpartition('/')[2]
            for sure in _sure_of(case, owner, each):
                case.count('lost')
                if each.status == 404:
                    yield Finding('lost', each.got, owner,
                                  f'{_name(sure)} is answered 404 to '
                                  f'{each.op} of {each.who}', (sure.node,))
                elif each.method == 'GET' and each.status == 200 and (
                        sure.node not in _nodes(each)):
                    yield Finding('lost', each.got, owner,
                                  f'{_name(sure)} is shown to '
                                  f'{each.who} without node {sure.node}',
                                  (sure.node,))


def _lost_from_a_list(case: Case) -> Iterator[Finding]:
    """The list of a project's reservations has all of them, each once."""
    for each in case.told.exchanges:
        if each.op != 'list' or not each.done:
            continue
        listed = [given['uuid'] for given
                  in owners.reservations_in(each.answer)]
        for sure in case.sure:
            if not sure.lease and sure.project == each.project and (
                    sure.covers(each.sent, each.got)
                    and listed.count(sure.owner) != 1):
                yield Finding('lost', each.got, sure.owner,
                              f'{_name(sure)} is in a list '
                              f'{listed.count(sure.owner)} times',
                              (sure.node,))


def _lost_in_the_end(case: Case) -> Iterator[Finding]:
    """What is surely there is in the tables once the storm is over."""
    for snapshot in case.told.snapshots:
        there = quiet.promises(snapshot)
        for sure in case.sure:
            # NOTE: the tables were read a moment before.
            if sure.covers(snapshot['at'] - _READ_WITHIN,
                           snapshot['at']) and (
                    (sure.owner, sure.node) not in there):
                yield Finding('lost', snapshot['at'], sure.owner,
                              f'{_name(sure)} is not in the tables',
                              (sure.node,))


def _nodes(each: history.Exchange) -> set[str]:
    match each.answer:
        case {'reservation': {'node_uuid': node}}:
            return {node}
    return {node['uuid'] for lease in owners.leases_in(each.answer)
            if lease['status'] == 'ACTIVE'
            for reservation in lease['reservations']
            for node in reservation['nodes'] if node['state'] == 'bound'}


def _sure_of(case: Case, owner: str,
             each: history.Exchange) -> list[owners.Sure]:
    return [sure for sure in case.sure if sure.owner == owner
            and sure.covers(each.sent, each.got)][:1]


def _proof_refused(case: Case) -> Iterator[Finding]:
    """The proof of one who has the node does not open it."""
    for each in case.told.exchanges:
        if each.op != 'deploy' or each.proof is None or each.status is None:
            continue
        node = each.path.split('/')[3]
        for sure in case.owners_of(node, each.sent, each.got):
            if each.proof not in sure.proofs:
                continue
            case.count('proof refused')
            if any(code in ('reservation.proof_invalid',
                            'reservation.proof_required')
                   for code in each.codes):
                yield Finding('proof refused', each.got, node,
                              f'{_name(sure)} shows its proof, and is '
                              f'answered {each.status} {each.codes}',
                              (sure.owner,))


def _errors(case: Case) -> Iterator[Finding]:
    """No answer is an error of the service without a name.

    NOTE: where nothing fails, a reservation is given or refused, unless the
    machine has too much to do.
    """
    by_ironic = {passed.request for passed in case.told.passed
                 if passed.status is not None and passed.status >= 500}
    for each in case.told.exchanges:
        case.count('error', each.status is not None)
        ours = each.plain_path.startswith(_OURS)
        if each.status is None or each.status < 500 or (
                not ours and (each.id in by_ironic or not each.codes)):
            continue
        if each.status != 503 or not each.codes or (
                case.told.calm and not _BUSY.issuperset(each.codes)
                and each.plain_path.startswith(owners.RESERVATIONS)):
            yield Finding('error', each.got, each.path,
                          f'{each.method} {each.path} of {each.who} is '
                          f'answered {each.status}: '
                          f'{str(each.answer)[:300]}')


def _untrue(case: Case) -> Iterator[Finding]:
    """Nothing was done, says the answer; and it was."""
    tries: dict[str, list[history.Exchange]] = {}
    for each in case.told.exchanges:
        if each.op == 'reserve' and isinstance(each.body, dict):
            tries.setdefault(str(each.body.get('uuid')), []).append(each)
    for each in case.told.exchanges:
        if each.op != 'probe' or each.status not in (200, 404):
            continue
        uuid = each.plain_path.rpartition('/')[2]
        before = [one for one in tries.get(uuid, ())
                  if one.sent < each.got]
        case.count('untrue answer', bool(before))
        if each.status == 200 and before and all(
                _says_nothing(one) for one in before):
            yield Finding('untrue answer', before[-1].got, uuid,
                          f'{before[-1].status} {before[-1].codes} says that '
                          'nothing was promised, and it was')


def _says_nothing(each: history.Exchange) -> bool:
    return each.refused or (
        each.status == 503 and not each.repeated
        and 'nothing was promised' in str(each.answer))


def _over_promised(case: Case) -> Iterator[Finding]:
    """More is promised than there is."""
    told = set()
    for each in case.told.exchanges:
        if each.op != 'audit' or not each.done:
            continue
        by_node = promises.by_node(each)
        case.count('promised twice', sum(
            len(there) > 1 for there in by_node.values()))
        for node, why, leases in promises.exceeded(by_node,
                                                   case.told.capacities):
            if (node, leases) not in told:
                told.add((node, leases))
                yield Finding('promised twice', each.got, node,
                              f'{why}: {", ".join(leases)}', leases)


def _too_much(case: Case) -> Iterator[Finding]:
    """A project has more of a class than it may have."""
    for at, project, text, which in (*shares.leased(case.told),
                                     *shares.reserved(case.told, case.sure)):
        yield Finding('too much for a project', at, project, text, which)


def _lent_too_long(case: Case) -> Iterator[Finding]:
    """Somebody has the node of another project beyond its notice."""
    for at, lease, text, which in shares.lent(case.told):
        yield Finding('lent for too long', at, lease, text, which)


def _dates_moved(case: Case) -> Iterator[Finding]:
    """The dates of a lease are not as they were promised."""
    for lease, each, text in dates.moved(case.told):
        yield Finding('dates moved', each.got, lease, text)


def _started_late(case: Case) -> Iterator[Finding]:
    """A lease that waits has not started when that was promised."""
    for at, lease, text in starts.late(case.told):
        yield Finding('started late', at, lease, text)


def _in_maintenance(case: Case) -> Iterator[Finding]:
    """A maintenance window does not have its nodes, or more than those."""
    sure = windows.find(case.told)
    for done, window in windows.deployed(case.told, sure):
        yield Finding('deployed in maintenance', done.began, done.uuid,
                      f'{_by(case.asked.get(done.request or ""))}, in the '
                      f'window {window.window}', (window.window,))
    for each, window, lease in windows.crossed(case.told, sure):
        yield Finding('promised across maintenance', each.got, lease,
                      f'node {window.node}, which the window '
                      f'{window.window} has from {window.starts:.2f} until '
                      f'{window.ends:.2f}', (window.node, window.window))
    for done, text in windows.meddled(case.told, sure):
        yield Finding('maintenance of another', done.began, done.uuid,
                      f'{text} was changed by nobody who was asked: '
                      f'{done.values}')


def _not_told(case: Case) -> Iterator[Finding]:
    """Somebody was not told of what became of a lease."""
    for at, lease, text in notices.missing(case.told):
        yield Finding('not told', at, lease, text)


def _charged_wrong(case: Case) -> Iterator[Finding]:
    """The enforcement service was told otherwise than clients were."""
    for at, lease, text in commits.wrong(case.told):
        yield Finding('charged wrong', at, lease, text)


def _made_twice(case: Case) -> Iterator[Finding]:
    """A request that was sent again was served again."""
    keys: dict[str, str] = {}
    for each in case.told.exchanges:
        if each.op == 'lease' and each.key is not None:
            case.count('made twice', each.repeated
                       or each.body['name'] in keys)
            keys[each.body['name']] = each.key
    made: dict[str, set[str]] = {}
    for each in case.told.exchanges:
        if not each.done or each.dry:
            continue
        for lease in owners.leases_in(each.answer):
            ids = made.setdefault(lease.get('name', lease['id']), set())
            if lease['id'] in ids:
                continue
            ids.add(lease['id'])
            if len(ids) == 2 and lease['name'] in keys:
                yield Finding(
                    'made twice', each.got, lease['id'],
                    f'one request with the key {keys[lease["name"]]} has '
                    f'made the leases {" and ".join(sorted(ids))}',
                    tuple(ids))


def _booked_twice(case: Case) -> Iterator[Finding]:
    """So was one for a reservation, or a maintenance window."""
    keys = {each.body.get('name') or each.body['instance_uuid']: each.key
            for each in case.told.exchanges
            if each.op in ('reserve', 'book') and each.key is not None}
    made: dict[str, set[str]] = {name: set() for name in keys}
    for each in case.told.exchanges:
        for name, ident in _booked(each) if (
                each.done and not each.dry) else ():
            if name in keys and ident not in made[name]:
                made[name].add(ident)
                if len(made[name]) == 2:
                    yield Finding(
                        'made twice', each.got, ident, 'one request with '
                        f'the key {keys[name]} has made '
                        f'{" and ".join(sorted(made[name]))}')


def _booked(each: history.Exchange) -> Iterator[tuple[str, str]]:
    """Return what an answer shows: by what it was asked for, and its id."""
    for given in owners.reservations_in(each.answer):
        yield given.get('instance_uuid', ''), given['uuid']
    for window in windows.windows_in(each.answer):
        yield window.get('name', ''), window['uuid']


def _odd_reservations(case: Case) -> Iterator[Finding]:
    """What is said of reservations is true, and is what was asked for."""
    known = reservations.lives(case.told)
    said: tuple[tuple[str, Any], ...] = (
        ('untrue answer', reservations.refused(case.told, known)),
        ('untrue answer', reservations.came_back(case.told, known)),
        ('untrue answer', reservations.not_as_asked(case.told)),
        ('left over', reservations.of_nobody(case.told, known)),
        ('promised twice', reservations.in_use(case.told, known)))
    for rule, found in said:
        for at, about, text in found:
            yield Finding(rule, at, about, text)


def _left_over(case: Case) -> Iterator[Finding]:
    """After the storm there is quiet, and nothing is left over."""
    for snapshot in case.told.snapshots:
        case.count('left over')
        for what in snapshot['left_over']:
            yield Finding('left over', snapshot['at'], what['about'],
                          f'{snapshot["waited"]:.0f} s after '
                          f'{snapshot["phase"]}: {what["text"]}')


RULES: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    _two_owners, _done_to_anothers, _allocated, _lost, _lost_in_the_end,
    _proof_refused,
    _errors, _untrue, _over_promised, _too_much, _lent_too_long,
    _dates_moved, _started_late,
    _in_maintenance, _not_told, _charged_wrong, _made_twice, _left_over,
    _switched, _not_as_lent, _lost_from_a_list, _booked_twice,
    _odd_reservations)


def _name(sure: owners.Sure) -> str:
    kind = 'lease' if sure.lease else 'reservation'
    return (f'{kind} {sure.owner} of {sure.who} (sure until '
            f'{sure.end:.2f})')


def _by(by: history.Exchange | None) -> str:
    if by is None:
        return 'by nobody who was asked'
    return f'by {by.op} of {by.who} with the proof {by.proof} ({by.id})'
