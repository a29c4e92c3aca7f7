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

"""The alerts and the dashboard, with the metrics that are served.

promtool evaluates each expression with the samples of a real scrape.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import json
import pathlib
import re
import subprocess
from typing import Any

import fixtures
from prometheus_client import parser
import sqlalchemy as sa
import testtools
import yaml

from ironic_reservations import build
from ironic_reservations import errors
from ironic_reservations.db import claims as db_claims
from ironic_reservations.db import tables
from ironic_reservations.engine import claims
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.audit import drift
from ironic_reservations.guard import metrics as guard_metrics
from ironic_reservations.model import leases
from tests.inprocess.api import world

_FOLDER = pathlib.Path(__file__).parents[3] / 'contrib' / 'monitoring'
_RUNBOOK = (pathlib.Path(__file__).parents[3] / 'doc' / 'source' / 'admin'
            / 'runbook.rst')
_JOB = 'ironic-reservations'
#: Metrics that Prometheus adds.
_OF_PROMETHEUS = {'up': frozenset({'job', 'instance'})}
_SELECTOR = re.compile(r'\b(up|ironic_reservations_\w+)(?:\{([^}]*)\})?')
_MATCHER = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')
#: For each alert, the series that makes it fire, and the minutes until then.
_FIRES: Mapping[str, tuple[str, dict[str, str], str, int]] = {
    'Down': ('up', {}, '0x9', 6),
    'NoReconciler': ('reconciler_claimed', {}, '0x9', 6),
    'DatabaseSilent': ('clock_silence_seconds', {}, '30x9', 2),
    'OtherHistory': ('other_histories_total', {}, '0x4 1x4', 8),
    'ClockOff': ('clock_skew_seconds', {}, '-2x9', 6),
    'ServiceErrors': ('guard_refusals_total',
                      {'code': 'service.outcome_unknown'}, '0+1x30', 15),
    'Unexpected': ('refusals_total', {'code': 'service.unexpected'},
                   '0x4 1x4', 6),
    'OutcomeUnknown': ('uncertain_oldest_seconds', {}, '700x9', 2),
    'IronicTooNew': ('ironic_api_served_minor', {}, '999x30', 12),
    'SlowPicks': ('pick_seconds_bucket', {'le': '+Inf'}, '0+9x30', 15),
    'LeasesWaiting': ('leases_waiting', {'status': 'STARTING'}, '2x70', 65),
    'MaintenanceWaiting': ('maintenance_waiting', {}, '1x1500', 1450),
    'PlacementDiffers': ('placement_differences_remaining', {}, '1x20', 16),
    'PlacementAuditOld': ('placement_audited_timestamp_seconds', {},
                          '60x40', 35),
    'NoticesLate': ('notices_oldest_seconds', {'channel': 'mail'},
                    '4000x9', 2),
    'NoticesGivenUp': ('notices_given_up', {'channel': 'webhook'},
                       '3x4 5x4', 8),
}
_ALERT = 'IronicReservations'


def _rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((_FOLDER / 'rules.yaml').read_text())['groups']
    return [rule for group in groups for rule in group['rules']]


def _dashboard() -> list[str]:
    """Return the expressions of the dashboard."""
    panels = json.loads((_FOLDER / 'dashboard.json').read_text())['panels']
    return [target['expr'].replace('$__rate_interval', '5m')
            .replace('$job', _JOB)
            for panel in panels for target in panel['targets']]


def _series(name: str, labels: Mapping[str, str]) -> str:
    return name + '{' + ','.join(f'{key}="{value}"' for key, value
                                 in sorted(labels.items())) + '}'


class ServedTestCase(testtools.TestCase):
    """All metrics, as Prometheus reads them from one process."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.world = self.useFixture(world.OpenWorld(
            notices__mail_host='mail.example'))
        self._lease()
        self.world.conf.set_override('enabled', True, 'placement')
        # With the clock of the database, which has metrics.
        engine = build.engine(self.world.conf, self.world.ironic)
        self.addCleanup(engine.database.close)
        self.world.engine = engine
        claims.take(engine, db_claims.MIRROR, 'somebody', 3600)
        engine.ironic_api.see('1.1')
        with engine.database.write() as opened:
            drift.write(opened, {kind: drift.Drift(0, 0, engine.clock())
                                 for kind in differences.Kind})
        served = guard_metrics.Metrics().beside(self.world.make_app())
        world.request(served, 'GET', '/v1/leases')
        text = world.request(served, 'GET', '/metrics').body.decode()
        self.samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples}
        self.labels = {**_OF_PROMETHEUS, **{
            name: {key for key, _ in labels} | {'job', 'instance'}
            for name, labels in self.samples}}

    def _lease(self) -> None:
        """Lease a node, so that its class is counted."""
        self.world.ironic.add(name='a', resource_class='gold')
        for path, document in (('os-hosts', {'name': 'a'}), ('leases', {
                'name': 'there', 'start_date': 'now',
                'end_date': '2050-01-02 18:00', 'reservations': [
                    {'resource_type': 'physical:host', 'min': 1,
                     'max': 1}]})):
            self.assertEqual(201, world.request(
                self.world, 'POST', f'/v1/{path}', document).status)
        with self.world.engine.database.write() as opened:
            opened.execute(sa.update(tables.reservations).values(
                state=leases.BookingState.BOUND.value))

    def series(self) -> dict[str, str]:
        """Return the values of all series, in the notation of promtool."""
        there = {_series(each, {**dict(labels), 'job': _JOB,
                                'instance': 'api-1'}): f'{value}x1500'
                 for (each, labels), value in self.samples.items()}
        return {**there, _series('up', {'job': _JOB, 'instance': 'api-1'}):
                '1x1500'}

    def promtool(self, *arguments: str) -> None:
        """Run promtool, which must find no fault."""
        done = subprocess.run(['promtool', *arguments], text=True,
                              capture_output=True)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def evaluate(self, tests: list[dict[str, Any]]) -> None:
        """Let promtool evaluate expressions, with the alerts loaded."""
        file = self.folder / 'tests.yaml'
        file.write_text(json.dumps({
            'rule_files': [str(_FOLDER / 'rules.yaml')],
            'evaluation_interval': '1m', 'tests': tests}))
        self.promtool('test', 'rules', str(file))


