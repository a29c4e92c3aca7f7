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

"""``python -m benchmarks [claims] [pages] ...``: all of them by default.

``python -m benchmarks proof``, ``replay FILE``, ``feasible`` and ``refusals``
have options of their own.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

from benchmarks import audit
from benchmarks import beside_blazar
from benchmarks import beside_release
from benchmarks import calendar
from benchmarks import calendar_page
from benchmarks import claims
from benchmarks import feasible
from benchmarks import handover
from benchmarks import holds
from benchmarks import leases
from benchmarks import overhead
from benchmarks import pages
from benchmarks import planning
from benchmarks import pool
from benchmarks import refusals
from benchmarks import replay
from benchmarks import shares
from benchmarks import starts
from benchmarks import year
from benchmarks.proof import command as proof

_ALL = ('claims', 'pages', 'overhead', 'planning', 'pool', 'leases',
        'calendar', 'shares', 'starts', 'handover', 'holds', 'audit')
#: How many nodes, and how many leases on them.
_LEASED = ((1000, 5000), (10000, 100000))


def main() -> None:
    """Measure what the command line names."""
    if sys.argv[1:2] == ['replay']:
        replay.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ['feasible']:
        feasible.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ['refusals']:
        refusals.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ['proof']:
        sys.exit(proof.main(sys.argv[2:]))
    parser = argparse.ArgumentParser('python -m benchmarks',
                                     description=__doc__)
    parser.add_argument('what', nargs='*', default=_ALL,
                        choices=[*_ALL, 'year', 'blazar', 'page', 'release',
                                 []])
    parser.add_argument('--server', default='mysql+pymysql://root@127.0.0.1',
                        help='SQLAlchemy URL of a database server where '
                             'databases can be made (%(default)s)')
    parser.add_argument('--nodes', type=int, default=1000)
    parser.add_argument('--claims', type=int, default=50)
    parser.add_argument('--reservations', type=int, default=10000)
    parser.add_argument('--leases', type=int, default=50,
                        help='how many leases are made by each client')
    parser.add_argument('--starts', type=int, default=10000,
                        help='how many leases start in one minute')
    parser.add_argument('--rounds', type=int, default=4,
                        help='how often nodes change hands')
    parser.add_argument('--changing', type=int, default=2,
                        help='how many nodes of each kind do so at once')
    parser.add_argument('--holds', type=int, default=200,
                        help='how many nodes are claimed in Placement')
    parser.add_argument('--audited', type=int, default=5000,
                        help='how many nodes are compared with Placement')
    parser.add_argument('--over', type=int, default=1_000_000,
                        help='how many leases are over, of a year of use')
    parser.add_argument('--blazar-python', type=pathlib.Path,
                        help='the Python of an environment that has Blazar; '
                             'by default one is made')
    parser.add_argument('--tree', type=pathlib.Path,
                        help='a checkout of the release to compare with')
    given = parser.parse_args()
    what = given.what or _ALL
    if 'release' in what and given.tree is None:
        parser.error('release needs --tree: which one to compare with?')
    if 'claims' in what:
        claims.run(given.server, given.nodes, given.claims)
    if 'pages' in what:
        pages.run(given.server, given.reservations)
    if 'overhead' in what:
        overhead.run()
    if 'planning' in what:
        planning.run()
    if 'pool' in what:
        pool.run()
    if 'leases' in what:
        for nodes, bookings in _LEASED:
            leases.run(given.server, nodes, bookings, given.leases)
    if 'calendar' in what:
        for nodes, bookings in _LEASED:
            calendar.run(given.server, nodes, bookings, 20)
    if 'shares' in what:
        shares.run(given.server, 10)
    if 'starts' in what:
        starts.run(given.server, given.starts)
    if 'handover' in what:
        handover.run(given.rounds, given.changing)
    if 'holds' in what:
        holds.run(given.server, given.nodes, given.holds)
    if 'audit' in what:
        audit.run(given.server, given.audited)
    if 'page' in what:
        for nodes, bookings in ((1000, 10000), (10000, 100000)):
            calendar_page.run(given.server, nodes, bookings)
    if 'year' in what:
        year.run(given.server, given.over, given.leases)
    if 'release' in what:
        beside_release.run(given.server, given.tree, given.nodes,
                           given.claims)
    if 'blazar' in what:
        beside_blazar.run(given.server, given.blazar_python)


if __name__ == '__main__':
    main()
