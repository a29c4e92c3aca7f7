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


"""What a storm is made of: how many nodes, which faults, what people do."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses


@dataclasses.dataclass(frozen=True)
class Times:
    """How long things may take, in seconds; low, so that storms are short.

    :ivar rpc: until an API gives up on its conductor.
    :ivar conductor: until a conductor does what it was sent, or never: more
        than what stands between holds back, less what an API waits for.
    :ivar longest_stop: longer than every time-out.
    :ivar longest_hold: of a request to an API.
    :ivar longest_rpc_hold: of a request to a conductor.
    :ivar late: within that time whatever has been sent is done, refused, or
        never done: the longest hold, the longest stop, and all time-outs.
    """

    rpc: int = 6
    in_flight: int = 10
    conductor: int = 15
    claim: int = 5
    client: float = 10.0
    shortest_stop: float = 1.0
    longest_stop: float = 14.0
    longest_hold: float = 20.0
    longest_rpc_hold: float = 10.0
    late: float = 60.0


#: How often each fault is, in parts of the whole.
FAULTS: Mapping[str, int] = {
    'kill': 2, 'stop': 4, 'hold': 6, 'hold_rpc': 4, 'cut': 2, 'refuse': 1,
    'swallow': 4, 'stop_at_commit': 4, 'kill_at_commit': 2, 'hold_write': 6}
#: How often each of the small ones is, which hit one request, one
#: transaction, or a process for a moment.
GUSTS: Mapping[str, int] = {
    'blink': 6, 'set_clock': 3, 'slow_answer': 2, 'lost_answer': 2,
    'repeat': 3, 'cut_request': 1, 'short_hold': 3, 'rpc': 6,
    'cut_write': 5, 'cut_commit': 4, 'swallow': 4, 'slow_commit': 6,
    'short_write': 8, 'mute': 1, 'kill_session': 5}
#: What a transaction that is hit does, in the words of its statements; empty:
#: anything.
AIMS = ('', '', '', '', 'INTO reservations', 'INTO leases',
        'UPDATE reservations', 'UPDATE leases', 'FROM reservations',
        'INTO in_flight_requests', 'UPDATE nodes', 'holds')
#: How often a tenant does what.
LIVES: Mapping[str, int] = {
    'reserve': 5, 'linger': 2, 'lease': 5, 'repeat': 1, 'act': 8, 'squat': 2,
    'intrude': 6, 'allocate': 1, 'look_round': 1, 'rush': 1, 'line_up': 2}
#: How often an operator does what.
ACTS: Mapping[str, int] = {'maintain': 2, 'recreate': 1, 'reclass': 1,
                           'close': 1, 'tidy': 1, 'reown': 1}
#: What another one does who looks after nothing but maintenance windows.
BOOKS: Mapping[str, int] = {'book': 3, 'look_after': 1}


@dataclasses.dataclass(frozen=True)
class Mix:
    """What a storm is made of.

    :ivar calm: whether nothing fails, and each answer has to come.
    :ivar faults: how often each is, by its name.
    :ivar gusts: how often each of the small ones is, by its name.
    :ivar gusting: how many of those come side by side.
    :ivar gust_pause: between two of them, in seconds: the least and the
        most.
    :ivar trouble: how many of the requests that change something Ironic
        itself fails at.
    :ivar lives: how often a tenant does what, by its name.
    :ivar acts: how often an operator does what, by its name.
    :ivar booking: whether there is one who books nodes for maintenance.
    :ivar pause: between two faults, in seconds: the least and the most.
    :ivar leisure: between two things that a tenant does, likewise.
    :ivar between: between two looks at a reservation, likewise.
    :ivar used: how many reservations are.
    :ivar acted_on: how many of their nodes are changed by their holders.
    :ivar keyed: how many requests for reservations and windows have a key,
        which says which one they are, and no other name.
    :ivar rounds: between two things that an operator does, likewise; each
        time all leases are read for the checker.
    :ivar classes: how many nodes of which resource class.
    :ivar all_hosts: in how many storms all nodes can be leased
        (``[leases] hosts``), and none has to be opened.
    :ivar instances: how many of all leases are of instances.
    :ivar sizes: how many VCPUs these ask for.
    :ivar starts: in how many seconds leases start.
    :ivar lengths: how many seconds they last.
    :ivar held_for: how many seconds those last whose holders change the node,
        unless they end them before.
    :ivar open_dates: how many of all leases leave their dates open.
    :ivar reopened: how many changes of a lease that has not started are of
        what is left open of its dates.
    :ivar fix_before: how many seconds before their start these are fixed.
    :ivar queued: how many of the others wait where they do not fit.
    :ivar lined_up: how many of those wait for one node, which somebody has.
    :ivar ended: how many of them are ended before.
    :ivar no_show: after how many seconds a node that a lease has not deployed
        is released, by its class.
    :ivar of_class: how many nodes of a class a project may have leased at the
        same time.
    :ivar reserved_of_class: how many it may have reserved.
    :ivar owned: how many of the nodes have an owner, one of the tenants.
    :ivar owner_notice: within how many seconds owners can have them back.
    :ivar aims: what a transaction has to do first so that a fault at its end
        is meant for it, in the words of its statements; empty: anything.
    :ivar held: what a request has to have in it to be held back.
    :ivar stopped: how many processes are stopped at once, at most.
    :ivar off: by how much wall clocks are off, in seconds.
    """

    calm: bool = False
    faults: Mapping[str, int] = dataclasses.field(
        default_factory=lambda: FAULTS)
    gusts: Mapping[str, int] = dataclasses.field(
        default_factory=lambda: GUSTS)
    gusting: int = 0
    gust_pause: tuple[float, float] = (0.05, 0.8)
    trouble: float = 0.0
    lives: Mapping[str, int] = dataclasses.field(
        default_factory=lambda: LIVES)
    acts: Mapping[str, int] = dataclasses.field(
        default_factory=lambda: ACTS)
    booking: bool = False
    pause: tuple[float, float] = (0.5, 3.5)
    leisure: tuple[float, float] = (0.1, 1.5)
    between: tuple[float, float] = (0.1, 2.0)
    used: float = 0.5
    acted_on: float = 0.0
    keyed: float = 0.3
    rounds: tuple[float, float] = (2.0, 6.0)
    classes: Mapping[str, int] = dataclasses.field(
        default_factory=lambda: {'gold': 6, 'silver': 4})
    all_hosts: float = 0.0
    instances: float = 0.3
    sizes: tuple[int, ...] = (1, 4, 8)
    starts: tuple[int, ...] = (0, 0, 0, 3, 10)
    lengths: tuple[int, ...] = (10, 15, 25, 40)
    held_for: tuple[int, ...] = (20, 30)
    open_dates: float = 0.0
    reopened: float = 0.0
    fix_before: tuple[int, ...] = (0, 2, 5)
    queued: float = 0.0
    lined_up: float = 0.0
    ended: float = 0.6
    no_show: Mapping[str, int] = dataclasses.field(default_factory=dict)
    of_class: Mapping[str, int] = dataclasses.field(default_factory=dict)
    reserved_of_class: Mapping[str, int] = dataclasses.field(
        default_factory=dict)
    owned: float = 0.0
    owner_notice: int = 0
    aims: tuple[str, ...] = ('',)
    held: str = ''
    stopped: int = 5
    off: tuple[float, ...] = (0.0, 0.0, 1.5, -1.5, 30.0, -30.0)
    times: Times = dataclasses.field(default_factory=Times)

    @classmethod
    def of_calm(cls) -> Mix:
        """Return the mix of a crowd that wants nodes, where nothing fails."""
        return cls(calm=True, faults={}, leisure=(0.0, 0.2),
                   between=(0.0, 0.2), used=0.1, classes={'gold': 12},
                   lives={'reserve': 12, 'squat': 1, 'intrude': 2,
                          'allocate': 1}, acts={})

    @classmethod
    def of_all(cls) -> Mix:
        """Return the mix of a storm that looks for whatever there is."""
        return cls(gusting=4, trouble=0.12, all_hosts=0.5,
                   leisure=(0.05, 0.6), lengths=(10, 15, 15, 25, 40, 75),
                   aims=AIMS, sizes=(1, 4, 8, 16),
                   classes={'gold': 8, 'silver': 6},
                   open_dates=0.25, reopened=0.4, queued=0.4,
                   lined_up=0.6, acted_on=0.3,
                   no_show={'silver': 8}, booking=True,
                   of_class={'gold': 2, 'silver': 2},
                   reserved_of_class={'gold': 1}, owned=0.4, owner_notice=90)


@dataclasses.dataclass(frozen=True)
class Best:
    """The storm that shows soonest that something is broken.

    :ivar kind: of the databases.
    :ivar placement: whether there is a Placement, with compute hosts.
    :ivar seconds: how long there are faults, at most.
    """

    mix: Mix = dataclasses.field(default_factory=Mix)
    kind: str = 'postgresql'
    placement: bool = False
    seconds: float = 180.0
