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

"""Checks of an installation for usual mistakes, each with a remedy."""

from __future__ import annotations

from collections.abc import Iterator
import os
import stat
import urllib.parse

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.cmd import unreadable
from ironic_reservations.conf import ignored
from ironic_reservations.conf import in_effect
from ironic_reservations.db import claims
from ironic_reservations.db import clock as db_clock
from ironic_reservations.db import connection
from ironic_reservations.db import nodes
from ironic_reservations.db import sessions

_GUARD = 'reservations'
#: How far two clocks may differ without a warning, in seconds.
_SKEW = 1.0
#: How long to wait for the time of the database, in seconds.
_PATIENCE = 5.0
IRONIC_CONFIG = cfg.StrOpt(
    'ironic-config', help="Ironic's configuration file, for the checks; by "
                          'default the file that Ironic would use.')


def database_of(conf: cfg.ConfigOpts) -> connection.Database:
    """Return the database for a check, which creates no file.

    Each check waits for a silent database for seconds only.
    """
    return connection.Database(conf, sessions.QUICK, create=False)


def _result(code: upgradecheck.Code, *sentences: str) -> upgradecheck.Result:
    """Return the result of a check: success if there are no sentences."""
    return upgradecheck.Result(
        code if sentences else upgradecheck.Code.SUCCESS,
        ' '.join(sentences) or None)


def _passed(sentence: str | None = None) -> upgradecheck.Result:
    return upgradecheck.Result(upgradecheck.Code.SUCCESS, sentence)


def names(conf: cfg.ConfigOpts) -> upgradecheck.Result:
    """Check that each line of the configuration files sets an option."""
    return _result(upgradecheck.Code.WARNING, *ignored.lines(conf))


def modes(conf: cfg.ConfigOpts) -> upgradecheck.Result:
    """Check that no file with a secret can be read by everybody."""
    secret = {setting.source.rpartition(', line ')[0]
              for setting in in_effect.settings(conf)
              if in_effect.MASK in str(setting.value)}
    secret |= {conf.http_basic_auth_user_file,
               conf.notices.webhook_secret_file,
               conf.notices.mail_password_file}
    lax = sorted(file for file in secret if file and os.path.isfile(file)
                 and os.stat(file).st_mode & stat.S_IRWXO)
    return _result(upgradecheck.Code.WARNING, *(
        'Every user of this host may read the secrets in '
        f'{file}. Run "chmod 0640 {file}", and give it to the group of the '
        'service.' for file in lax))


def values(conf: cfg.ConfigOpts) -> upgradecheck.Result:
    """Check that the options do not contradict each other."""
    return _result(upgradecheck.Code.FAILURE, *_contradictions(conf))


def _host(url: str) -> str:
    try:
        return urllib.parse.urlsplit(url).hostname or url
    except ValueError:
        return url


def _contradictions(conf: cfg.ConfigOpts) -> Iterator[str]:
    if conf.guard.proof_by_placement and not conf.placement.enabled:
        yield ('[guard] proof_by_placement needs [placement] enabled = true; '
               "Ironic's API does not start without it.")
    if conf.database.lock_timeout >= conf.database.statement_timeout:
        yield ('[database] statement_timeout must be longer than '
               'lock_timeout: otherwise a wait for a lock counts as a '
               'statement that never ends.')
    times = conf.reservations
    if not times.min_ttl <= times.default_ttl <= times.max_ttl:
        yield ('[reservations] default_ttl is not between min_ttl and '
               'max_ttl, so each request without an end is refused.')
    if conf.api.max_hard_requests >= conf.api.threads:
        yield ('[api] max_hard_requests must be less than threads, so that a '
               'thread is left for other requests.')
    if conf.notices.webhook_urls and not conf.notices.webhook_secret_file:
        yield ('[notices] webhook_urls needs webhook_secret_file, with which '
               'notices are signed; none is sent without it.')
    allowed = {each.lower() for each in conf.notices.webhook_allowed_hosts}
    refused = sorted(set(map(_host, conf.notices.webhook_urls)) - allowed)
    if refused:
        yield ('[notices] webhook_allowed_hosts lacks hosts of webhook_urls, '
               f'so nothing is posted to them: {", ".join(refused)}.')
    if conf.notices.mail_host and not conf.notices.mail_from:
        yield ('[notices] mail_host needs mail_from, the address of the '
               'sender; no mail is sent without it.')
    if 0 < conf.leases.owner_notice <= conf.leases.cleaning_time:
        yield ('[leases] owner_notice must be longer than cleaning_time, '
               'since a lease ends only when its nodes are clean: nodes with '
               'an owner are leased to nobody else.')


