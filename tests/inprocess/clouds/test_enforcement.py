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

"""A service of the operator that is asked before a lease is made or changed.
"""

import contextlib
from http import server
import json
import threading
import time

import fixtures
from oslo_config import cfg
import testtools
from testtools import matchers

from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.engine import hosts
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.model import leases
from ironic_reservations.reconciler import lease_workers
from tests import leasing
from tests import world


class _Service(server.ThreadingHTTPServer):
    """Answers as it is told to, and remembers what it was asked."""

    def __init__(self):
        super().__init__(('127.0.0.1', 0), _Handler)
        self.answer = (204, b'')
        self.raw = None
        self.location = None
        self.asked = []
        self.go_on = threading.Event()
        self.never = False
        self.drips = False


class _Handler(server.BaseHTTPRequestHandler):

    def do_POST(self):
        service = self.server
        body = self.rfile.read(int(self.headers['Content-Length']))
        service.asked.append((self.path, json.loads(body),
                              dict(self.headers)))
        if service.never:
            service.go_on.wait(30)
            return
        if service.drips:
            self._drip()
            return
        if service.raw is not None:
            self.wfile.write(service.raw)
            self.close_connection = True
            return
        status, text = service.answer
        self.send_response(status)
        if service.location is not None:
            self.send_header('Location', service.location)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _drip(self):
        """Send a header that does not end, byte by byte."""
        self.wfile.write(b'HTTP/1.1 204 No\r\nX: ')
        with contextlib.suppress(OSError):
            for _ in range(200):
                self.wfile.write(b'x')
                if self.server.go_on.wait(0.05):
                    return

    def log_message(self, *args):
        pass


#: What is neither a yes nor a no.
_SENSELESS = (
    (403, b'{"message": '), (403, b'[]'), (403, b'\xff'), (403, b''),
    (403, b'{"message": {"a": 1}}'), (403, b'{"message": ""}'),
    (403, b'[' * 100000), (200, b''), (201, b'{}'), (302, b''), (400, b''),
    (401, b''), (404, b''), (500, b'oops'), (503, b''))
_NO_HTTP = (
    b'', b'\0' * 100, b'SSH-2.0-OpenSSH_9.6\r\n', b'HTTP/1.1 \r\n\r\n',
    b'HTTP/1.1 403 No\r\nContent-Length: 99\r\n\r\n{"message"',
    b'HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n')


