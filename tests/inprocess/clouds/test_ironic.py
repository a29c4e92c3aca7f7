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

"""What Ironic's answers are taken for, over each way to it."""

import http.server
import itertools
import json
import threading
from unittest import mock
from urllib import parse

import fixtures
from oslo_config import cfg
import testtools

from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic
from ironic_reservations.clouds import ironic_answers
from ironic_reservations.model import mirrored_node

NO_NODE = {'error_message': json.dumps({
    'faultcode': 'Client', 'faultstring': 'Node aa could not be found.',
    'debuginfo': None})}
NOT_FOUND = json.dumps(NO_NODE).encode()
BODY = {'uuid': 'aa', 'name': 'n', 'provision_state': 'available',
        'instance_uuid': None, 'maintenance': False, 'retired': False,
        'resource_class': 'gold', 'traits': ['CUSTOM_A'], 'owner': 'o',
        'lessee': None, 'extra': {}}


class Nodes:
    """A few answers in Ironic's shape, by path; not an Ironic."""

    def __init__(self, bodies, page=1000):
        self.bodies = bodies
        self.page = page
        self.status = 200
        self.refusal = None
        self.asked = []
        self.changes = []

    def answer(self, path, headers):
        self.asked.append((path, dict(headers)))
        if self.status != 200:
            return self.status, None
        url = parse.urlsplit(path)
        query = dict(parse.parse_qsl(url.query))
        if url.path not in ('/v1/nodes', '/v1/nodes/detail'):
            ident = parse.unquote(url.path.rpartition('/')[2])
            for body in self.bodies:
                if ident in (body['uuid'], body['name']):
                    return 200, body
            return 404, NO_NODE
        uuids = [body['uuid'] for body in self.bodies]
        start = 0
        if 'marker' in query:
            start = uuids.index(query['marker']) + 1
        page = self.bodies[start:start + self.page]
        answer = {'nodes': page}
        if start + len(page) < len(uuids):
            answer['next'] = 'http://elsewhere/'
        return 200, answer

    def send(self, method, path, headers, body=None):
        """Be a transport."""
        if method == 'GET':
            return self.answer(path, headers)
        self.asked.append((path, dict(headers)))
        self.changes.append((method, path, body))
        return self.status, self.refusal

    def __call__(self, environ, start_response):
        """Be a WSGI application."""
        headers = {key[5:].replace('_', '-').title(): value
                   for key, value in environ.items()
                   if key.startswith('HTTP_')}
        length = int(environ.get('CONTENT_LENGTH') or 0)
        sent = environ['wsgi.input'].read(length) if length else b'null'
        status, body = self.send(
            environ['REQUEST_METHOD'],
            parse.quote(environ['PATH_INFO'].encode('latin-1')) + (
                '?' + environ['QUERY_STRING']
                if environ['QUERY_STRING'] else ''), headers,
            json.loads(sent))
        start_response(f'{status} Whatever', [])
        return [json.dumps(body).encode()] if body is not None else [b'<p>']


