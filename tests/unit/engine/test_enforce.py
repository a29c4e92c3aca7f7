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

from http import server
import json
import threading

from ironic_reservations import errors
from ironic_reservations.engine import enforce
from ironic_reservations.engine import lease_change
from ironic_reservations.engine import lease_create
from ironic_reservations.planner import leases
from tests import leasing
from tests import world


class _Service(server.ThreadingHTTPServer):
    """Answers as it is told to, and remembers what it was asked."""

    def __init__(self):
        super().__init__(('127.0.0.1', 0), _Handler)
        self.answer = (204, b'')
        self.asked = []
        self.go_on = threading.Event()
        self.never = False


class _Handler(server.BaseHTTPRequestHandler):

    def do_POST(self):
        service = self.server
        body = self.rfile.read(int(self.headers['Content-Length']))
        service.asked.append((self.path, json.loads(body),
                              dict(self.headers)))
        if service.never:
            service.go_on.wait(30)
            return
        status, text = service.answer
        self.send_response(status)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


class TestEnforcement(world.TestCase):

    def setUp(self):
        super().setUp()
        self.service = _Service()
        thread = threading.Thread(target=self.service.serve_forever,
                                  kwargs={'poll_interval': 0.01})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.service.server_close)
        self.addCleanup(self.service.shutdown)
        self.addCleanup(self.service.go_on.set)
        port = self.service.server_address[1]
        self.leasing = leasing.Leasing(self.new_world(
            leases__enforcement_url=f'http://127.0.0.1:{port}/v1/',
            leases__enforcement_token='secret',
            leases__enforcement_timeout=0.5))
        self.leasing.hosts(2)

    def _refused(self, act, *args, **kwargs):
        """Assert that nothing is promised or changed; gives the words."""
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
                          'user_id': 'someone'}, asked['context'])
        lease = asked['lease']
        self.assertEqual(('2026-03-01 13:00', '2026-03-01 15:00'),
                         (lease['start_date'], lease['end_date']))
        self.assertEqual(
            self.leasing.nodes(made),
            {each['id'] for each in lease['reservations'][0]['allocations']})

    def test_refusal_is_told_in_the_words_of_the_service(self):
        """And nothing is promised."""
        self.service.answer = (403, b'{"message": "too much this week"}')
        self.assertIn('too much this week',
                      self._refused(self.leasing.create, 1, 3))

    def test_answers_that_make_no_sense_refuse(self):
        """What cannot be known is not allowed."""
        for answer in ((403, b'{"message": '), (403, b'[]'), (403, b'\xff'),
                       (200, b''), (201, b'{}'), (404, b''), (500, b'oops')):
            self.service.answer = answer
            self._refused(self.leasing.create, 1, 3)

    def test_service_that_never_answers_refuses(self):
        """After the time-out, and not later."""
        self.service.never = True
        self._refused(self.leasing.create, 1, 3)

    def test_service_that_is_not_there_refuses(self):
        """Fail closed."""
        self.leasing.world.conf.set_override(
            'enforcement_url', 'http://127.0.0.1:1/', 'leases')
        self._refused(self.leasing.create, 1, 3)

    def test_change_is_asked_about_with_what_was_and_what_would_be(self):
        """It may refuse that, too."""
        lease = self.leasing.create(1, 3)
        self.leasing.change(lease, end=4)
        path, asked, _ = self.service.asked[-1]
        self.assertEqual('/v1/check-update', path)
        self.assertEqual(
            ('2026-03-01 15:00', '2026-03-01 16:00'),
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
        self._refused(lease_create.create, self.leasing.engine,
                      leasing.ask(1, 2), dry_run=True)
        self.service.answer = (204, b'')
        lease = self.leasing.create(1, 2)
        self.service.answer = (403, b'{}')
        self._refused(lease_change.change, self.leasing.engine, lease.id,
                      leases.LeaseChange(end=leasing.at(3)), dry_run=True)

    def test_end_cannot_be_refused(self):
        """It is told, whatever is answered."""
        lease = self.leasing.create(1, 2)
        self.service.answer = (403, b'{"message": "never"}')
        enforce.on_end(self.leasing.engine.conf, lease)
        path, asked, _ = self.service.asked[-1]
        self.assertEqual(('/v1/on-end', lease.id),
                         (path, asked['lease']['id']))

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
        waiting.join()
        self.assertEqual([lease[0].id],
                         [each.id for each in self.leasing.all()])
