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

"""The requirements of a lease: their grammar, and the hosts that match."""

import datetime
import fractions
import itertools
import json
import math
import pathlib
import re

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.model import condition_text
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import inventories
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import requirements
from tests import strategies

PAGE = (pathlib.Path(__file__).parents[3]
        / 'doc' / 'source' / 'user' / 'properties.rst')

NODE = mirrored_node.Node(
    'aa', name='node-1', resource_class='gold', owner='ours',
    traits=frozenset({'CUSTOM_GPU', 'CUSTOM_NVME'}),
    properties=(('cpus', '64'), ('memory_mb', '262144'),
                ('cpu_arch', 'x86_64')))
HOST = leases.Host(7, NODE, strategies.NOW, capabilities={'rack': 'r1'})

OPERATORS = ('==', '!=', '>=', '<=', '>', '<')
MIRRORED = {'==': '==', '!=': '!=', '>=': '<=', '<=': '>=', '>': '<',
            '<': '>'}
COMPARE = {'==': lambda x, y: x == y, '!=': lambda x, y: x != y,
           '>=': lambda x, y: x >= y, '<=': lambda x, y: x <= y,
           '>': lambda x, y: x > y, '<': lambda x, y: x < y}

names = st.sampled_from(('vcpus', 'rack', 'gpu', 'traits'))
literals = st.sampled_from(('4', '10', '9.5', 'r1', 'R1', 'CUSTOM_GPU', ''))
knowns = st.fixed_dictionaries({}, optional={
    'vcpus': st.sampled_from(('4', '10', '64', 4.0)),
    'rack': st.sampled_from(('r1', 'R1', '10')),
    'gpu': st.sampled_from(('a100', '')),
    'traits': strategies.trait_sets | st.just(frozenset({'CUSTOM_GPU'}))})
comparisons = st.builds(
    lambda operator, name, literal: [operator, f'${name}', literal],
    st.sampled_from(OPERATORS), names, literals)
memberships = st.builds(
    lambda name, values: ['in', f'${name}', values],
    names, st.lists(literals, min_size=1, max_size=3))
conditions = st.recursive(
    comparisons | memberships,
    lambda inner: st.builds(
        lambda word, parts: [word, *parts], st.sampled_from(('and', 'or')),
        st.lists(inner, min_size=1, max_size=3))
    | inner.map(lambda part: ['not', part]), max_leaves=8)
#: Numbers as people write them.
numbers = st.integers(-10**20, 10**20).map(str) | st.floats(
    allow_nan=False, allow_infinity=False).map(str)
words = st.text().filter(lambda text: not text.startswith('$'))


MADE = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


def _need(*sizes):
    return instance_reservations.Need(sizes)


def _described(capabilities, **properties):
    return requirements.describe(leases.Host(
        1, mirrored_node.Node('node', properties=tuple(properties.items())),
        MADE, capabilities=capabilities))


def _parse(condition):
    return requirements.parse(json.dumps(condition), '')


def _matches(condition, known):
    return _parse(condition).matches(known)