class TestEnforcement(world.TestCase):

    def setUp(self):
        super().setUp()
        self.service = self._serve()
        self.leasing = leasing.Leasing(self.new_world(
            leases__enforcement_url=self._url(self.service),
            leases__enforcement_token='secret',
            # NOTE: longer than a busy machine takes to answer.
            leases__enforcement_timeout=60))
        self.leasing.hosts(2)

    def _serve(self):
        service = _Service()
        thread = threading.Thread(target=service.serve_forever,
                                  kwargs={'poll_interval': 0.01})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(service.server_close)
        self.addCleanup(service.shutdown)
        self.addCleanup(service.go_on.set)
        return service

    def _url(self, service):
        return f'http://127.0.0.1:{service.server_address[1]}/v1/'

    def _ways_to_fail(self):
        """Have the service fail, in one way after the other."""
        for answer in _SENSELESS:
            self.service.answer = answer
            yield answer
        for raw in _NO_HTTP:
            self.service.raw = raw
            yield raw
        self.service.never = True
        self.leasing.world.conf.set_override('enforcement_timeout', 0.5,
                                             'leases')
        yield 'never answers'
        self.leasing.world.conf.set_override(
            'enforcement_url', 'http://127.0.0.1:1/', 'leases')
        yield 'is not there'

    def _refused(self, act, *args, **kwargs):
        """Assert that nothing is promised or changed, and return the words."""
        before = leasing.tables_as_text(self.leasing.world)
        refusal = self.assertRaises(errors.LeaseNotPermitted, act, *args,
                                    **kwargs)
        self.assertEqual(before, leasing.tables_as_text(self.leasing.world))
        return str(refusal)

    def test_new_lease_is_asked_about_as_it_would_be(self):
        """With its hosts, its owner, and the token."""
        made = self.leasing.create(1, 3, leasing.wish(2), user_id='someone')
        (path, asked, headers), = self.service.asked
        self.assertEqual('/v1/check-create', path)
        self.assertEqual('secret', headers['X-Auth-Token'])
        self.assertEqual({'project_id': leasing.PROJECT,
                          'user_id': 'someone', 'auth_url': None,
                          'region_name': None}, asked['context'])
        lease = asked['lease']
        self.assertEqual(('2026-03-01T13:00:00', '2026-03-01T15:00:00'),
                         (lease['start_date'], lease['end_date']))
        self.assertEqual(
            self.leasing.nodes(made),
            {each['hypervisor_hostname'] for each
             in lease['reservations'][0]['allocations']})

    def test_environment_of_the_process_is_not_read(self):
        """A proxy got the question, or the service a password of .netrc."""
        folder = self.useFixture(fixtures.TempDir()).path
        with open(f'{folder}/netrc', 'w') as file:
            file.write('default login anna password geheim\n')
        for name, value in (('NETRC', f'{folder}/netrc'), ('no_proxy', ''),
                            ('http_proxy', 'http://127.0.0.1:1/')):
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        self.leasing.create(1, 3)
        (_, _, headers), = self.service.asked
        self.assertNotIn('Authorization', headers)

    def test_fields_are_those_of_blazar(self):
        """Of the caller, of the lease and of each host, with capabilities."""
        conf = self.leasing.world.conf
        conf.set_override('enforcement_auth_url', 'https://keystone/v3',
                          'leases')
        conf.set_override('enforcement_region_name', 'one', 'leases')
        made = self.leasing.create(1, 3)
        (node,) = self.leasing.nodes(made)
        ident = self.leasing.host_id(node)
        hosts.change(self.leasing.engine, ident, {'rack': 'r1'})
        self.leasing.change(made, end=4)
        _, asked, _ = self.service.asked[-1]
        self.assertEqual(('https://keystone/v3', 'one'), (
            asked['context']['auth_url'], asked['context']['region_name']))
        for lease in (asked['lease'], asked['current_lease']):
            (reservation,) = lease['reservations']
            (host,) = reservation.pop('allocations')
            self.assertEqual(
                {'id', 'resource_type', 'resource_properties', 'min', 'max',
                 'hypervisor_properties', 'before_end'}, {*reservation})
            self.assertEqual(
                (str(ident), node, {'rack': 'r1'}, 'r1', 'ironic', True),
                tuple(host[key] for key in (
                    'id', 'hypervisor_hostname', 'extra', 'rack',
                    'hypervisor_type', 'reservable')))

    def test_keystone_is_that_of_ironic_by_default(self):
        """And the region."""
        conf = self.leasing.world.conf
        conf.register_opt(cfg.StrOpt('auth_url'), 'ironic')
        conf.set_override('auth_url', 'https://ironic.keystone/v3', 'ironic')
        conf.set_override('region_name', 'two', 'ironic')
        self.leasing.create(1, 3)
        (_, asked, _), = self.service.asked
        self.assertEqual(('https://ironic.keystone/v3', 'two'), (
            asked['context']['auth_url'], asked['context']['region_name']))

    def test_compute_host_has_the_name_that_nova_has(self):
        """Its uuid is that of its provider."""
        self.leasing.compute_hosts(1, name='compute-1')
        self.leasing.create(1, 3, leasing.instances(1, 1))
        (_, asked, _), = self.service.asked
        (host,) = asked['lease']['reservations'][0]['allocations']
        self.assertEqual(('compute', 'compute-1'), (
            host['hypervisor_type'], host['hypervisor_hostname']))

    def test_lease_of_instances_is_asked_about_with_their_sizes(self):
        """And with the nodes that they would have."""
        self.leasing.hosts(2, properties=leasing.sizes(8))
        made = self.leasing.create(1, 3, leasing.instances(2, 4, 512, 5,
                                                           False))
        (_, asked, _), = self.service.asked
        (told,) = asked['lease']['reservations']
        self.assertEqual(self.leasing.nodes(made), {
            each['hypervisor_hostname']
            for each in told.pop('allocations')})
        self.assertEqual({
            'id': made.reservations[0].id, 'affinity': False, 'amount': 2,
            'resource_type': 'virtual:instance', 'vcpus': 4,
            'memory_mb': 512, 'disk_gb': 5, 'resource_properties': ''}, told)

    def test_refusal_is_told_in_the_words_of_the_service(self):
        """And nothing is promised."""
        for said in (b'too much this week', b'too much this week.'):
            self.service.answer = (403, b'{"message": "%s"}' % said)
            self.assertThat(self._refused(self.leasing.create, 1, 3),
                            matchers.EndsWith(': too much this week.'))

    def test_new_name_is_not_asked_about(self):
        """The lease is renamed, whatever the service would say."""
        lease = self.leasing.create(1, 3)
        self.service.answer = (403, b'')
        asked = len(self.service.asked)
        self.leasing.change(lease, name='other')
        self.assertEqual('other', self.leasing.reload(lease).name)
        self.assertEqual(asked, len(self.service.asked))

    def test_service_that_fails_refuses_a_new_lease(self):
        """What cannot be known is not allowed; after the time-out, at last.
        """
        for how in self._ways_to_fail():
            with self.subTest(how=how):
                said = self._refused(self.leasing.create, 1, 3)
                self.assertIn('The enforcement service', said)
                self.assertNotIn('oops', said)

    def test_service_that_sent_a_byte_now_and_then_held_up_a_request(self):
        """The time-out was for each byte, and not for the answer."""
        self.service.drips = True
        self.leasing.world.conf.set_override('enforcement_timeout', 0.5,
                                             'leases')
        begun = time.monotonic()
        self._refused(self.leasing.create, 1, 3)
        self.assertLess(time.monotonic() - begun, 5)

    def test_reason_of_any_length_was_sent_to_the_caller(self):
        """A page of the service, or of what stands before it."""
        self.service.answer = (403, json.dumps(
            {'message': 'no' * 10_000_000}).encode())
        self.assertLess(len(self._refused(self.leasing.create, 1, 3)), 1000)

    def test_token_that_cannot_be_sent_stays_secret(self):
        """What is wrong is logged, and not what the token is."""
        log = self.useFixture(fixtures.FakeLogger())
        for token in ('sesame\rx', 'sesame\N{EURO SIGN}'):
            self.leasing.world.conf.set_override('enforcement_token', token,
                                                 'leases')
            told = self._refused(self.leasing.create, 1, 3) + log.output
            self.assertNotIn('sesame', told)
            self.assertNotIn('\N{EURO SIGN}', told)
            self.assertIn('cannot be asked', log.output)

    def test_token_is_sent_without_the_blanks_around_it(self):
        self.leasing.world.conf.set_override('enforcement_token',
                                             ' secret\r\n', 'leases')
        self.leasing.create(1, 3)
        (_, _, headers), = self.service.asked
        self.assertEqual('secret', headers['X-Auth-Token'])

    def test_service_that_fails_refuses_a_change(self):
        """The lease stays as it was."""
        lease = self.leasing.create(1, 3)
        for how in self._ways_to_fail():
            with self.subTest(how=how):
                self._refused(self.leasing.change, lease, end=5)

    def test_service_that_fails_keeps_no_lease_from_its_end(self):
        """Whether the owner ends it or the clock."""
        made = [self.leasing.create(1 + number, 2 + number) for number in
                range(len(_SENSELESS) + len(_NO_HTTP) + 2)]
        left = list(made)
        for how in self._ways_to_fail():
            with self.subTest(how=how):
                self.leasing.end(left.pop())
                self.assertEqual(len(left), len(self.leasing.all()))
        self.assertEqual([], self.leasing.rows())

    def test_answer_from_elsewhere_is_none(self):
        """Nor does anybody else get the token."""
        elsewhere = self._serve()
        self.service.location = self._url(elsewhere)
        for status in (301, 302, 303, 307, 308):
            self.service.answer = (status, b'')
            self._refused(self.leasing.create, 1, 3)
        self.assertEqual([], elsewhere.asked)

    def test_change_is_asked_about_with_what_was_and_what_would_be(self):
        """It may refuse that, too."""
        lease = self.leasing.create(1, 3)
        self.leasing.change(lease, end=4)
        path, asked, _ = self.service.asked[-1]
        self.assertEqual('/v1/check-update', path)
        self.assertEqual(
            ('2026-03-01T15:00:00', '2026-03-01T16:00:00'),
            (asked['current_lease']['end_date'], asked['lease']['end_date']))
        self.service.answer = (403, b'{"message": "no longer"}')
        self.assertIn('no longer', self._refused(self.leasing.change, lease,
                                                 end=5))

    def test_what_cannot_be_served_is_not_asked_about(self):
        """The planner's no comes first."""
        self._raises(errors.LeaseRefused, 1, 2, leasing.wish(3))
        self.assertEqual([], self.service.asked)

    def _raises(self, error, *args):
        self.assertRaises(error, self.leasing.create, *args)

    def test_dry_run_asks_as_well(self):
        """So that its answer is the one that would be given."""
        self.service.answer = (403, b'{}')
        self._refused(lease_create.rehearse, self.leasing.engine,
                      leasing.ask(1, 2))
        self.service.answer = (204, b'')
        lease = self.leasing.create(1, 2)
        self.service.answer = (403, b'{}')
        self._refused(lease_change.rehearse, self.leasing.engine, lease.id,
                      leases.LeaseChange(end=leasing.at(3)))

    def test_end_by_the_owner_is_told_once(self):
        """It cannot be refused, and nothing is promised any more by then."""
        lease = self.leasing.create(1, 2)
        self.service.asked.clear()
        self.service.answer = (403, b'{"message": "never"}')
        self.leasing.end(lease)
        (path, asked, _), = self.service.asked
        self.assertEqual(('/v1/on-end', lease.id),
                         (path, asked['lease']['id']))
        self.assertEqual([], self.leasing.all())

    def test_end_of_a_lease_that_has_started_is_told_when_it_is_over(self):
        """By the reconciler; what is over already is not told again."""
        for ended_by_its_owner in (False, True):
            now = self.leasing.world.clock()
            lease = self.leasing.create(None, (
                now - world.NOON).total_seconds() / 3600 + 2)
            crew = lease_workers.LeaseWorkers(self.leasing.engine)
            crew.one_pass()
            self.service.asked.clear()
            self.service.answer = (500, b'')
            if ended_by_its_owner:
                self.leasing.end(lease)
                self.assertEqual([], self.service.asked)
            else:
                self.leasing.world.clock.now = lease.end
            crew.one_pass()
            self.assertEqual([('/v1/on-end', lease.id)], [
                (path, asked['lease']['id'])
                for path, asked, _ in self.service.asked])
            if not ended_by_its_owner:
                self.leasing.end(lease)
                self.assertEqual(1, len(self.service.asked))
            self.assertEqual([], self.leasing.all())
            self.service.answer = (204, b'')

    def test_no_transaction_is_open_while_the_service_thinks(self):
        """A service that hangs holds up nobody else."""
        self.service.never = True
        other = leasing.Leasing(self.leasing.world,
                                self.leasing.world.another_engine())
        lease = []

        def ask():
            self.assertRaises(errors.LeaseNotPermitted, self.leasing.create,
                              1, 2)
        waiting = threading.Thread(target=ask)
        waiting.start()
        while not self.service.asked:
            waiting.join(0.001)
        self.service.never = False
        lease.append(other.create(1, 3))
        self.service.go_on.set()
        waiting.join()
        self.assertEqual([lease[0].id],
                         [each.id for each in self.leasing.all()])