def identity(conf: cfg.ConfigOpts) -> upgradecheck.Result:
    """Check that the standalone service can identify its callers."""
    if not _is_set(conf, 'auth_strategy'):
        return _passed()
    if conf.auth_strategy == 'http_basic':
        file = conf.http_basic_auth_user_file
        return _passed() if os.access(file, os.R_OK) else _result(
            upgradecheck.Code.FAILURE,
            f'[DEFAULT] auth_strategy is http_basic, and its file {file} '
            'cannot be read. Write it with "htpasswd -B", or name another one '
            'in http_basic_auth_user_file.')
    found = {setting.option for setting in in_effect.settings(conf)
             if setting.section == 'keystone_authtoken'}
    if conf.auth_strategy == 'noauth' or {'auth_url', 'auth_section'} & found:
        return _passed()
    return _result(
        upgradecheck.Code.FAILURE,
        '[DEFAULT] auth_strategy is keystone, and [keystone_authtoken] has no '
        'auth_url, so no token can be checked. Write this section as for any '
        'other service.')


def _is_set(conf: cfg.ConfigOpts, name: str, group: str | None = None) -> bool:
    location = conf.get_location(name, group)
    return location is not None and location.location.is_user_controlled


def service_user(conf: cfg.ConfigOpts) -> upgradecheck.Result:
    """Check that Ironic shows its nodes to the user of [ironic]."""
    if not any(_is_set(conf, name, 'ironic')
               for name in ('auth_type', 'endpoint_override')):
        return _passed('[ironic] names neither a user nor an endpoint.')
    if (conf.ironic.auth_type in ('http_basic', 'none')
            and not conf.ironic.endpoint_override
            and not _is_set(conf, 'auth_strategy')):
        # Inside Ironic's API the user needs none.
        return _passed('[ironic] has no endpoint_override, so the user was '
                       'not tried.')
    try:
        seen = next(ironic.Ironic.over_http(conf).nodes(), None)
        known = _known_nodes(conf) if seen is None else 0
    except errors.IronicUnavailable as exc:
        return _result(
            upgradecheck.Code.FAILURE,
            f'Ironic cannot be reached: {unreadable.why(exc)}. Check the '
            'address, the user and cafile in [ironic]. The address is the '
            'root of the API, without /v1.')
    except errors.DatabaseUnavailable:
        return _passed('Not checked: see "Database schema".')
    if not known:
        return _passed()
    return _result(
        upgradecheck.Code.FAILURE,
        f'Ironic shows no nodes to the user of [ironic], although {known} '
        'are known. Give the user the role reader (member, for leases) on the '
        'system, and set [ironic] system_scope = all.')


def _known_nodes(conf: cfg.ConfigOpts) -> int:
    database = database_of(conf)
    try:
        with database.read() as opened:
            return nodes.count(opened)
    finally:
        database.close()


def host_clock(conf: cfg.ConfigOpts) -> upgradecheck.Result:
    """Check the clock of this host against that of the database."""
    database = database_of(conf)
    measured = db_clock.DatabaseClock(database, conf.database.max_clock_skew)
    try:
        with database.read():
            known = measured.known(0, _PATIENCE)
    except errors.DatabaseUnavailable:
        return _passed('Not checked: see "Database schema".')
    finally:
        measured.close()
        database.close()
    if known is None:
        return _result(
            upgradecheck.Code.FAILURE,
            f'The database does not return the time within {_PATIENCE:.0f} s, '
            'so all requests for promises get 503. Check the load of the '
            'database, and the network between.')
    if abs(known.skew) - known.error <= _SKEW:
        return _passed()
    return _result(
        upgradecheck.Code.FAILURE if measured.is_off(known)
        else upgradecheck.Code.WARNING,
        f'The clock of this host differs by {known.skew:+.1f} s from that of '
        'the database, which decides when a promise ends. Run NTP or chrony '
        'on both.')


