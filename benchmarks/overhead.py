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

"""What the guard costs: requests with and without it, in turn."""

from __future__ import annotations

import statistics
import tempfile
import time

import requests

from benchmarks import table
from tools import all_in_one
from tools import enrolment

_ROUNDS = 200
_DEPLOYS = 30
_VERSION = {'X-OpenStack-Ironic-API-Version': '1.81'}


def run() -> None:
    """Measure, and print the table."""
    with (tempfile.TemporaryDirectory() as one,
          tempfile.TemporaryDirectory() as other,
          all_in_one.AllInOne(one, middleware=False) as bare,
          all_in_one.AllInOne(other) as guarded,
          requests.Session() as session):
        session.headers.update(_VERSION)
        nodes = {service.url: enrolment.enroll(session, service.url, _DEPLOYS)
                 for service in (bare, guarded)}
        rows = []
        ratios: dict[str, float] = {}
        for what, rounds, ask in (
                ('GET /v1/nodes?limit=1', _ROUNDS, _list),
                ('GET /v1/nodes, free ones', 50, _eligible),
                ('PUT .../states/provision', _DEPLOYS, _deploy)):
            times: dict[str, list[float]] = {bare.url: [], guarded.url: []}
            for number in range(rounds):
                # NOTE: each is first in half of the rounds, as a deploy goes
                # on in the background after its answer.
                for url in (times if number % 2 else reversed(times)):
                    began = time.perf_counter()
                    ask(session, url, nodes[url], number)
                    times[url].append(time.perf_counter() - began)
            ratios[what] = (statistics.median(times[guarded.url])
                            / statistics.median(times[bare.url]))
            for name, url in (('without', bare.url),
                              ('with the guard', guarded.url)):
                rows.append(table.Row(f'{what}, {name}', times[url],
                                      sum(times[url])))
        table.show('What the guard adds', rows)
        for what, ratio in ratios.items():
            print(f'{what}: {ratio:.2f} times the median without the guard')


def _list(session: requests.Session, url: str,
          nodes: list[enrolment.Enrolled], number: int) -> None:
    session.get(f'{url}/v1/nodes?limit=1').raise_for_status()


def _eligible(session: requests.Session, url: str,
              nodes: list[enrolment.Enrolled], number: int) -> None:
    session.get(f'{url}/v1/nodes?provision_state=available&associated=false'
                ).raise_for_status()


def _deploy(session: requests.Session, url: str,
            nodes: list[enrolment.Enrolled], number: int) -> None:
    session.put(f'{url}/v1/nodes/{nodes[number].uuid}/states/provision',
                json={'target': 'active'}).raise_for_status()
