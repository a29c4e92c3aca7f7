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

``python -m benchmarks replay FILE`` has options of its own.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import claims
from benchmarks import overhead
from benchmarks import pages
from benchmarks import planning
from benchmarks import pool
from benchmarks import replay

_ALL = ('claims', 'pages', 'overhead', 'planning', 'pool')


def main() -> None:
    """Measure what the command line names."""
    if sys.argv[1:2] == ['replay']:
        replay.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser('python -m benchmarks',
                                     description=__doc__)
    parser.add_argument('what', nargs='*', choices=[*_ALL, []], default=_ALL)
    parser.add_argument('--server', default='mysql+pymysql://root@127.0.0.1',
                        help='SQLAlchemy URL of a database server where '
                             'databases can be made (%(default)s)')
    parser.add_argument('--nodes', type=int, default=1000)
    parser.add_argument('--claims', type=int, default=50)
    parser.add_argument('--reservations', type=int, default=10000)
    given = parser.parse_args()
    what = given.what or _ALL
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


if __name__ == '__main__':
    main()