class TestIronic(testtools.TestCase):

    def _client(self, *bodies, **known):
        self.nodes = Nodes([{**BODY, **body} for body in bodies], **known)
        return ironic.Ironic(self.nodes)

    def test_node_is_read_whole(self):
        self.assertEqual(
            mirrored_node.Node('aa', name='n', resource_class='gold',
                               traits=frozenset({'CUSTOM_A'}), owner='o'),
            self._client({}).node('aa'))

    def test_property_that_is_too_long_is_ignored(self):
        """MariaDB took no row with it, so that no node was mirrored."""
        client = self._client({'properties': {
            'cpus': 4, 'local_gb': 'x' * 255, 'memory_mb': '1' * 256,
            'cpu_arch': ['\\' * 17000]}})
        self.assertEqual({'cpus': '4', 'local_gb': 'x' * 255},
                         dict(client.node('aa').properties))

    def test_node_that_is_not_there_is_none(self):
        self.assertIsNone(self._client().node('aa'))

    def test_name_that_needs_quoting_is_one_name(self):
        client = self._client({'name': 'a b?c'})
        self.assertEqual('aa', client.node('a b?c').uuid)

    def test_path_is_no_name(self):
        """Ironic takes %2F for a slash, and shows what is there."""
        client = self._client({})
        for ident in ('aa/', 'aa/ports', '../nodes/aa', '', '.', '..',
                      '__class__'):
            self.assertIsNone(client.node(ident), ident)
        self.assertEqual([], self.nodes.asked)

    def test_latest_version_is_asked_for(self):
        self._client({}).node('aa')
        self.assertEqual('latest', self.nodes.asked[0][1][
            ironic.VERSION_HEADER])

    def test_operators_switch_is_read_in_every_spelling(self):
        for value, reservable in ((False, False), ('false', False),
                                  ('False', False), ('0', False),
                                  ('no', False), (True, True),
                                  ('true', True), ('whatever', True)):
            node = self._client(
                {'extra': {'reservable': value}}).node('aa')
            self.assertEqual(reservable, node.reservable, value)

    def test_fields_that_are_missing_or_null_do_no_harm(self):
        client = self._client({'extra': None, 'traits': None,
                               'retired': None})
        node = client.node('aa')
        self.assertEqual((True, frozenset(), False), (
            node.reservable, node.traits, node.retired))

    def test_list_is_read_to_its_last_page(self):
        client = self._client(*({'uuid': name} for name in 'abcde'), page=2)
        self.assertEqual(list('abcde'),
                         [node.uuid for node in client.nodes()])
        self.assertEqual(3, len(self.nodes.asked))

    def test_filters_are_on_every_page(self):
        client = self._client(*({'uuid': name} for name in 'abc'), page=1)
        list(client.nodes(provision_state='available'))
        for path, _ in self.nodes.asked:
            self.assertIn('provision_state=available', path)

    def test_children_are_in_every_list(self):
        """By default Ironic omits them, and the mirror never learned it."""
        client = self._client({'uuid': 'a', 'parent_node': 'whole'})
        self.assertEqual(['whole'], [node.parent_node
                                     for node in client.nodes()])
        list(client.lately_changed())
        list(client.reasons())
        self.assertEqual(3, len(self.nodes.asked))
        for path, _ in self.nodes.asked:
            self.assertIn('include_children=true', path)

    def test_lately_changed_are_read_page_by_page_as_needed(self):
        client = self._client(*({'uuid': name} for name in 'abc'), page=1)
        pages = client.lately_changed()
        self.assertEqual(['a'], [node.uuid for node in next(pages)])
        self.assertEqual(1, len(self.nodes.asked))
        self.assertIn('sort_key=updated_at', self.nodes.asked[0][0])

    def test_lately_changed_show_when_they_were_enrolled(self):
        """Ironic takes no field of that name; it shows it in whole nodes."""
        client = self._client({'uuid': 'a', 'created_at': 'then'})
        (page,) = client.lately_changed()
        self.assertEqual(['then'], [node.enrolled_at for node in page])
        self.assertNotIn('fields', self.nodes.asked[0][0])
        list(client.nodes())
        self.assertNotIn('created_at', self.nodes.asked[1][0])

    def test_refusals_are_no_empty_lists(self):
        for status in (401, 403, 404, 406, 500, 503):
            client = self._client({})
            self.nodes.status = status
            self.assertRaises(errors.IronicUnavailable, list,
                              client.nodes())

    def test_only_not_found_means_not_there(self):
        for status in (401, 403, 500, 503):
            client = self._client({})
            self.nodes.status = status
            refused = self.assertRaises(errors.IronicUnavailable,
                                        client.node, 'aa')
            self.assertEqual(status in (401, 403),
                             '[ironic]' in str(refused))

    def test_404_of_a_proxy_is_no_deleted_node(self):
        """The mirror forgot nodes, and lease ends left them deployed."""
        for status in (400, 404):
            for body in (None, [], 'not here', {'message': 'no Route'}):
                client = self._client({})
                self.nodes.answer = mock.Mock(return_value=(status, body))
                for read in (client.node, client.settled, client.maintained,
                             client.conductor_of, client.allocation,
                             client.ask_conductor):
                    self.assertRaises(errors.IronicUnavailable, read, 'aa')

    def test_page_for_a_login_is_no_answer_of_ironic(self):
        client = self._client({})
        self.nodes.answer = lambda *_: (200, None)
        self.assertRaises(errors.IronicUnavailable, client.node, 'aa')
        self.assertRaises(errors.IronicUnavailable, list, client.nodes())

    def test_caller_without_a_role_is_told_so(self):
        """503 sent it to try again, and the operator to look at nothing."""
        nodes = Nodes([BODY])
        client = ironic.Ironic(nodes, {'X-Auth-Token': 'secret'})
        for nodes.status in (401, 403):
            self.assertRaises(errors.Forbidden, client.node, 'aa')
            self.assertRaises(errors.Forbidden, list, client.nodes())
        for nodes.status in (500, 503):
            self.assertRaises(errors.IronicUnavailable, client.node, 'aa')

    def test_callers_credentials_are_sent(self):
        nodes = Nodes([BODY])
        ironic.Ironic(nodes, {'X-Auth-Token': 'secret'}).node('aa')
        self.assertEqual('secret', nodes.asked[0][1]['X-Auth-Token'])


