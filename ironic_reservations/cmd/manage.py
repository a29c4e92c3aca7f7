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

"""ironic-reservations-manage: commands for operators."""

from __future__ import annotations

import json
import logging
import sys

from oslo_config import cfg

from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.cmd import class_heal
from ironic_reservations.cmd import lost_promises
from ironic_reservations.cmd import provider_config
from ironic_reservations.cmd import purge
from ironic_reservations.cmd import restored
from ironic_reservations.cmd import tables
from ironic_reservations.cmd import unreadable
from ironic_reservations.db import causes
from ironic_reservations.db import migrate
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.features.placement.audit import auditing
from ironic_reservations.model import count_text

_NAME = 'ironic-reservations-manage'
#: The exit statuses if something differs, and if the command failed.
DIFFERS = 1
FAILED = 2
_NOWHERE = logging.NullHandler()


def _add_commands(subparsers: object) -> None:
    add = subparsers.add_parser  # type: ignore[attr-defined]
    placement = add('placement', help='Holds in Placement.')
    actions = placement.add_subparsers(dest='action', required=True,
                                       metavar='<action>')
    audit = actions.add_parser(
        'audit', help='Compare the database with Placement, in both '
                      'directions. Exit status: 0 if they agree, 1 if '
                      'differences are left, 2 if the comparison failed.')
    audit.add_argument('--repair', action='store_true',
                       help='Repair the differences where that is possible.')
    audit.add_argument('--everything', action='store_true',
                       help='Compare every node, even if nothing has changed '
                            'since an audit found it in order.')
    audit.add_argument('-f', '--format', choices=('table', 'json'),
                       default='table', help='Output format.')
    class_heal.add_parser(actions)
    lost_promises.add_parser(add)
    provider_config.add_parser(add)
    purge.add_parser(add)
    restored.add_parser(add)


def main(argv: list[str] | None = None) -> int:
    """Run the command; the exit status is its result."""
    # A failure is printed as one sentence, and not as a traceback of the
    # handler of last resort.
    logging.getLogger().addHandler(_NOWHERE)
    command = cfg.SubCommandOpt('command', title='commands',
                                handler=_add_commands)
    try:
        conf = project_conf.load(sys.argv[1:] if argv is None else argv,
                                 prog=_NAME, cli_opts=[command], warn=_warn)
        if conf.command.name == 'nova':
            return provider_config.run(conf, conf.command)
        if conf.command.name in ('purge', 'restored'):
            engine = build.engine(conf, None)
            # The clock, which is read first, does not know why the database
            # fails.
            migrate.version(engine.database)
            return (restored.run(engine) if conf.command.name == 'restored'
                    else purge.run(engine, conf.command))
        if conf.command.name == 'audit':
            return lost_promises.run(build.engine(
                conf, ironic.Ironic.over_http(conf)), conf.command)
        if not conf.placement.enabled:
            raise ValueError('holds in Placement are switched off; set '
                             '[placement] enabled in '
                             'ironic-reservations.conf.')
        engine = build.engine(conf, ironic.Ironic.over_http(conf))
        if conf.command.action == 'heal':
            return class_heal.run(engine, conf.command)
        return audit(engine, conf.command.repair, conf.command.everything,
                     conf.command.format)
    except (errors.OutcomeUnknown, errors.ClockSkewed) as exc:
        return _failed(str(exc))
    except errors.DatabaseUnavailable as exc:
        return _failed(f'the database cannot be used: {causes.of(exc)}')
    except errors.IronicUnavailable as exc:
        return _failed(
            f'Ironic cannot be read: {unreadable.why(exc)}. The command '
            "reads Ironic's API with the address and the user of [ironic] in "
            'ironic-reservations.conf. Check both, and that the API runs.')
    except (errors.ReservationError, ValueError, OSError, cfg.Error) as exc:
        return _failed(str(exc))


def _warn(sentence: str) -> None:
    print(f'{_NAME}: {sentence}', file=sys.stderr)


def _failed(why: str) -> int:
    print(f'{_NAME}: {why}', file=sys.stderr)
    return FAILED


def audit(engine: engine_module.Engine, repair: bool, everything: bool,
          form: str) -> int:
    """Compare our database with Placement, and return the exit status.

    :param repair: whether differences are repaired where possible.
    :param everything: whether each node is compared, even an unchanged one.
    :param form: ``table`` or ``json``.
    :raises PlacementUnavailable: Placement does not answer.
    :raises DatabaseUnavailable: the database does not answer.
    """
    if repair:
        placement_sync.recover(engine)
    report = placement_sync.audit(engine, repair, everything)
    if form == 'json':
        print(json.dumps(_document(report), indent=2))
    else:
        _print(report)
    return DIFFERS if report.remaining else 0


def _rows(
        report: auditing.Report) -> list[dict[str, str | bool | None]]:
    """Return one row for each difference, in a stable order."""
    rows: list[dict[str, str | bool | None]] = []
    for difference in report.differences:
        why_not = (report.repairs or {}).get(difference)
        rows.append({
            'kind': difference.kind.value,
            'node': difference.node_uuid or None,
            'consumer': difference.consumer_uuid,
            'reservation': difference.reservation_id or None,
            'detail': difference.detail,
            'repaired': None if why_not is None else not why_not,
            'why_not': why_not or None})
    return rows


def _document(report: auditing.Report) -> dict[str, object]:
    return {'nodes': report.nodes, 'looked_at': report.looked_at,
            'in_work': report.in_work,
            'clean': not report.remaining, 'differences': _rows(report)}


def _print(report: auditing.Report) -> None:
    tables.show(
        ('Difference', 'Node', 'Consumer', 'Detail', 'Repaired'),
        [(str(row['kind']), str(row['node'] or ''),
          str(row['consumer'] or ''), str(row['detail']),
          '' if row['repaired'] is None else 'yes' if row['repaired']
          else f'no: {row["why_not"]}') for row in _rows(report)])
    print(_summary(report))


def _summary(report: auditing.Report) -> str:
    found, left = len(report.differences), len(report.remaining)
    text = f'{count_text.counted(report.nodes, "node")}: '
    if not found:
        text += 'Placement and the database agree.'
    elif report.repairs is None:
        text += (f'{count_text.counted(found, "difference")}. With --repair, '
                 'differences are repaired where that is possible.')
    else:
        text += (f'{count_text.counted(found, "difference")}, '
                 f'{found - left} repaired.')
    if report.in_work:
        text += (' Not compared, since they are being changed: '
                 f'{count_text.counted(report.in_work, "node")}.')
    return text


if __name__ == '__main__':
    sys.exit(main())
