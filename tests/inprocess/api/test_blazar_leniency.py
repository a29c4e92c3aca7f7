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

"""Input that Blazar accepts is accepted here, or refused with a reason."""

from typing import Any

from tests.inprocess.api import asking
from tests.inprocess.api import world

_ONE: dict[str, Any] = {'resource_type': 'physical:host', 'min': 1, 'max': 1,
                        'hypervisor_properties': '',
                        'resource_properties': ''}
_GOOD: dict[str, Any] = {
    'name': 'good', 'start_date': '2050-01-01 10:00',
    'end_date': '2050-01-02 10:00', 'reservations': [_ONE], 'events': []}
_SIZES = {'vcpus': 1, 'memory_mb': 512, 'disk_gb': 1, 'amount': 1}
#: The optional keys of a request for a lease.
_OPTIONAL = ('start', 'end', 'before_end_date', 'events', 'between',
             'duration', 'fix_before', 'on_refusal', 'priority')
#: The optional keys of a change.
_CHANGEABLE = ('name', 'start_date', 'end_date', 'start', 'end',
               'before_end_date', 'reservations', 'events', 'heal', 'between',
               'duration', 'fix_before')
_PARTS = ('min', 'max', 'hypervisor_properties', 'resource_properties',
          'before_end', 'resource_type', 'give_back', 'vcpus', 'memory_mb',
          'disk_gb', 'amount')


class LenientCase(asking.AskingCase):
    """An application with one host, and a client of Blazar."""

    nodes = {'compute-1': {'resource_class': 'gold', 'properties': (
        ('cpus', '64'), ('local_gb', '2000'), ('memory_mb', '262144'))}}
    member = operator = {}
    version = None

    def serve(self) -> world.World:
        return world.OpenWorld()

    def made(self, **what: Any) -> Any:
        """Make a lease."""
        return self.ask('POST', '/v1/leases', 201, {**_GOOD, **what})['lease']

    def changed(self, lease: Any, status: int = 200, **what: Any) -> Any:
        """Change a lease."""
        answer = self.ask('PUT', f'/v1/leases/{lease["id"]}', status, what)
        return answer['lease'] if status == 200 else answer

    def part(self, lease: Any, status: int = 200, **what: Any) -> Any:
        """Change the reservation of a lease."""
        reservation, = lease['reservations']
        answer = self.changed(lease, status, reservations=[
            {'id': reservation['id'], **what}])
        return answer['reservations'][0] if status == 200 else answer


class TestNull(LenientCase):
    """Null equals a key that is left out."""

    def test_in_a_new_lease(self) -> None:
        """Each optional key may be null, alone and together."""
        for names in (*((name,) for name in _OPTIONAL), _OPTIONAL):
            with self.subTest(names):
                lease = self.made(**dict.fromkeys(names))
                self.send('DELETE', f'/v1/leases/{lease["id"]}', 204)

    def test_in_conditions(self) -> None:
        """A null condition of hosts or instances is no condition."""
        for wish in (
                {**_ONE, 'hypervisor_properties': None,
                 'resource_properties': None, 'before_end': None},
                {**_SIZES, 'resource_type': 'virtual:instance',
                 'affinity': None, 'resource_properties': None}):
            lease = self.made(reservations=[wish])
            reservation, = lease['reservations']
            self.assertEqual('', reservation['resource_properties'])
            self.send('DELETE', f'/v1/leases/{lease["id"]}', 204)

    def test_where_a_value_is_needed(self) -> None:
        """The refusal says that the value is missing."""
        for what, said in (
                ({'name': None}, 'Missing parameter name'),
                ({'end_date': None}, 'Missing parameter end_date'),
                ({'reservations': [{**_ONE, 'min': None}]},
                 'Missing parameter min'),
                ({'reservations': [{**_ONE, 'resource_type': None}]},
                 'Missing parameter resource_type')):
            answer = self.ask('POST', '/v1/leases', 400, {**_GOOD, **what})
            self.assertIn(said, answer['error_message'])

    def test_in_a_key_that_does_not_exist(self) -> None:
        """It is refused like any other value of the key."""
        self.assertIn('colour', self.ask(
            'POST', '/v1/leases', 400,
            {**_GOOD, 'colour': None})['error_message'])

    def test_in_a_change(self) -> None:
        """Nothing is changed."""
        lease = self.made()
        for names in (*((name,) for name in _CHANGEABLE), _CHANGEABLE):
            with self.subTest(names):
                self.assertEqual(lease, self.changed(
                    lease, **dict.fromkeys(names)))
        for names in (*((name,) for name in _PARTS), _PARTS):
            with self.subTest(names):
                self.assertEqual(lease['reservations'][0], self.part(
                    lease, **dict.fromkeys(names)))

    def test_in_the_conditions_of_a_change(self) -> None:
        """It removes the condition, as in Blazar."""
        lease = self.made(reservations=[{
            **_ONE, 'resource_properties': '["==", "$vcpus", "64"]',
            'hypervisor_properties': '["==", "$vcpus", "64"]'}])
        changed = self.part(lease, resource_properties=None,
                            hypervisor_properties=None)
        self.assertEqual(('', ''), (changed['resource_properties'],
                                    changed['hypervisor_properties']))

    def test_in_a_new_host(self) -> None:
        """The host does not have a capability of null."""
        self.served.ironic.add(name='compute-2', resource_class='gold')
        host = self.ask('POST', '/v1/os-hosts', 201, {
            'name': 'compute-2', 'resource_class': None, 'gpu': None,
            'rack': 'r1'})['host']
        self.assertEqual('r1', host['rack'])
        self.assertNotIn('gpu', host)