def _inputs(series: Mapping[str, str]) -> list[dict[str, str]]:
    return [{'series': name, 'values': values}
            for name, values in series.items()]


def _there(expression: str, minutes: int) -> dict[str, Any]:
    """Return an expectation: the expression has a value."""
    return {'expr': f'count({expression}) > bool 0',
            'eval_time': f'{minutes}m',
            'exp_samples': [{'labels': '{}', 'value': 1}]}


class MonitoringTest(ServedTestCase):

    def test_rules_are_valid(self) -> None:
        self.promtool('check', 'rules', str(_FOLDER / 'rules.yaml'))

    def test_each_metric_and_label_is_served(self) -> None:
        for expression in (*_dashboard(), *(each['expr']
                                            for each in _rules())):
            used = _SELECTOR.findall(expression)
            self.assertTrue(used, expression)
            for name, matchers in used:
                self.assertIn(name, self.labels, expression)
                for label, operator, wanted in _MATCHER.findall(matchers):
                    self.assertIn(label, self.labels[name], expression)
                    self._selects(name, label, operator, wanted)
            allowed = set.union(*(set(self.labels[name])
                                  for name, _ in used))
            for grouped in re.findall(r'by \(([^)]*)\)', expression):
                self.assertLessEqual(set(grouped.split(', ')), allowed)

    def _selects(self, name: str, label: str, operator: str,
                 wanted: str) -> None:
        """Check that a matcher finds a series."""
        values = {dict(labels).get(label, _JOB)
                  for each, labels in self.samples if each == name}
        if operator != '!=' and name not in _OF_PROMETHEUS:
            self.assertTrue([each for each in values
                             if re.fullmatch(wanted, each)], (name, wanted))

    def test_each_panel_has_a_value(self) -> None:
        self.evaluate([{
            'interval': '1m', 'input_series': _inputs(self.series()),
            'promql_expr_test': [_there(each, 20) for each in _dashboard()]}])

    def test_no_alert_fires_where_all_is_well(self) -> None:
        self.evaluate([{
            'interval': '1m', 'input_series': _inputs(self.series()),
            'promql_expr_test': [{'expr': 'ALERTS', 'eval_time': f'{at}m',
                                  'exp_samples': []}
                                 for at in (1, 20, 100)]}])

    def test_each_alert_fires(self) -> None:
        self.assertEqual(sorted(_ALERT + each for each in _FIRES),
                         sorted(each['alert'] for each in _rules()))
        tests = []
        for alert, (name, labels, values, minutes) in _FIRES.items():
            full = name if name == 'up' else f'ironic_reservations_{name}'
            found = [each for each in self.series() if each.startswith(
                full + '{') and all(f'{key}="{value}"' in each for key, value
                                    in labels.items())]
            self.assertTrue(found, alert)
            expression = next(each['expr'] for each in _rules()
                              if each['alert'] == _ALERT + alert)
            needed = {used for used, _ in _SELECTOR.findall(expression)}
            series = {each: value for each, value in self.series().items()
                      if each.partition('{')[0] in needed}
            tests.append({
                'interval': '1m',
                'input_series': _inputs({**series, found[0]: values}),
                'promql_expr_test': [_there(
                    f'ALERTS{{alertname="{_ALERT}{alert}",'
                    'alertstate="firing"}', minutes)]})
        self.evaluate(tests)


class RunbookTest(testtools.TestCase):

    def test_each_alert_and_each_code_of_the_service_has_a_section(
            self) -> None:
        self.assertEqual(sorted([*(each['alert'] for each in _rules()),
                                 *errors.service_codes()]),
                         sorted(_sections()))


def _sections() -> Iterable[str]:
    return re.findall(r'^(IronicReservations\w+|service\.\w+)\n[-=]+\n',
                      _RUNBOOK.read_text(), flags=re.MULTILINE)
