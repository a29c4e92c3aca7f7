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

import json
import pathlib
import re
from typing import Any

from tests.inprocess.api import asking

PAGE = (pathlib.Path(__file__).parents[3] / 'doc' / 'source' / 'admin'
        / 'owners.rst')
_OWNER = {'x_roles': 'member,reader',
          'x_project_id': 'b2f7c04e9d1a4c5f8e6d3a7b90c1d2e4'}
_OTHER = {**_OWNER, 'x_project_id': 'a2f7c04e9d1a4c5f8e6d3a7b90c1d2e4'}
_OLD, _NEW = asking.since(16), asking.since(17)


def _examples() -> tuple[Any, Any]:
    """Return the requests on the page, in their order."""
    found = re.findall(r'\.\. code-block:: json\n\n((?:    .*\n)+)',
                       PAGE.read_text())
    others, owners = map(json.loads, found)
    return others, owners


class TestOwnerNotice(asking.AskingCase):
    """The examples of the page, with a node of an owner."""

    options = {'leases__owner_notice': 86400, 'leases__cleaning_time': 1800}
    nodes = {'gold-0': {'resource_class': 'gold',
                        'owner': _OWNER['x_project_id']}}

    def _post(self, status: int, who: dict[str, str], document: Any) -> Any:
        return self.ask('POST', '/v1/leases', status, document, who)

    def test_others_get_it_for_as_long_as_the_notice_lasts(self) -> None:
        """After that the node is the owner's."""
        others, owners = _examples()
        refused = self._post(409, _OTHER, others)
        details = refused['details']
        self.assertEqual(['hosts_are_lent'],
                         [each['code'] for each in details['reasons']])
        self.assertNotIn(_OWNER['x_project_id'], json.dumps(refused))
        self._post(201, _OWNER, owners)

    def test_plan_and_calendar_tell_since_1_17(self) -> None:
        """Older versions, and the owner, see the same as before."""
        for who, lent in ((_OTHER, True), (_OWNER, False)):
            made = self._post(201, who, {
                'name': 'short', 'start_date': asking.ahead(1),
                'end_date': asking.ahead(2), 'reservations': asking.hosts()}
            )['lease']
            path = f'/v1/leases/{made["id"]}'
            new, old = (self._read(path, who, version)['lease'][
                'reservations'][0]['nodes'][0] for version in (_NEW, _OLD))
            self.assertEqual({'uuid', 'state'}, old.keys())
            self.assertEqual({'uuid', 'state', 'lent_until'}, new.keys())
            self.assertIs(lent, new['lent_until'] is not None)
            self.ask('DELETE', path, 204, who=who)
        path = '/v1/calendar?from=2050-01-01T00:00Z&to=2050-01-02T00:00Z'
        for who, version, free in (
                (_OTHER, _NEW, 0), (asking.OPERATOR, _NEW, 0),
                (_OWNER, _NEW, 1), (_OTHER, _OLD, 1)):
            found = self._read(path, who, version)['calendar']
            self.assertEqual([[0, free]], found['classes'][0]['steps'])

    def test_calendar_tells_which_hosts_are_lent_since_1_19(self) -> None:
        """The end is shown if it is in the window."""
        later = '/v1/calendar?rows=true&from=2050-01-01T00:00Z'
        end = asking.ahead(1).replace(' ', 'T')
        soon = f'/v1/calendar?rows=true&to={end}Z'
        before, since = asking.since(18), asking.since(19)
        for who, lent in ((_OTHER, True), (asking.OPERATOR, True),
                          (_OWNER, False)):
            far, near = (self._read(path, who, since)['calendar']
                         for path in (later, soon))
            for found in (far, near):
                self.assertIs(lent, found['hosts'][0]['lent'])
            self.assertEqual((0 if lent else None, None),
                             (far['lent_until'], near['lent_until']))
            old = self._read(later, who, before)['calendar']
            self.assertNotIn('lent', old['hosts'][0])
            self.assertNotIn('lent_until', old)

    def _read(self, path: str, who: dict[str, str], version: str) -> Any:
        return self.ask('GET', path, who=who, version=version)

    def test_only_its_own_nodes_may_a_project_ask_for(self) -> None:
        """Otherwise a project could find out the owners of nodes."""
        _, owners = _examples()
        refused = self._post(400, _OTHER, owners)
        self.assertIn('There is no property $owner', json.dumps(refused))
        # A caller who may name any property is still not the owner.
        self._post(409, asking.OPERATOR, owners)
        self._post(201, _OWNER, owners)

    def test_what_ends_in_time_is_granted(self) -> None:
        """The offer is accepted unchanged."""
        others, _ = _examples()
        offers = self._post(409, _OTHER, {
            **others, 'start_date': 'now'})['details']['offers']
        self.assertEqual(['shorter'], [each['kind'] for each in offers])
        self._post(201, _OTHER, offers[0]['lease'])