class TestKeys(LenientCase):
    """The keys that Blazar's reference documents."""

    def test_events_of_a_change(self) -> None:
        """The example of the reference has an empty list of events."""
        lease = self.made()
        self.assertEqual(lease, self.changed(lease, events=[]))
        refused = self.changed(lease, 400, events=[
            {'event_type': 'notification', 'time': '2050-01-01 11:00'}])
        self.assertEqual('request.invalid_value', refused['code'])
        self.assertIn('before_end_date', refused['error_message'])

    def test_time_of_an_event(self) -> None:
        """The key has the name of the reference."""
        self.made(events=[{'event_type': 'notification',
                           'time': '2050-01-01 11:00'}])

    def test_both_times_of_an_event(self) -> None:
        """Both keys mean the same, so one of them is refused."""
        self.assertIn('mean the same', self.ask('POST', '/v1/leases', 400, {
            **_GOOD, 'events': [{'event_type': 'notification',
                                 'time': '2050-01-01 11:00',
                                 'event_date': '2050-01-01 11:00'}],
        })['error_message'])

    def test_type_of_a_reservation_in_a_change(self) -> None:
        """The same type is accepted; another type is refused."""
        lease = self.made()
        kept = self.part(lease, resource_type='physical:host')
        self.assertEqual(lease['reservations'][0], kept)
        refused = self.part(lease, 400, resource_type='virtual:instance')
        self.assertIn('physical:host', refused['error_message'])

    def test_before_end_in_a_change(self) -> None:
        """The value is kept, as in a new lease."""
        lease = self.made()
        self.assertEqual('snapshot', self.part(
            lease, before_end='snapshot')['before_end'])
        again = self.ask('GET', f'/v1/leases/{lease["id"]}')['lease']
        self.assertEqual('snapshot', again['reservations'][0]['before_end'])
        self.part(lease, 400, before_end='explode')

    def test_before_end_of_instances(self) -> None:
        """Instances have no such action, in a new lease and in a change."""
        lease = self.made(reservations=[
            {**_SIZES, 'resource_type': 'virtual:instance'}])
        self.part(lease, 400, before_end='default')


