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

"""Audit of every act on a promise, as events in the format of CADF.

The events of one reservation are found by the digest of its uuid.
"""

from __future__ import annotations

import datetime
import json
import re
from typing import Any
import uuid as uuid_module

from oslo_config import cfg
from oslo_context import context as oslo_context
from oslo_log import log
from pycadf import cadftaxonomy
from pycadf import cadftype
from pycadf import event as cadf_event
from pycadf import timestamp

from ironic_reservations.engine import audit_trail

LOG = log.getLogger(__name__)
_EVENTS = log.getLogger('ironic_reservations.audit')

NOTIFICATION = 'audit.reservation'
_SELF = 'ironic-reservations'
#: The identifiers that pycadf accepts, without separators.
_UUIDS = re.compile('([0-9a-fA-F]{32})+')


def identifier(name: str) -> str:
    """Return the CADF identifier of a resource with a name of its own.

    CADF requires uuids, and some resources have none: a node may be given by
    its name, a host has a number, and a user of http_basic has a name.

    :param name: one uuid or several, as CADF takes them, or anything else.
    :returns: the name itself, or a hash of it that is the same in all events.
    """
    plain = re.sub('[{}-]|urn:uuid:', '', name)
    return name if _UUIDS.fullmatch(plain) else str(
        uuid_module.uuid5(audit_trail.NAMESPACE, name))


def _resource(name: str, type_uri: str,
              shown: str | None = None) -> dict[str, Any]:
    """Return a CADF resource with a valid identifier."""
    ident = identifier(name)
    if shown is None and ident != name:
        shown = name
    return {'id': ident, 'typeURI': type_uri,
            **({} if shown is None else {'name': shown})}


class Audit(audit_trail.AuditTrail):
    """Writes events to the log, and sends them.

    :param conf: the options of [audit].
    :param notifier: a notifier of oslo.messaging; ``None`` if nothing is sent.
    """

    def __init__(self, conf: cfg.ConfigOpts, notifier: Any) -> None:
        self._log = conf.audit.log
        self._notifier = notifier if conf.audit.notifications else None

    @property
    def wanted(self) -> bool:
        """See the base class."""
        return self._log or self._notifier is not None

    def record(self, way: audit_trail.Way, action: str, kind: str, ident: str,
               who: oslo_context.RequestContext | None = None,
               status: int | None = None, code: str | None = None,
               address: str | None = None, name: str | None = None) -> None:
        """See the base class."""
        if not self.wanted:
            return
        try:
            event = _event(way, action, kind, ident, who, status, code,
                           address, name)
            if self._log:
                _EVENTS.info(json.dumps(event, sort_keys=True))
            if self._notifier is not None:
                self._notifier.info({}, NOTIFICATION, event)
        except Exception:
            LOG.exception('An audit event of %s %s could not be written',
                          action, kind)


def _event(way: audit_trail.Way, action: str, kind: str, ident: str,
           who: oslo_context.RequestContext | None, status: int | None,
           code: str | None, address: str | None,
           name: str | None) -> dict[str, Any]:
    # NOTE: the objects of pycadf take longer than a statement, so they are not
    # used; a test checks the document with them.
    document: dict[str, Any] = {
        'typeURI': cadf_event.TYPE_URI_EVENT,
        'eventType': cadftype.EVENTTYPE_ACTIVITY,
        'id': str(uuid_module.uuid4()),
        'eventTime': datetime.datetime.now(datetime.UTC).strftime(
            timestamp.TIME_FORMAT),
        'action': action,
        'outcome': (cadftaxonomy.OUTCOME_SUCCESS
                    if status is None or status < 400
                    else cadftaxonomy.OUTCOME_FAILURE),
        'initiator': _initiator(who, address),
        'target': _resource(ident, f'{audit_trail.SERVICE}/{kind}'),
        'observer': {**_ITSELF, 'name': way.value}}
    if status is not None:
        document['reason'] = {
            'reasonType': 'HTTP', 'reasonCode': str(status),
            **({} if code is None else {'policyType': code})}
    elif code is not None:
        document['reason'] = {'reasonType': 'event', 'reasonCode': code}
    if name:
        document['name'] = name
    return document


_ITSELF = _resource(_SELF, audit_trail.SERVICE)


def _initiator(who: oslo_context.RequestContext | None,
               address: str | None) -> dict[str, Any]:
    if who is None:
        made = dict(_ITSELF)
    else:
        made = _resource(who.user_id or cadftaxonomy.UNKNOWN,
                         cadftaxonomy.ACCOUNT_USER, who.user_name or None)
        made.update(
            (key, value) for key, value in (
                ('project_id', who.project_id),
                ('system_scope', who.system_scope),
                ('request_id', who.request_id),
                ('global_request_id', who.global_request_id)) if value)
    if address:
        made['host'] = {'address': address}
    return made