class TestConfiguration(testtools.TestCase):

    def _load(self, value, name='enforcement_token'):
        path = self.useFixture(fixtures.TempDir()).join('test.conf')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'[leases]\n{name} = {value}\n')
        return project_conf.load(config_files=[path])

    def test_url_with_a_user_is_refused_at_the_start(self):
        """It was sent to the service without the user and the password."""
        for name in ('enforcement_url', 'enforcement_commit_url'):
            for user in ('me:sesame', 'sesame', ':sesame'):
                refusal = str(self.assertRaises(
                    cfg.Error, self._load, f'http://{user}@[fd00::5]/', name))
                self.assertIn(f'[leases] {name}', refusal)
                self.assertNotIn('sesame', refusal)
            self._load('http://[fd00::5]:80/x@y', name)

    def test_token_that_cannot_be_sent_is_refused_at_the_start(self):
        """By the name of the option, and not by its value."""
        for token in ('sesame\x07x', 'sesame\N{EURO SIGN}'):
            refusal = str(self.assertRaises(cfg.Error, self._load, token))
            self.assertIn('[leases] enforcement_token', refusal)
            self.assertNotIn('sesame', refusal)
            self.assertNotIn('\N{EURO SIGN}', refusal)

    def test_token_that_can_be_sent_is_taken(self):
        for token in ('', 'gAAAAABl-x_y=', 'two words', 'schl\u00fcssel'):
            self.assertEqual(token,
                             self._load(token).leases.enforcement_token)
