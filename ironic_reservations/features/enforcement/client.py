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

"""Client for the operator's enforcement service.

The requests ``check-create``, ``check-update`` and ``on-end`` are those of
Blazar's external service filter. :func:`commit` is our own.
"""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Mapping
import datetime
import json
from typing import Any

from oslo_config import cfg
from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import posting
from ironic_reservations.model import host_document
from ironic_reservations.model import leases
from ironic_reservations.model import nesting

LOG = log.getLogger(__name__)

#: The hosts of leases by the uuids of their nodes.
Hosts = Mapping[str, leases.Host]

#: The maximum size and nesting of an answer that is parsed.
_LONGEST, _DEEPEST = 4096, 16
_SILENT = ('The enforcement service, which decides about leases, does not '
           'answer, so nothing was promised or changed. Try again later; if '
           'this continues, tell the operator.')


def terms(lease: leases.Lease) -> Hashable:
    """Return the terms that the service permits: dates and amounts.

    The hosts of the lease are not part of them.
    """
    return lease.start, lease.end, tuple(
        len(each.bookings) for each in lease.reservations)


def check(conf: cfg.ConfigOpts, before: leases.Lease | None,
          after: leases.Lease, hosts: Hosts) -> None:
    """Ask whether a new lease, or a change of a lease, is permitted.

    :param before: ``None``: the lease is new.
    :param hosts: the hosts before and after the change.
    :raises LeaseNotPermitted: the service does not permit it, or does not
        answer.
    """
    if before is None:
        _ask(conf, 'check-create', after, lease=_document(after, hosts))
    else:
        _ask(conf, 'check-update', before,
             current_lease=_document(before, hosts),
             lease=_document(after, hosts))


def on_end(conf: cfg.ConfigOpts, lease: leases.Lease,
           hosts: Hosts) -> None:
    """Report the end of a lease; a refusal is only logged.

    :param hosts: the hosts of the lease.
    """
    try:
        _ask(conf, 'on-end', lease, lease=_document(lease, hosts))
    except errors.LeaseNotPermitted as exc:
        LOG.warning('The enforcement service could not be told that the lease '
                    '%s has ended: %s', lease.id, exc)


def commit(conf: cfg.ConfigOpts, body: bytes) -> None:
    """Report a committed change of a lease.

    :param body: JSON.
    :raises Undelivered: the service may not have received it.
    :raises Declined: the service has refused it.
    """
    posting.post(conf.leases.enforcement_commit_url, _headers(conf), body,
                 conf.leases.enforcement_timeout)


def _headers(conf: cfg.ConfigOpts) -> dict[str, str]:
    token = (conf.leases.enforcement_token or '').strip()
    return {'Content-Type': 'application/json',
            'Accept': 'application/json', 'Connection': 'close',
            **({'X-Auth-Token': token} if token else {})}


def _ask(conf: cfg.ConfigOpts, what: str, owned: leases.Lease,
         **documents: dict[str, Any]) -> None:
    options = conf.leases
    if options.enforcement_url is None:
        return
    context = {
        'project_id': owned.project_id, 'user_id': owned.user_id,
        # The registered options depend on the authentication plugin.
        'auth_url': options.enforcement_auth_url or getattr(
            conf.ironic, 'auth_url', None),
        'region_name': options.enforcement_region_name
        or conf.ironic.region_name}
    try:
        status, said = posting.ask(
            f'{options.enforcement_url.rstrip("/")}/{what}', _headers(conf),
            json.dumps({'context': context, **documents}).encode(),
            options.enforcement_timeout, _LONGEST)
    except posting.Undelivered as exc:
        LOG.warning('The enforcement service ([leases] enforcement_url) '
                    'cannot be asked: %s', exc)
        raise errors.LeaseNotPermitted(_SILENT) from exc
    if status != 204:
        raise errors.LeaseNotPermitted(_why(status, said))


def _why(status: int, said: bytes) -> str:
    if status == 403:
        why = (_message(said) or 'it gives no reason').rstrip(' .')
        return ('The enforcement service, which decides about leases, does '
                f'not allow this lease: {why}.')
    LOG.warning('The enforcement service ([leases] enforcement_url) answered '
                '%s', status)
    return ('The enforcement service, which decides about leases, answered '
            f'{status}, so nothing was promised or changed. Tell '
            'the operator.')


def _message(said: bytes) -> str | None:
    try:
        nesting.check(said, _DEEPEST)
        answer = json.loads(said)
    except ValueError:
        return None
    message = answer.get('message') if isinstance(answer, dict) else None
    return message if isinstance(message, str) else None


def _document(lease: leases.Lease, hosts: Hosts) -> dict[str, Any]:
    return {
        'id': lease.id, 'name': lease.name,
        'start_date': _date(lease.start), 'end_date': _date(lease.end),
        'project_id': lease.project_id, 'user_id': lease.user_id,
        'reservations': [{
            'id': each.id, 'resource_type': each.resource_type,
            'resource_properties': each.resource_properties,
            **_asked(each),
            'allocations': [_allocation(booking.node_uuid, hosts)
                            for booking in each.bookings]}
            for each in lease.reservations]}


def _allocation(node_uuid: str, hosts: Hosts) -> dict[str, Any]:
    """Return a host as Blazar sends it.

    NOTE: the reference of Blazar has the capabilities in "extra", and its code
    sends them beside the other keys. Services read either.
    """
    host = hosts.get(node_uuid)
    if host is None:
        # The host was deleted while its lease was ending.
        return {'id': None, 'hypervisor_hostname': node_uuid, 'extra': {}}
    return {**host.capabilities, **host_document.of(host),
            'extra': dict(host.capabilities)}


def _asked(each: leases.LeaseReservation) -> dict[str, Any]:
    wanted = each.instances
    if wanted is None:
        return {'min': each.least, 'max': each.most,
                'before_end': each.before_end,
                'hypervisor_properties': each.hypervisor_properties}
    return {'amount': wanted.amount, 'vcpus': wanted.vcpus,
            'memory_mb': wanted.memory_mb, 'disk_gb': wanted.disk_gb,
            'affinity': wanted.affinity}


def _date(moment: datetime.datetime) -> str:
    # As in Blazar, in UTC without a zone.
    return moment.astimezone(datetime.UTC).replace(tzinfo=None).isoformat()