class TestChanges(testtools.TestCase):
    """What is changed on a node, over each transport the same."""

    def _client(self):
        self.nodes = Nodes([BODY])
        return ironic.Ironic(self.nodes)

    def test_each_change_is_one_request(self):
        client = self._client()
        client.write_lessee('aa', 'project')
        client.write_lessee('aa', None)
        client.undeploy('aa')
        client.abort('aa')
        client.clear_instance('aa')
        node, state = '/v1/nodes/aa', '/v1/nodes/aa/states/provision'
        self.assertEqual([
            ('PATCH', node, [{'op': 'add', 'path': '/lessee',
                              'value': 'project'}]),
            ('PATCH', node, [{'op': 'remove', 'path': '/lessee'}]),
            ('PUT', state, {'target': 'deleted'}),
            ('PUT', state, {'target': 'abort'}),
            ('PATCH', node, [{'op': 'remove', 'path': '/instance_uuid'}]),
        ], self.nodes.changes)

    def test_refusal_says_what_ironic_said(self):
        client = self._client()
        self.nodes.status = 409
        for said, answer in (
                ('Node aa is locked', {'error_message': json.dumps(
                    {'faultstring': 'Node aa is locked'})}),
                ('Not Found', {'error_message': json.dumps(
                    {'code': 404, 'title': 'x',
                     'description': 'Not Found'})}),
                ('plain', {'error_message': 'plain'}),
                ('no reason', None)):
            self.nodes.refusal = answer
            refused = self.assertRaises(ironic.Refused, client.undeploy,
                                        'aa')
            self.assertEqual(409, refused.status)
            self.assertIn(said, str(refused))

    def test_ironic_that_fails_is_unavailable(self):
        client = self._client()
        for status in (401, 500, 503):
            self.nodes.status = status
            failed = self.assertRaises(errors.IronicUnavailable,
                                       client.write_lessee, 'aa', 'project')
            self.assertEqual(status == 401, '[ironic]' in str(failed))


class TestInProcess(testtools.TestCase):

    def test_change_reaches_the_application(self):
        nodes = Nodes([BODY])
        ironic.Ironic(in_process.InProcess(nodes)).write_lessee(
            'aa', 'project')
        self.assertEqual([('PATCH', '/v1/nodes/aa', [
            {'op': 'add', 'path': '/lessee', 'value': 'project'}])],
            nodes.changes)

    def test_application_is_called_with_path_query_and_headers(self):
        nodes = Nodes([{**BODY, 'name': 'nöde x'}])
        client = ironic.Ironic(
            in_process.InProcess(nodes), {'X-Auth-Token': 'secret'})
        self.assertEqual('aa', client.node('nöde x').uuid)
        self.assertEqual(['aa'], [node.uuid for node in client.nodes()])
        self.assertEqual('secret', nodes.asked[0][1]['X-Auth-Token'])

    def test_application_runs_on_another_thread(self):
        threads = []

        def application(environ, start_response):
            threads.append(threading.get_ident())
            start_response('404 Not Found', [])
            return [NOT_FOUND]
        ironic.Ironic(in_process.InProcess(application)).node('a')
        self.assertNotIn(threading.get_ident(), threads)

    def test_answer_is_closed(self):
        closed = []

        class Answer(list):
            def close(self):
                closed.append(True)

        def application(environ, start_response):
            start_response('404 Not Found', [])
            return Answer([b'', NOT_FOUND])
        ironic.Ironic(in_process.InProcess(application)).node('a')
        self.assertEqual([True], closed)

    def test_application_that_raises_is_unavailable(self):
        def application(environ, start_response):
            raise RuntimeError('its database is gone')
        client = ironic.Ironic(in_process.InProcess(application))
        with self.assertLogs(in_process.LOG.logger, 'ERROR') as logged:
            for _ in range(2):
                self.assertRaises(errors.IronicUnavailable, client.node, 'a')
        # The traceback of one failure was in the log for each request.
        output, = logged.output
        self.assertIn('its database is gone', output)

    def test_answer_that_is_not_json_is_no_node(self):
        def application(environ, start_response):
            start_response('502 Bad Gateway', [])
            return [b'<html>']
        client = ironic.Ironic(in_process.InProcess(application))
        self.assertRaises(errors.IronicUnavailable, client.node, 'a')


