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

"""Leases of some days, so that the calendar has something to show."""

from __future__ import annotations

import dataclasses
import datetime

import requests

PAGE = '/reservation/calendar/'
_TIMEOUT = 60


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A lease.

    :ivar start: in hours from now; 0, at once.
    :ivar hours: how long it lasts.
    """

    name: str
    resource_class: str
    hosts: int
    start: float
    hours: float


def book(session: requests.Session, url: str, *leases: Wanted) -> None:
    """Open all nodes of the classes of some leases, and make these.

    :param url: of Ironic's API.
    :raises requests.HTTPError: it was refused.
    """
    for name in sorted({each.resource_class for each in leases}):
        session.post(f'{url}/v1/os-hosts', json={'resource_class': name},
                     timeout=_TIMEOUT).raise_for_status()
    now = datetime.datetime.now(datetime.UTC)
    for each in leases:
        start = now + datetime.timedelta(hours=each.start)
        end = start + datetime.timedelta(hours=each.hours)
        session.post(f'{url}/v1/leases', timeout=_TIMEOUT, json={
            'name': each.name,
            'start_date': start.isoformat() if each.start else 'now',
            'end_date': end.isoformat(), 'events': [],
            'reservations': [{
                'resource_type': 'physical:host', 'min': each.hosts,
                'max': each.hosts, 'hypervisor_properties': '',
                'resource_properties':
                    f'["==", "$resource_class", "{each.resource_class}"]',
            }]}).raise_for_status()