def reconciler(conf: cfg.ConfigOpts) -> upgradecheck.Result:
    """Check that a process mirrors the nodes of Ironic."""
    database = database_of(conf)
    # Without a limit, so that a clock that is off has one result alone.
    now = db_clock.DatabaseClock(database)
    try:
        with database.read() as opened:
            if not nodes.count(opened) or claims.is_live(
                    opened, claims.MIRROR, now()):
                return _passed()
    except errors.DatabaseUnavailable:
        return _passed('Not checked: see "Database schema".')
    finally:
        now.close()
        database.close()
    return _result(
        upgradecheck.Code.WARNING,
        'No process mirrors the nodes of Ironic at the moment, so no lease '
        'starts or ends. If the service runs, look for "The reconciler waits" '
        'in its log, and start uwsgi with --enable-threads.')


def guard(conf: cfg.ConfigOpts) -> upgradecheck.Result:
    """Check that the guard is installed in Ironic, at the right place."""
    files = ([conf.ironic_config] if conf.ironic_config
             else cfg.find_config_files('ironic'))
    if not files:
        return _passed("Ironic's configuration was not found on this host; "
                       '--ironic-config names it.')
    theirs = _of_ironic(files)
    named = theirs.api.middleware
    if _GUARD not in named:
        return _result(
            upgradecheck.Code.WARNING,
            f'[api] middleware in {files[0]} does not name "{_GUARD}", so '
            'Ironic lets everybody deploy promised nodes.')
    if named[0] != _GUARD:
        return _result(
            upgradecheck.Code.WARNING,
            f'"{_GUARD}" is not the first in [api] middleware of {files[0]}: '
            f'"{named[0]}" could change a request after the guard has checked '
            'it.')
    if theirs.auth_strategy != 'noauth' and conf.ironic.auth_type in (
            None, 'none'):
        return _result(
            upgradecheck.Code.FAILURE,
            'Ironic authenticates its callers with '
            f'"{theirs.auth_strategy}", and [ironic] of '
            'ironic-reservations.conf names no user, so that the API of '
            'Ironic does not start.')
    return _passed()


def own_database(conf: cfg.ConfigOpts) -> upgradecheck.Result:
    """Check that Ironic does not use the same database."""
    files = ([conf.ironic_config] if conf.ironic_config
             else cfg.find_config_files('ironic'))
    used = _of_ironic(files).database.connection if files else None
    if not used or _place(used) != _place(connection.Database(conf).url):
        return _passed()
    return _result(
        upgradecheck.Code.FAILURE,
        '[database] connection names the database of Ironic, which has other '
        'tables of the same names. Create one for reservations alone.')


def _place(url: str) -> tuple[object, ...]:
    made = sa.make_url(url)
    return made.get_backend_name(), made.host, made.database


def _of_ironic(files: list[str]) -> cfg.ConfigOpts:
    """Return the options of Ironic that are checked."""
    theirs = cfg.ConfigOpts()
    theirs.register_opts([cfg.ListOpt('middleware', default=[])], 'api')
    theirs.register_opts([cfg.StrOpt('connection')], 'database')
    theirs.register_opt(cfg.StrOpt('auth_strategy', default='keystone'))
    # With the variables of Ironic, as Ironic reads it.
    theirs([], project='ironic', default_config_files=files)
    return theirs


#: The checks, with their names.
ALL = (('Options in files', names), ('File modes', modes),
       ('Option values', values), ('Identity of callers', identity),
       ('Guard in Ironic', guard), ('Separate database', own_database),
       ('Service user', service_user), ('Clock', host_clock),
       ('Reconciler', reconciler))