class TestOverHttp(testtools.TestCase):

    def _conf(self, url):
        conf = project_conf.load(config_files=[])
        conf.set_override('endpoint_override', url, 'ironic')
        return conf

    def _client(self, nodes, closes=()):
        return ironic.Ironic.over_http(self._conf(self._serve(nodes, closes)))

    def _serve(self, nodes, closes=()):
        """Serve, with connections that are kept.

        :param closes: which requests, counted from 1, find theirs closed.
        """
        count = itertools.count(1)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                if next(count) in closes:
                    self.close_connection = True
                    return
                length = int(self.headers.get('Content-Length') or 0)
                sent = self.rfile.read(length) if length else b'null'
                status, body = nodes.send(self.command, self.path,
                                          self.headers, json.loads(sent))
                raw = b'<p>' if body is None else json.dumps(body).encode()
                self.send_response(status)
                self.send_header('Content-Length', str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_PATCH = do_PUT = do_GET

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f'http://127.0.0.1:{server.server_port}'

    def test_nodes_are_read_at_the_endpoint(self):
        nodes = Nodes([BODY, {**BODY, 'uuid': 'bb'}], page=1)
        client = self._client(nodes)
        self.assertEqual(['aa', 'bb'],
                         [node.uuid for node in client.nodes()])
        self.assertEqual('aa', client.node('aa').uuid)
        self.assertIsNone(client.node('cc'))
        self.assertEqual('latest', nodes.asked[0][1][ironic.VERSION_HEADER])

    def test_nodes_are_changed_at_the_endpoint(self):
        nodes = Nodes([BODY])
        client = self._client(nodes)
        client.undeploy('aa')
        self.assertEqual([('PUT', '/v1/nodes/aa/states/provision',
                           {'target': 'deleted'})], nodes.changes)

    def test_failing_ironic_is_unavailable(self):
        nodes = Nodes([BODY])
        nodes.status = 500
        client = self._client(nodes)
        self.assertRaises(errors.IronicUnavailable, client.node, 'aa')

    def test_silence_is_unavailable(self):
        server = http.server.HTTPServer(('127.0.0.1', 0), None)
        url = f'http://127.0.0.1:{server.server_port}'
        server.server_close()
        client = ironic.Ironic.over_http(self._conf(url))
        refused = self.assertRaises(errors.IronicUnavailable, client.node,
                                    'aa')
        self.assertIn('[ironic]', str(refused))

    def test_read_over_a_connection_that_was_being_closed(self):
        """A server closes one that was idle, just as it is used again."""
        nodes = Nodes([BODY])
        client = self._client(nodes, closes=(2,))
        for _ in range(2):
            self.assertEqual('aa', client.node('aa').uuid)
        self.assertEqual(2, len(nodes.asked))

    def test_read_that_breaks_twice_is_told(self):
        client = self._client(Nodes([BODY]), closes=(1, 2))
        self.assertRaises(errors.IronicUnavailable, client.node, 'aa')

    def test_change_is_not_sent_twice(self):
        """It may have been made before the connection broke."""
        nodes = Nodes([BODY])
        client = self._client(nodes, closes=(1,))
        self.assertRaises(errors.IronicUnavailable, client.write_lessee,
                          'aa', 'project')
        self.assertEqual([], nodes.changes)


class TestConfiguration(testtools.TestCase):

    def test_global_configuration_is_never_touched(self):
        before = set(cfg.CONF)
        ironic.Ironic.over_http(project_conf.load(config_files=[]))
        self.assertEqual(before, set(cfg.CONF))

    def test_file_is_named_by_the_environment(self):
        folder = self.useFixture(fixtures.TempDir()).path
        path = f'{folder}/x.conf'
        with open(path, 'w') as config:
            config.write('[reservations]\ndefault_ttl = 77\n')
        self.useFixture(fixtures.EnvironmentVariable(
            project_conf.FILE_VARIABLE, path))
        self.assertEqual(77, project_conf.load().reservations.default_ttl)
        self.assertEqual(600, project_conf.load(
            config_files=[]).reservations.default_ttl)


class TestTexts(testtools.TestCase):

    def test_text_of_a_tenant_can_be_stored_and_shown(self):
        """A lessee's NUL stopped the mirror of all nodes on PostgreSQL."""
        read = ironic_answers.node_of({
            'uuid': 'u', 'name': '\x1b[2Jn', 'resource_class': 'a\0b\ud800',
            'owner': 'a project', 'lessee': None,
            'properties': {'cpu_arch': 'x\u202e86'}})
        self.assertEqual(
            ('\ufffd[2Jn', 'a\ufffdb\ufffd', 'a project', None,
             (('cpu_arch', 'x\ufffd86'),)),
            (read.name, read.resource_class, read.owner, read.lessee,
             read.properties))