class TestComparison(testtools.TestCase):

    def test_empty_text_takes_every_host(self):
        for text in ('', ' \n', '[]', ' [ ]'):
            asked = requirements.parse(text, text)
            self.assertTrue(asked.matches({}))
            self.assertEqual(frozenset(), asked.names)
            self.assertEqual(requirements.parse('', ''), asked)

    def test_host_must_do_for_both_texts(self):
        asked = requirements.parse('[">=", "$vcpus", "4"]',
                                   '["==", "$gpu", "h100"]')
        self.assertEqual({'vcpus', 'gpu'}, asked.names)
        self.assertTrue(asked.matches({'vcpus': '4', 'gpu': 'h100'}))
        self.assertFalse(asked.matches({'vcpus': '3', 'gpu': 'h100'}))
        self.assertFalse(asked.matches({'vcpus': '4', 'gpu': 'a100'}))

    def test_host_must_have_the_sizes_of_an_instance(self):
        asked = requirements.parse('["==", "$gpu", "h100"]', '', _need(
            4, 0, 10))
        self.assertEqual({'gpu'}, asked.names)
        for vcpus, local_gb, gpu, fits in (
                ('4', '10', 'h100', True), ('64', '011', 'h100', True),
                ('3', '10', 'h100', False), ('4', '9', 'h100', False),
                ('4', '10', 'a100', False), ('', '10', 'h100', False),
                ('many', '10', 'h100', False), ('4.5', '10', 'h100', False),
                ('-4', '10', 'h100', False), (' 4', '10', 'h100', False),
                ('\u0664', '10', 'h100', False),
                ('9' * 5000, '10', 'h100', False)):
            self.assertIs(fits, asked.met_by(_described(
                {'gpu': gpu}, cpus=vcpus, local_gb=local_gb)), vcpus)
        self.assertFalse(asked.met_by(_described({'gpu': 'h100'},
                                                 local_gb='10')))
        self.assertNotEqual(asked, requirements.parse(
            '["==", "$gpu", "h100"]', '', _need(4, 1, 10)))

    def test_compute_hosts_are_had_in_shares_only(self):
        node = mirrored_node.Node(
            'compute', provision_state=None, inventories=(
                ('VCPU', inventories.Inventory(4, allocation_ratio=2.0)),))
        host = requirements.describe(leases.Host(1, node, MADE))
        self.assertFalse(requirements.parse('', '').met_by(host))
        self.assertTrue(requirements.parse('', '', _need(8, 0, 0)).met_by(
            host))
        self.assertFalse(requirements.parse('', '', _need(9, 0, 0)).met_by(
            host))
        self.assertTrue(requirements.parse(
            '["==", "$vcpus", "4"]', '["==", "$hypervisor_type", "compute"]',
            _need(1, 0, 0)).met_by(host))

    def test_sides_are_compared_as_what_they_are(self):
        digits = '9' * 5000
        for why, condition, known, met in (
                ('case', ['==', '$x', 'r1'], 'r1', True),
                ('case', ['==', '$x', 'R1'], 'r1', False),
                ('case', ['<', '$x', 'r'], 'R', True),
                ('number and word', ['<', '$x', 'many'], '10', True),
                ('number and word', ['<', '$x', '9'], '10a', True),
                ('last digit', ['!=', '$x', '9007199254740992'],
                 '9007199254740993', True),
                ('last digit', ['>', '$x', '9007199254740992'],
                 '9007199254740993', True),
                ('no finite number', ['==', '$x', '4'], math.nan, False),
                ('no finite number', ['==', '$x', 'inf'], math.inf, True),
                ('too long a number', ['==', '$x', digits], digits, True),
                ('too long a number', ['==', '$x', '1e99999999999'], digits,
                 False)):
            self.assertIs(met, _matches(condition, {'x': known}), why)

    def test_words_that_python_takes_for_numbers_are_words(self):
        for word, number in (('1_0', '10'), ('\u0664', '4'), (' 4', '4'),
                             ('4\n', '4'), ('0x4', '4')):
            self.assertFalse(_matches(['==', '$x', number], {'x': word}))
            self.assertTrue(_matches(['==', '$x', word], {'x': word}))
        for word in ('nan', 'inf', '-Infinity', 'NaN'):
            self.assertTrue(_matches(['==', '$x', word], {'x': word}))

    def test_number_need_not_be_quoted(self):
        for text in ('4', '4.0', '0.4e1', '"4"'):
            asked = requirements.parse(f'["==", "$vcpus", {text}]', '')
            self.assertTrue(asked.matches({'vcpus': '4'}))
            self.assertTrue(asked.matches({'vcpus': 4.0}))
        self.assertEqual(requirements.parse('["==", "$vcpus", 4]', ''),
                         requirements.parse('["==", "$vcpus", "4"]', ''))

    def test_missing_property_matches_no_comparison(self):
        for operator in OPERATORS:
            self.assertFalse(_matches([operator, '$gpu', 'a100'], {}))
        self.assertFalse(_matches(['in', '$gpu', ['a100', '']], {}))
        self.assertFalse(_matches(['in', 'CUSTOM_A', '$traits'], {}))
        self.assertTrue(_matches(['not', ['==', '$gpu', 'a100']], {}))

    def test_in_looks_through_the_list(self):
        asked = _parse(['in', '$rack', ['r1', '2']])
        for rack, there in (('r1', True), ('2.0', True), ('r2', False)):
            self.assertEqual(there, asked.matches({'rack': rack}))

    def test_trait_is_asked_for_in_three_ways(self):
        known = {'traits': frozenset({'CUSTOM_GPU', 'CUSTOM_NVME'})}
        for trait, there in (('CUSTOM_GPU', True), ('CUSTOM_FPGA', False)):
            self.assertEqual(
                [there, there, not there, there],
                [_matches(condition, known) for condition in (
                    ['in', trait, '$traits'], ['==', '$traits', trait],
                    ['!=', '$traits', trait], ['in', '$traits', [trait]])])
        self.assertTrue(_matches(['!=', '$traits', 'CUSTOM_GPU'],
                                 {'traits': frozenset()}))

    def test_traits_have_no_order(self):
        for operator in ('>=', '<=', '>', '<'):
            self.assertFalse(_matches([operator, '$traits', ''],
                                      {'traits': frozenset({'CUSTOM_A'})}))

    def test_one_equals_sign_is_blazars(self):
        self.assertEqual(_parse(['==', '$gpu', 'h100']),
                         _parse(['=', '$gpu', 'h100']))

    def test_lone_surrogates_are_text(self):
        asked = requirements.parse('["==", "$x", "\\ud800"]', '')
        self.assertTrue(asked.matches({'x': '\ud800'}))
        self.assertTrue(requirements.parse('["==", "$\ud800", "a"]', '')
                        .matches({'\ud800': 'a'}))

    @hypothesis.given(numbers, numbers, st.sampled_from(OPERATORS))
    @hypothesis.example('10', '9', '>')
    def test_numbers_compare_as_numbers(self, one, other, operator):
        """Blazar: compares extra capabilities as strings."""
        want = COMPARE[operator](fractions.Fraction(one),
                                 fractions.Fraction(other))
        self.assertEqual(want, _matches([operator, '$x', other], {'x': one}))

    @hypothesis.given(words, words, st.sampled_from(OPERATORS))
    def test_what_is_no_number_compares_as_text(self, one, other, operator):
        hypothesis.assume(not (_is_number(one) and _is_number(other)))
        want = COMPARE[operator](one, other)
        self.assertEqual(want, _matches([operator, '$x', other], {'x': one}))

    @hypothesis.given(comparisons)
    def test_swapped_sides_mean_the_mirrored_operator(self, comparison):
        operator, name, literal = comparison
        self.assertEqual(_parse(comparison),
                         _parse([MIRRORED[operator], literal, name]))


