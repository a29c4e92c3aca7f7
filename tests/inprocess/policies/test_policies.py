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

"""Every role against every rule."""

import itertools
import os
import pathlib
import re
import subprocess
import sys
import textwrap
from unittest import mock

import fixtures
from oslo_config import cfg
from oslo_context import context as oslo_context
from oslo_policy import policy
import requests
import testtools
import yaml

from ironic_reservations import api
from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations import policies
from tests import world

#: The rules of reservations.
RULES = ('create', 'create_any_node', 'get', 'list', 'list_all', 'update',
         'delete')
OWN, FOREIGN = {'project_id': 'ours'}, {'project_id': 'theirs'}


def _caller(*roles, **scope):
    return oslo_context.RequestContext(user_id='me', roles=roles, **scope)


def _in_project(*roles):
    # keystonemiddleware adds the roles that others imply.
    return _caller(*roles, project_id='ours')


CALLERS = {
    'nobody in particular': _in_project('swift-user'),
    'project reader': _in_project('reader'),
    'project member': _in_project('member', 'reader'),
    'project manager': _in_project('manager', 'member', 'reader'),
    'admin': _in_project('admin', 'manager', 'member', 'reader'),
    'service': _in_project('service'),
    'system reader': _caller('reader', system_scope='all'),
    'system member': _caller('member', 'reader', system_scope='all'),
    'system admin': _caller('admin', 'member', 'reader', system_scope='all'),
    'system service': _caller('service', system_scope='all'),
    'anonymous': _caller(),
}

#: The rules that allow a caller to act, on its own project and on another.
TABLE = {
    'nobody in particular': ((), ()),
    'project reader': (('get', 'list'), ('list',)),
    'project member': (('create', 'get', 'list', 'update', 'delete'),
                       ('create', 'list')),
    'project manager': (('create', 'get', 'list', 'update', 'delete'),
                        ('create', 'list')),
    'admin': (('create', 'get', 'list', 'update', 'delete'),
              ('create', 'list')),
    'service': (('list',), ('list',)),
    'system reader': (('get', 'list', 'list_all'),) * 2,
    'system service': (('get', 'list', 'list_all'),) * 2,
    'system member': (RULES, RULES),
    'system admin': (RULES, RULES),
    'anonymous': ((), ()),
}


class TestRules(testtools.TestCase):

    def test_every_rule_can_be_read(self):
        """oslo.policy denies a rule that it cannot parse, almost silently."""
        rules = policies.list_rules()
        for rule in (*rules, *(rule.deprecated_rule for rule in rules
                               if rule.deprecated_rule)):
            self.assertEqual(rule.check_str == '!', str(rule.check) == '!',
                             rule.name)

    def test_every_request_is_named_by_a_rule(self):
        """The history of a lease was not."""
        def general(path):
            return re.sub('{.*?}', '{}', path.partition('?')[0])
        named = {(operation['method'], general(operation['path']))
                 for rule in policies.list_rules()
                 for operation in getattr(rule, 'operations', ())}
        described = yaml.safe_load(pathlib.Path(
            api.__file__).with_name('openapi.yaml').read_text())
        for path, item in described['paths'].items():
            for method in item.keys() & {'get', 'post', 'put', 'patch',
                                         'delete'}:
                if path not in ('/', '/v1'):
                    self.assertIn((method.upper(), general(path)), named)


