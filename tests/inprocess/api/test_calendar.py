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
"""GET /v1/calendar: free hosts over time, and the leases of each host."""

import gzip
import json
from typing import Any
import uuid

from tests.inprocess.api import asking
from tests.inprocess.api import world

_PATH = '/v1/calendar'
_DAY = 86400
_WEEK = f'{_PATH}?from=2050-01-01T00:00:00Z&to=2050-01-08T00:00:00Z'


class TestCalendar(asking.AskingCase):
    """Three gold hosts and a silver one; red and blue have a lease each."""

    options = {'leases__cleaning_time': 3600}
    nodes = {'host-0': {'resource_class': 'gold', 'owner': 'blue'},
             'host-1': {'resource_class': 'gold'},
             'host-2': {'resource_class': 'gold'},
             'host-3': {'resource_class': 'silver'}}

    def setUp(self) -> None:
        super().setUp()
        gold = '["==", "$resource_class", "gold"]'
        self.red = self.book('02 00', '04 00', 2, gold, name='red lease',
                             who={**asking.MEMBER, 'x_user_id': 'rose'})
        self.blue = self.book('03 00', '05 00', 1, gold, name='blue lease',
                              who=asking.OTHER)

    def read(self, path: str = _WEEK, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.ask('GET', path, **more)['calendar']
        return found

    def test_steps_of_classes(self) -> None:
        """The steps include the hour of cleaning, in seconds from the origin.
        """
        found = self.read()
        self.assertEqual('2050-01-01T00:00:00+00:00', found['origin'])
        self.assertEqual((7 * _DAY, 3600), (found['end'], found['margin']))
        self.assertEqual(
            [('gold', 3, [[0, 3], [_DAY, 1], [2 * _DAY, 0],
                          [3 * _DAY + 3600, 2], [4 * _DAY + 3600, 3]]),
             ('silver', 1, [[0, 1]])],
            [(each['resource_class'], each['hosts'], each['steps'])
             for each in found['classes']])
        self.assertEqual(3, found['classes'][0]['conditions']['usable'])
        self.assertNotIn('hosts', found)

    def test_rows(self) -> None:
        """Each lease is there once; leases of others have no name."""
        found = self.read(f'{_WEEK}&rows=true')
        self.assertEqual(['1', '2', '3', '4'],
                         [each['id'] for each in found['hosts']])
        shown = {(lease, *window) for each in found['hosts']
                 for *window, _, lease, _ in each['bookings']}
        mine, = (place for place, each in enumerate(found['leases'])
                 if each['own'])
        self.assertEqual({(mine, _DAY, 3 * _DAY),
                          (1 - mine, 2 * _DAY, 4 * _DAY)}, shown)
        self.assertEqual(
            {'id': self.red['id'], 'name': 'red lease', 'own': True,
             'project_id': 'red', 'degraded': False, 'status': 'PENDING',
             'user_id': 'rose'},
            found['leases'][mine])
        self.assertEqual(
            {'id': None, 'name': None, 'own': False, 'project_id': None,
             'degraded': False, 'status': None, 'user_id': None},
            found['leases'][1 - mine])

    def test_rows_of_nodes(self) -> None:
        """Only the nodes that the caller may know are there."""
        nodes = {each['node_uuid']: each['id'] for each in self.read(
            f'{_WEEK}&rows=true', who=asking.OPERATOR)['hosts']}
        asked = ''.join(f'&node={each}' for each in nodes)
        seen = self.read(f'{_WEEK}&rows=true{asked}')['hosts']
        mine = self.red['reservations'][0]['nodes']
        self.assertEqual({each['uuid'] for each in mine},
                         {each['node_uuid'] for each in seen})
        last = list(nodes)[-1]
        self.assertEqual([nodes[last]], [each['id'] for each in self.read(
            f'{_WEEK}&rows=true&node={last}', who=asking.OPERATOR)['hosts']])
        self.send('GET', f'{_WEEK}&rows=true&node=x', 400)

    def test_nodes_that_are_named_and_hidden(self) -> None:
        """They seem not to exist: no lease, no sequence, no page."""
        hosts = self.read(f'{_WEEK}&rows=true', who=asking.OPERATOR)['hosts']
        mine = {each['uuid'] for each in self.red['reservations'][0]['nodes']}
        hidden, = (each['node_uuid'] for each in hosts
                   if each['bookings'] and each['node_uuid'] not in mine)
        nobody = str(uuid.uuid4())
        for window in (_WEEK, _WEEK.replace('from=2050-01-01',
                                            'from=2050-01-04')):
            seen = self.read(f'{window}&rows=true&node={hidden}')
            self.assertEqual(([], [], []), (
                seen['hosts'], seen['leases'], seen['links']))
            self.assertEqual(seen, {**self.read(
                f'{window}&rows=true&node={nobody}'), 'now': seen['now']})
            tag = self.send('GET', f'{window}&rows=true&node={hidden}'
                            ).headers['ETag']
            self.send('GET', f'{window}&rows=true&node={hidden}', 304,
                      if_none_match=tag)
        for limit in (1, 2):
            seen = self.read(f'{_WEEK}&rows=true&limit={limit}'
                             f'&node={hidden}' + ''.join(
                                 f'&node={each}' for each in sorted(mine)))
            self.assertEqual(mine, {each['node_uuid']
                                    for each in seen['hosts']})
            self.assertEqual([True], [each['own'] for each in seen['leases']])
            self.assertEqual([], seen['links'])

    def test_as_it_was(self) -> None:
        """An unchanged calendar is not sent again."""
        first = self.send('GET', _WEEK)
        tag = first.headers['ETag']
        again = self.send('GET', _WEEK, 304, if_none_match=tag)
        self.assertEqual((b'', tag), (again.body, again.headers['ETag']))
        self.send('DELETE', f'/v1/leases/{self.red["id"]}', 204)
        self.assertNotEqual(tag, self.send(
            'GET', _WEEK, if_none_match=tag).headers['ETag'])

    def test_hostile_queries(self) -> None:
        """The refusal names the parameter."""
        for query, said in (
                ('from=yesterday', 'from: yesterday is an invalid date'),
                ('from=2050-13-01T00:00Z', 'is an invalid date'),
                ('from=9999-01-01T00:00Z', 'a year from 1970 to 9000'),
                ('to=now&from=now', 'is not after "from"'),
                ('from=2050-01-02T00:00Z&to=2050-01-01T00:00Z',
                 'is not after "from"'),
                ('from=2050-01-01T00:00Z&to=2051-01-03T00:00Z',
                 'more than 366 days'),
                ('from=9000-12-31T00:00Z', None),
                ('rows=perhaps', 'true or false'),
                ('rows=1', 'true or false'),
                ('limit=0', 'limit'), ('limit=-1', 'limit'),
                ('limit=1e3', 'limit'), (f'limit={"9" * 5000}', 'limit'),
                ('marker=0', 'marker'), ('marker=x', 'marker'),
                (f'marker={"9" * 5000}', 'marker'),
                ('resource_class=%00', 'resource_class'),
                (f'resource_class={"x" * 81}', 'resource_class'),
                ('resource_class=%ff', 'cannot be read'),
                ('rows=true&rows=true', 'more than once'),
                ('to=now&to=now', 'more than once'),
                ('&'.join(['resource_class=a'] * 101), 'at most 100'),
                ('hosts=true', 'There is no query parameter')):
            answer = world.request(self.served, 'GET', f'{_PATH}?{query}',
                                   **asking.MEMBER)
            if said is None:
                self.assertEqual(200, answer.status, answer.body)
                continue
            self.assertEqual(400, answer.status, (query, answer.body))
            self.assertIn(said, answer.detail)

    def test_longest_window(self) -> None:
        """The longest window may be a leap year."""
        found = self.read(f'{_PATH}?from=2050-01-01T00:00Z'
                          '&to=2051-01-02T00:00Z')
        self.assertEqual(366 * _DAY, found['end'])

    def test_hostile_tags(self) -> None:
        """They match no calendar."""
        for tag in ('"', 'W/', '""', '"' * 999, 'W/"x", "y"', 'x' * 9999):
            self.assertTrue(self.send('GET', _WEEK, if_none_match=tag).body)
        tag = self.send('GET', _WEEK).headers['ETag']
        for known in (f'"x", {tag}', tag.removeprefix('W/'), '*'):
            self.send('GET', _WEEK, 304, if_none_match=known)

    def test_by_default(self) -> None:
        """The window begins with the current hour, and has 30 days."""
        found = self.read(_PATH)
        self.assertTrue(found['origin'].endswith(':00:00+00:00'))
        self.assertTrue(0 <= found['now'] < 3600)
        self.assertEqual(30 * _DAY, found['end'])

    def test_classes_that_are_named(self) -> None:
        """Counts and rows have these classes, and no others."""
        for rows in ('false', 'true'):
            for names, classes in (
                    (['gold'], ['gold']), (['silver', 'gold', 'gold'],
                                           ['gold', 'silver']),
                    (['', 'silver'], ['silver']), (['lead'], [])):
                query = ''.join(f'&resource_class={name}' for name in names)
                found = self.read(f'{_WEEK}&rows={rows}{query}')
                self.assertEqual(classes, [
                    each['resource_class'] for each in found['classes']])
                if rows == 'true':
                    self.assertEqual(set(classes), {
                        each['resource_class'] for each in found['hosts']})

    def test_nodes_that_a_project_may_not_know(self) -> None:
        """They have no name, except own nodes and nodes of own leases."""
        for who, names in ((asking.OPERATOR, 4), (asking.MEMBER, 2),
                           (asking.OTHER, None)):
            found = self.read(f'{_WEEK}&rows=true', who=who)
            named = [each for each in found['hosts'] if each['name']]
            if names is None:
                # A host of the lease may be the caller's own.
                self.assertIn('host-0', [each['name'] for each in named])
                self.assertTrue(1 <= len(named) <= 2)
            else:
                self.assertEqual(names, len(named))
            for each in found['hosts']:
                self.assertEqual(
                    each in named, None not in (
                        each['node_uuid'], each['maintenance'],
                        each['provision_state']))
                self.assertEqual('usable', each['condition'])

    def test_who_may_not_look(self) -> None:
        """The refusal names the rule."""
        refused = self.send('GET', _PATH, 403, who={
            'x_roles': 'nobody', 'x_project_id': 'red'})
        self.assertEqual('reservation:calendar:get',
                         refused.json['errors'][0]['policy'])

    def test_viewers_have_tags_of_their_own(self) -> None:
        """Each query and page has its own tags, too."""
        tags = {self.send('GET', path, who=who).headers['ETag']
                for who in (asking.OPERATOR, asking.MEMBER, asking.OTHER)
                for path in (_WEEK, f'{_WEEK}&rows=true',
                             f'{_WEEK}&rows=true&limit=2',
                             f'{_WEEK}&rows=true&marker=2',
                             f'{_WEEK}&resource_class=gold')}
        self.assertEqual(15, len(tags))

    def test_not_to_be_kept_for_others(self) -> None:
        """Caches may not share it, and ask each time."""
        answer = self.send('GET', _WEEK)
        self.assertEqual('private, no-cache', answer.headers['Cache-Control'])

    def test_older_versions_have_nothing_there(self) -> None:
        """The path is not found, as before."""
        self.send('GET', _PATH, 404, version='baremetal-reservation 1.6')
        self.send('POST', _PATH, 405, {})

    def test_compressed(self) -> None:
        """Large answers are compressed if the client accepts it."""
        path = f'{_WEEK}&rows=true'
        sent = self.send('GET', path, accept_encoding='br, gzip;q=0.5')
        self.assertEqual('gzip', sent.headers['Content-Encoding'])
        self.assertEqual(self.read(path)['sequence'], json.loads(
            gzip.decompress(sent.body))['calendar']['sequence'])
        for header in ('', 'br', 'gzip;q=0', 'identity'):
            self.assertNotIn('Content-Encoding', self.send(
                'GET', path, accept_encoding=header).headers)


class TestRacks(asking.AskingCase):
    """Gold hosts in racks of hosts and of nodes, and one without a rack."""

    options = {'api__calendar_rack_property': 'rack'}
    member = asking.OPERATOR

    def setUp(self) -> None:
        super().setUp()
        for name, of_host, of_node in (
                ('one', {'rack': 'r2'}, {}), ('two', {}, {'rack': 'r1'}),
                ('three', {'rack': 'r2'}, {'rack': 'r1'}), ('four', {}, {}),
                ('five', {'rack': 'r10'}, {})):
            self.served.ironic.add(
                name=name, properties=of_node,
                resource_class='silver' if name == 'five' else 'gold')
            self.ask('POST', '/v1/os-hosts', 201, {'name': name, **of_host})

    def read(self, query: str, **more: Any) -> dict[str, Any]:
        return self.ask('GET', f'{_WEEK}&{query}', **more)['calendar']

    def names(self, query: str) -> list[str]:
        return [each['name'] for each in self.read(
            f'rows=true&resource_class=gold&{query}')['hosts']]

    def test_classes_rack_by_rack(self) -> None:
        self.book('02 00', '03 00', 2, '["==", "$rack", "r2"]')
        gold, silver = self.read('racks=true', who=asking.MEMBER)['classes']
        self.assertEqual(
            [('r1', 1, [[0, 1]]),
             ('r2', 2, [[0, 2], [_DAY, 0], [2 * _DAY, 2]]),
             (None, 1, [[0, 1]])],
            [(each['rack'], each['hosts'], each['steps'])
             for each in gold['racks']])
        self.assertEqual(['r10'], [each['rack'] for each in silver['racks']])
        for each in gold['racks']:
            self.assertEqual(each['hosts'], each['conditions']['usable'])
        for each in self.read('')['classes']:
            self.assertNotIn('racks', each)

    def test_hosts_of_one_rack(self) -> None:
        self.assertEqual(['one', 'three'], self.names('rack=r2'))
        self.assertEqual(['two'], self.names('rack=r1'))
        self.assertEqual(['four'], self.names('rack='))
        self.assertEqual([], self.names('rack=r10'))
        self.assertEqual(['one', 'two', 'three', 'four'], self.names(''))
        first = self.read('rows=true&rack=r2&limit=1')
        self.assertEqual(['one'], [each['name'] for each in first['hosts']])
        following, = first['links']
        path = following['href'].partition('/v1/')[2]
        second = self.ask('GET', f'/v1/{path}')['calendar']
        self.assertEqual((['three'], []), (
            [each['name'] for each in second['hosts']], second['links']))

    def test_rack_that_changes(self) -> None:
        """The known document changes, too."""
        before = self.read('racks=true&rows=true')
        host = before['hosts'][0]
        self.ask('PUT', f'/v1/os-hosts/{host["id"]}', 200, {'rack': 'r3'})
        after = self.read('racks=true')
        self.assertNotEqual(before['sequence'], after['sequence'])
        self.assertEqual(
            ['r1', 'r2', 'r3', None],
            [each['rack'] for each in after['classes'][0]['racks']])

    def test_how_to_ask_for_a_rack(self) -> None:
        """Authorized callers only; an old tag does not match afterwards."""
        def told(**more: str) -> tuple[str | None, str]:
            answer = self.send('GET', _WEEK, who=asking.MEMBER, **more)
            return (answer.json['calendar']['rack_property'],
                    answer.headers['ETag'])
        before, tag = told()
        self.assertEqual('rack', before)
        self.assertEqual('rack', self.read('')['rack_property'])
        self.ask('PATCH', '/v1/os-hosts/properties/rack', 200,
                 {'private': True})
        self.assertEqual('rack', self.read('')['rack_property'])
        self.assertIsNone(told(if_none_match=tag)[0])
        self.assertNotIn('rack_property', self.read(
            '', version='baremetal-reservation 1.18'))

    def test_older_versions_know_no_racks(self) -> None:
        for query in ('racks=true', 'rack=r1'):
            self.ask('GET', f'{_WEEK}&{query}', 400,
                     version='baremetal-reservation 1.7')


class TestNoRacks(asking.AskingCase):

    nodes = {'one': {'resource_class': 'gold', 'properties': {'rack': 'r1'}}}

    def test_no_rack_without_the_option(self) -> None:
        found = self.ask('GET', f'{_WEEK}&racks=true')['calendar']
        self.assertEqual([[]], [each['racks'] for each in found['classes']])
