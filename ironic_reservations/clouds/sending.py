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
"""Sends requests with keystoneauth, and repeats interrupted reads."""

from __future__ import annotations

from typing import Any
from typing import Protocol

from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1 import loading
from oslo_config import cfg

from ironic_reservations.clouds import keystone_reader
from ironic_reservations.conf import in_effect


class Sender(Protocol):
    """Sends requests: an Adapter of keystoneauth1."""

    def request(self, url: str, method: str, **kwargs: Any) -> Any:
        """Send a request, and return a response of requests."""


def auth(conf: cfg.ConfigOpts, group: str) -> Any:
    """Return the plugin that authenticates as the user in a group of options.

    :returns: ``None`` if the group has no ``auth_type``.
    :raises oslo_config.cfg.Error: the group does not describe a user.
    """
    try:
        return loading.load_auth_from_conf_options(conf, group)
    except ksa_exc.ClientException as exc:
        raise cfg.ConfigFileValueError(
            f'[{group}] in ironic-reservations.conf describes no user: {exc}. '
            'Set auth_type and the options of that type, as for any other '
            'service.') from exc
    except cfg.Error:
        # The error names no option, and may contain a part of a password.
        in_effect.settings(conf)
        raise


def adapter(conf: cfg.ConfigOpts, group: str) -> Sender:
    """Return an adapter for the endpoint in a group of options.

    :raises oslo_config.cfg.Error: as :func:`auth`.
    """
    found: Sender = loading.load_adapter_from_conf_options(
        conf, group, auth=auth(conf, group),
        # The session has no credentials of its own; guard/service.py says why.
        session=loading.load_session_from_conf_options(conf, group))
    return found


def request(sender: Sender, path: str, method: str,
            **arguments: Any) -> tuple[int, Any]:
    """Send a request and return the answer; repeat an interrupted GET.

    A server may close an idle connection just when a request is sent on it.
    Only a read may be repeated then, since a change may have been made.

    keystoneauth's ``connect_retries`` would also repeat after a time-out,
    which doubles it.

    :param arguments: the arguments of ``sender.request``.
    :returns: the status and the body, which is ``None`` if it is not JSON.
    """
    arguments['raise_exc'] = False
    try:
        answer = _once(sender, path, method, arguments)
    except ksa_exc.ConnectFailure:
        if method != 'GET':
            raise
        answer = _once(sender, path, method, arguments)
    try:
        return answer.status_code, answer.json()
    except (ValueError, RecursionError):
        return answer.status_code, None


def _once(sender: Sender, path: str, method: str,
          arguments: dict[str, Any]) -> Any:
    try:
        return sender.request(path, method, **arguments)
    except keystone_reader.MALFORMED as exc:
        # keystoneauth does not check the shape of a token or of a catalog.
        raise ksa_exc.UnknownConnectionError(
            f'the answer of Keystone is malformed: {exc}', exc) from exc
    except OSError as exc:
        # requests checks cafile, certfile and keyfile when it connects.
        raise ksa_exc.UnknownConnectionError(str(exc), exc) from exc