class TestQueries(LenientCase):
    """Parameters that Blazar ignores."""

    def test_are_ignored_where_nothing_is_written(self) -> None:
        """The client gets the whole answer."""
        lease = self.made()
        for path in ('/v1/leases', f'/v1/leases/{lease["id"]}',
                     '/v1/os-hosts', '/v1/os-hosts/1',
                     '/v1/os-hosts/allocations', '/v1/os-hosts/1/allocation',
                     '/v1/os-hosts/properties'):
            with self.subTest(path):
                self.assertEqual(
                    self.ask('GET', path),
                    self.ask('GET', f'{path}?all_tenants=1&colour=red'))

    def test_are_refused_where_something_is_written(self) -> None:
        """A mistyped dry run must not make a lease."""
        answer = self.ask('POST', '/v1/leases?dryrun=true', 400, _GOOD)
        self.assertIn("'dryrun'", answer['error_message'])
        self.assertEqual([], self.ask('GET', '/v1/leases')['leases'])

    def test_of_our_own_resources(self) -> None:
        """They are never ignored."""
        for path in ('/v1/availability', '/v1/limits'):
            self.send('GET', f'{path}?all_tenants=1', 400,
                      version=world.LATEST)


class TestBodies(LenientCase):
    """Bodies of requests that have none in the reference."""

    def test_are_ignored(self) -> None:
        """Clients send them, empty or not; Blazar ignores them."""
        lease = self.made()
        for raw in (b'', b'{}', b'null'):
            for path in ('/v1/leases', f'/v1/leases/{lease["id"]}',
                         '/v1/os-hosts', '/v1/os-hosts/1',
                         '/v1/os-hosts/allocations',
                         '/v1/os-hosts/properties'):
                with self.subTest(f'{path} {raw!r}'):
                    self.send('GET', path, raw=raw)
        self.send('GET', '/v1/leases', environ={
            'HTTP_TRANSFER_ENCODING': 'chunked'})
        self.send('DELETE', f'/v1/leases/{lease["id"]}', 204, raw=b'{}')

    def test_of_our_own_resources(self) -> None:
        """They are refused."""
        self.send('GET', '/v1/limits', 400, raw=b'{}', version=world.LATEST)


class TestDates(LenientCase):
    """Dates with zones in each spelling of ISO 8601."""

    def test_zones(self) -> None:
        """A zone may have a colon or none, or hours only."""
        for zone in ('+01:00', '+0100', '+01'):
            lease = self.made(start_date=f'2050-01-01T11:00:00{zone}')
            self.assertEqual('2050-01-01T10:00:00.000000', lease['start_date'])
            self.send('DELETE', f'/v1/leases/{lease["id"]}', 204)

    def test_zones_that_are_none(self) -> None:
        """They are refused."""
        for zone in ('+1', '+01:0', '+010', '+0160', '01:00', '+01:00:00'):
            self.send('POST', '/v1/leases', 400, {
                **_GOOD, 'start_date': f'2050-01-01T11:00:00{zone}'})


class TestCapabilities(LenientCase):
    """Values of hosts."""

    def test_true_is_a_value(self) -> None:
        """The value is the word of Blazar's samples."""
        host = self.ask('PUT', '/v1/os-hosts/1', 200, {
            'gpu': True, 'ssd': False, 'slots': 4})['host']
        self.assertEqual(('True', 'False', '4'),
                         (host['gpu'], host['ssd'], host['slots']))
        self.made(reservations=[{
            **_ONE, 'resource_properties': '["==", "$gpu", "True"]'}])

    def test_reservable_in_text(self) -> None:
        """Commands of Blazar send all values as text."""
        for text, read in (('false', False), ('True', True),
                           ('FALSE', False), (True, True)):
            host = self.ask('PUT', '/v1/os-hosts/1', 200,
                            {'reservable': text})['host']
            self.assertIs(read, host['reservable'])
        for text in ('no', '', 0, None):
            answer = self.ask('PUT', '/v1/os-hosts/1', 400,
                              {'reservable': text})
            self.assertIn('true or false', answer['error_message'])

    def test_private_in_text(self) -> None:
        """The other flag is read in the same way."""
        self.ask('PUT', '/v1/os-hosts/1', 200, {'gpu': 'a100'})
        self.assertIs(True, self.ask(
            'PATCH', '/v1/os-hosts/properties/gpu', 200,
            {'private': 'true'})['resource_property']['private'])