def _is_number(text):
    return bool(re.fullmatch(
        r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?', text, re.ASCII))


class TestLogic(testtools.TestCase):

    @hypothesis.given(st.lists(conditions, min_size=1, max_size=3), knowns)
    def test_and_is_all_and_or_is_any(self, parts, known):
        each = [_matches(part, known) for part in parts]
        self.assertEqual(all(each), _matches(['and', *parts], known))
        self.assertEqual(any(each), _matches(['or', *parts], known))

    @hypothesis.given(conditions, conditions, knowns)
    def test_not_turns_and_into_or(self, one, other, known):
        self.assertEqual(
            _matches(['not', ['and', one, other]], known),
            _matches(['or', ['not', one], ['not', other]], known))

    @hypothesis.given(conditions, knowns)
    def test_not_is_the_contrary(self, condition, known):
        self.assertIsNot(_matches(condition, known),
                         _matches(['not', condition], known))

    @hypothesis.given(conditions, conditions, knowns)
    def test_two_texts_are_one_and(self, one, other, known):
        asked = requirements.parse(json.dumps(one), json.dumps(other))
        self.assertEqual(_parse(['and', one, other]), asked)
        self.assertEqual(
            _matches(one, known) and _matches(other, known),
            asked.matches(known))

    @hypothesis.given(conditions, knowns)
    def test_only_the_names_matter(self, condition, known):
        asked = _parse(condition)
        self.assertEqual(asked.matches(known), asked.matches(
            {name: value for name, value in known.items()
             if name in asked.names}))


    def test_which_hosts_are_its_own_a_project_may_ask(self):
        """A project may use its own id in any condition, and no other id."""
        own = ['==', '$owner', 'abc']
        for condition, names in (
                (own, ()), (['in', '$owner', ['abc']], ()),
                (['not', own], ()), (['not', ['!=', '$owner', 'abc']],
                                     ('owner',)),
                # Only hosts with another owner match it.
                (['!=', '$owner', 'abc'], ('owner',)),
                (['and', own, ['==', '$rack', 'r1']], ('rack',)),
                (['==', '$rack', 'abc'], ('rack',)),
                (['==', '$owner', 'abd'], ('owner',)),
                (['or', own, ['==', '$owner', 'abd']], ('owner',)),
                (['in', '$owner', ['abc', 'abd']], ('owner',)),
                (['>=', '$owner', 'abc'], ('owner',))):
            with self.subTest(condition=condition):
                self.assertEqual(frozenset(names), _parse(
                    condition).names_beside_own('abc'))
        for project_id in (None, '7'):
            # Numbers are compared as numbers: 7 equals 7.0.
            self.assertEqual({'owner'}, _parse(
                ['==', '$owner', '7']).names_beside_own(project_id))


class TestText(testtools.TestCase):

    @hypothesis.given(conditions)
    def test_white_space_does_not_matter(self, condition):
        texts = (json.dumps(condition), json.dumps(condition, indent=3),
                 json.dumps(condition, separators=(',', ':')),
                 f'\t\r\n{json.dumps(condition)} ')
        asked = {requirements.parse(text, '') for text in texts}
        self.assertEqual(1, len(asked))

    @hypothesis.given(st.text(), st.text())
    def test_any_text_is_read_or_refused_with_a_sentence(self, one, other):
        self._read_or_refused(one, other)

    @hypothesis.given(st.text('[]{}",:$and= 04.-e\\u8'))
    def test_almost_json_is_read_or_refused_with_a_sentence(self, text):
        self._read_or_refused(text)

    @hypothesis.given(st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers()
        | st.text() | st.sampled_from(('$vcpus', 'and', 'in', 'not', '==')),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
    def test_any_json_is_read_or_refused_with_a_sentence(self, value):
        self._read_or_refused(json.dumps(value))

    def _read_or_refused(self, *texts):
        for one, other in itertools.permutations((*texts, ''), 2):
            try:
                asked = requirements.parse(one, other)
            except ValueError as e:
                # The sentence names the fault and a correct form, and can be
                # sent.
                self.assertRegex(str(e), r'(?s)\. Write .*\.$')
                str(e).encode('ascii')
            else:
                hash(asked)
                asked.matches(dict.fromkeys(asked.names, 'r1'))


class TestRefusals(testtools.TestCase):

    def _refused(self, text, *sayings):
        refusal = self.assertRaises(ValueError, requirements.parse, text, '')
        for saying in sayings:
            self.assertIn(saying, str(refusal))
        other = self.assertRaises(ValueError, requirements.parse, '', text)
        self.assertIn('resource_properties', str(other))

    def test_sentence_says_where_and_how_it_should_be(self):
        like = '["==", "$vcpus", "4"]'
        for text, *sayings in (
                ('vcpus > 4', 'not JSON', 'character 1', like),
                ('["==", "$vcpus", "4"', 'not JSON', 'character 21', like),
                ('"$vcpus"', 'not a condition', like),
                ('{"==": 4}', 'not a condition', like),
                ('["~", "$vcpus", "4"]', '[0] is "~"', 'one of ==', like),
                ('[["=="], "$vcpus", "4"]', '[0] is [', like),
                ('["and", []]', 'hypervisor_properties[1] is []', like),
                ('["and", ["==", "$a", "1"], ["or", 4]]',
                 'hypervisor_properties[2][1] is "4"', like),
                ('["and"]', '"and" 0 conditions', 'one or more'),
                ('["not", ["==", "$a", 1], ["==", "$a", 2]]',
                 '"not" 2 conditions', 'exactly one'),
                ('["==", "$vcpus"]', '"==" 1 sides', like),
                ('["==", "vcpus", "4"]', 'exactly one', 'begins with $'),
                ('["==", "$vcpus", "$cpus"]', 'exactly one'),
                ('["==", "$", "4"]', '[1] is a $ without a name', like),
                ('["==", "$vcpus", null]', '[2] is null', 'like "4"'),
                ('["==", true, "$reservable"]', '[1] is true', 'a string'),
                ('["==", "$vcpus", ["4"]]', '[2] is ["4"]'),
                ('["in", "$rack", "r1"]', '["r1", "r2"]'),
                ('["in", "$rack", []]', '["r1", "r2"]'),
                ('["in", ["CUSTOM_A"], "$traits"]', '[1] is ["CUSTOM_A"]'),
                ('["in", "$rack", ["r1", "$gpu"]]', '[2][1] is "$gpu"'),
                ('["in", "$rack", "$gpu"]', '"CUSTOM_GPU"'),
                ('["==", "$vcpus", NaN]', 'NaN is not a number'),
                ('["==", "$vcpus", -Infinity]', '-Infinity is not a number'),
        ):
            self._refused(text, 'hypervisor_properties', *sayings)

    def test_long_text_is_refused(self):
        room = ' ' * (condition_text.MAX_LENGTH - 2)
        requirements.parse('[]' + room, '')
        self._refused('[]' + room + ' ', '10001 characters')

    def test_deep_text_is_refused(self):
        term, most = '["==", "$a", "1"]', condition_text.MAX_DEPTH
        for word in ('and', 'or', 'not'):
            def nested(depth, word=word):
                return (f'["{word}", ' * (depth - 1) + term
                        + ']' * (depth - 1))
            requirements.parse(nested(most), '')
            self._refused(nested(most + 1), 'nested too deep')
        for text in ('[' * 9000, '[' * 900 + ']' * 900,
                     '["==", "$a", ' + '[' * 900 + ']' * 900 + ']',
                     '{"a":' * 1900 + '1' + '}' * 1900):
            self._refused(text)

    def test_deep_text_is_refused_wherever_the_stack_stands(self):
        """A parser that runs out of stack must raise the same error."""
        def below(frames):
            if frames:
                return below(frames - 1)
            return self._refused('["and", ' * 300 + '4' + ']' * 300)
        for frames in range(0, 600, 60):
            below(frames)

    def test_many_terms_are_refused(self):
        def of(terms):
            return '["or"' + ',["<","$a",1]' * terms + ']'
        half = requirements.MAX_TERMS // 2
        requirements.parse(of(2 * half), '')
        requirements.parse(of(half), of(half))
        self._refused(of(2 * half + 1), '501 comparisons')
        self.assertRaises(ValueError, requirements.parse, of(half),
                          of(half + 1))

    def test_long_number_is_refused(self):
        for number in ('9' * 5000, '-' + '9' * 5000, '0.' + '9' * 5000,
                       '1e4000'):
            self._refused(f'["==", "$vcpus", {number}]', 'too long')


class TestHost(testtools.TestCase):

    def test_host_is_known_by_these_names(self):
        self.assertEqual(
            {'id': '7',
             'hypervisor_hostname': frozenset({'aa', 'node-1'}),
             'hypervisor_type': 'ironic', 'reservable': 'True',
             'status': 'available', 'node_uuid': 'aa', 'name': 'node-1',
             'owner': 'ours', 'resource_class': 'gold',
             'traits': frozenset({'CUSTOM_GPU', 'CUSTOM_NVME'}),
             'vcpus': '64', 'cpus': '64', 'memory_mb': '262144',
             'memory': '262144', 'arch': 'x86_64', 'cpu_arch': 'x86_64',
             'cpu_info': '{"arch": "x86_64"}', 'rack': 'r1'},
            requirements.of_host(HOST))

    def test_what_ironic_does_not_say_is_absent(self):
        bare = leases.Host(1, mirrored_node.Node('aa', provision_state=None),
                           strategies.NOW, reservable=False)
        self.assertEqual(
            {'id': '1', 'hypervisor_hostname': frozenset({'aa'}),
             'node_uuid': 'aa', 'hypervisor_type': 'ironic',
             'reservable': 'False', 'traits': frozenset()},
            requirements.of_host(bare))

    @hypothesis.given(strategies.nodes())
    def test_capability_never_stands_for_what_ironic_says(self, node):
        made = datetime.datetime.now(datetime.UTC)
        shadowed = leases.Host(1, node, made, capabilities=dict.fromkeys(
            requirements.BUILTIN, 'shadow'))
        self.assertEqual(requirements.of_host(leases.Host(1, node, made)),
                         requirements.of_host(shadowed))

    def test_each_builtin_name_can_be_had(self):
        node = mirrored_node.Node(
            'aa', name='n', resource_class='gold', owner='ours',
            properties=tuple((key, '1') for key in (
                'cpus', 'memory_mb', 'local_gb', 'cpu_arch')))
        self.assertEqual(requirements.BUILTIN, set(requirements.of_host(
            leases.Host(1, node, strategies.NOW))))


class TestPage(testtools.TestCase):
    """The statements of the user guide are true."""

    def setUp(self):
        super().setUp()
        self.page = PAGE.read_text()

    def test_every_condition_of_the_page_can_be_read(self):
        found = re.findall(r'``(\[.*?\])``', self.page)
        self.assertGreater(len(found), 8)
        for text in found:
            requirements.parse(text, '')

    def test_every_builtin_name_is_on_the_page(self):
        cells = re.findall(r'^   \* - (``\w.*)$', self.page,
                           flags=re.MULTILINE)
        self.assertEqual(requirements.BUILTIN,
                         set(re.findall(r'\w+', ' '.join(cells))))

    def test_examples_match_the_host_as_they_claim(self):
        yes, no = (block.split('\n\n')[1].splitlines() for block in
                   self.page.split('.. code-block:: json')[1:])
        host = requirements.of_host(HOST)
        for texts, want in ((yes, True), (no, False)):
            self.assertGreater(len(texts), 3)
            for text in texts:
                self.assertEqual(
                    want, requirements.parse(text, '').matches(host), text)