class TestRoles(testtools.TestCase):
    """The rules of reservations; test_as_ironic has those of leases as well.
    """

    def setUp(self):
        super().setUp()
        self.conf = project_conf.load(config_files=[])
        self.enforcer = policies.Enforcer(self.conf, 'keystone')

    def _with_file(self, text):
        """Return an enforcer with a file of the operator."""
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                            'policy.yaml')
        path.write_text(text)
        self.conf.set_override('policy_file', str(path), 'oslo_policy')
        return policies.Enforcer(self.conf, 'keystone')

    def test_table_is_complete(self):
        self.assertEqual(set(CALLERS), set(TABLE))

    def test_every_role_may_what_the_table_says_and_no_more(self):
        for (name, caller), (which, target), rule in itertools.product(
                CALLERS.items(), enumerate((OWN, FOREIGN)), RULES):
            self.assertEqual(
                rule in TABLE[name][which],
                self.enforcer.check(caller, f'baremetal:reservation:{rule}',
                                    target), (name, rule, target))

    def test_rows_of_no_project_are_for_those_who_see_all(self):
        for name, caller in CALLERS.items():
            self.assertEqual(
                'list_all' in TABLE[name][0],
                self.enforcer.check(caller, 'baremetal:reservation:get',
                                    {'project_id': None}), name)

    def test_refusal_names_the_rule(self):
        refused = self.assertRaises(
            errors.Forbidden, self.enforcer.authorize,
            CALLERS['project reader'], 'baremetal:reservation:create', OWN)
        self.assertIn('baremetal:reservation:create', str(refused))
        self.assertEqual(403, refused.status)

    def test_without_keystone_everybody_is_an_administrator(self):
        for strategy in ('noauth', 'http_basic'):
            enforcer = policies.Enforcer(self.conf, strategy)
            for caller, rule in itertools.product(CALLERS.values(), RULES):
                enforcer.authorize(caller, f'baremetal:reservation:{rule}',
                                   FOREIGN)

    def test_unknown_rule_is_a_bug_and_not_a_yes(self):
        self.assertRaises(
            policy.PolicyNotRegistered, self.enforcer.check,
            CALLERS['project member'], 'baremetal:reservation:no_such_rule',
            OWN)

    def test_operators_file_overrides_the_defaults(self):
        enforcer = self._with_file(
            '"baremetal:reservation:create": "role:chosen"\n')
        rule = 'baremetal:reservation:create'
        self.assertTrue(enforcer.check(_in_project('chosen'), rule, OWN))
        self.assertFalse(enforcer.check(CALLERS['project member'], rule,
                                        OWN))

    def test_file_is_read_before_the_first_request(self):
        """One thread reads it: with several, some requests were refused."""
        enforcer = self._with_file(
            '"baremetal:reservation:create": "role:chosen"\n')
        with mock.patch.object(policy.Rules, 'load', side_effect=(
                AssertionError('by the first request'))):
            self.assertTrue(enforcer.check(
                _in_project('chosen'), 'baremetal:reservation:create', OWN))

    def test_file_that_cannot_be_read_is_named(self):
        for content in ('"baremetal:reservation:create": [\n',
                        '"baremetal:reservation:create": 3\n', '- a\n'):
            failed = self.assertRaises(cfg.Error, self._with_file, content)
            self.assertIn(self.conf.oslo_policy.policy_file, str(failed))
            self.assertIn('cannot be read', str(failed))

    def test_file_that_is_broken_later_changes_nothing(self):
        """One request was answered 500, and nothing named the file."""
        log = self.useFixture(fixtures.FakeLogger())
        rule = 'baremetal:reservation:create'
        enforcer = self._with_file(f'"{rule}": "role:chosen"\n')
        path = pathlib.Path(self.conf.oslo_policy.policy_file)
        for later, content in enumerate((f'"{rule}": [\n', '- a\n',
                                         f'"{rule}": 3\n'), 1):
            path.write_text(content)
            os.utime(path, (2e9 + later, 2e9 + later))
            for _ in range(2):
                self.assertTrue(enforcer.check(_in_project('chosen'), rule,
                                               OWN))
                self.assertFalse(enforcer.check(CALLERS['project member'],
                                                rule, OWN))
            self.assertEqual(later, log.output.count(
                'the former rules apply until it is corrected'))
        path.write_text(f'"{rule}": "role:other"\n')
        os.utime(path, (2e9 + 9, 2e9 + 9))
        self.assertFalse(enforcer.check(_in_project('chosen'), rule, OWN))
        self.assertTrue(enforcer.check(_in_project('other'), rule, OWN))

    def test_check_that_fails_is_no_broken_file(self):
        """A rule asks another service, which does not answer."""
        log = self.useFixture(fixtures.FakeLogger())
        rule = 'baremetal:reservation:create'
        enforcer = self._with_file(f'"{rule}": "http://127.0.0.1:9/"\n')
        self.assertRaises(requests.ConnectionError, enforcer.check,
                          CALLERS['project member'], rule, OWN)
        self.assertNotIn('cannot be read', log.output)

    def test_folder_with_a_file_that_cannot_be_read_is_named(self):
        folder = self.useFixture(fixtures.TempDir()).path
        pathlib.Path(folder, 'more.yaml').write_text('- a\n')
        self.conf.set_override('policy_dirs', [folder], 'oslo_policy')
        failed = self.assertRaises(cfg.Error, policies.Enforcer, self.conf,
                                   'keystone')
        self.assertIn(f'policy_dirs: {folder})', str(failed))

    def test_exemptions_of_the_documentation(self):
        """The examples of the page about limits: a project, a role."""
        page = pathlib.Path('doc/source/admin/limits.rst').read_text()
        example = page.split('.. code-block:: yaml\n\n')[1].split('\n\n')[0]
        enforcer = self._with_file(textwrap.dedent(example))
        for caller, exempt in (
                (_caller('member', project_id='1f8c04a6b0d94d3f8d2d1c9b6f0e7a'
                         '55'), True),
                (_in_project('member', 'unlimited'), True),
                (CALLERS['system admin'], True),
                (CALLERS['project manager'], False)):
            self.assertEqual(exempt, enforcer.check(
                caller, 'reservation:lease:exceed_limits', OWN))


class TestSamples(testtools.TestCase):

    def _generate(self, program, *arguments):
        done = subprocess.run(
            [pathlib.Path(sys.executable).with_name(program), *arguments],
            capture_output=True, text=True, timeout=240)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_sample_policy_describes_every_rule(self):
        sample = self._generate('oslopolicy-sample-generator', '--namespace',
                                'ironic_reservations')
        for rule in policies.list_rules():
            self.assertIn(f'#"{rule.name}":', sample)
            self.assertIn(rule.description.split('. ')[0][:60],
                          ' '.join(sample.replace('#', '').split()))

    def test_sample_configuration_has_every_option(self):
        sample = self._generate('oslo-config-generator', '--namespace',
                                'ironic_reservations')
        conf = world.configured('sqlite://')
        for group, names in (
                (None, ('state_path', 'auth_strategy')),
                ('reservations', conf.reservations),
                ('guard', conf.guard), ('api', conf.api),
                ('ironic', ('confirm', 'poll_interval', 'auth_type',
                            'endpoint_override')),
                ('database', ('connection', 'max_pool_size'))):
            section = sample.partition(f'[{group or "DEFAULT"}]\n')[2]
            section = section.partition('\n[')[0]
            for name in names:
                self.assertIn(f'#{name} =', section)
