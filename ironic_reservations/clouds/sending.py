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
"""Requests over connections that the other side may have closed."""

from __future__ import annotations

from typing import Any
from typing import Protocol

from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1 import loading
from oslo_config import cfg


class Sender(Protocol):
    """Something that sends requests: an Adapter of keystoneauth1."""

    def request(self, url: str, method: str, **kwargs: Any) -> Any:
        """Return a response of requests."""


def adapter(conf: cfg.ConfigOpts, group: str) -> Sender:
    """Return what sends requests to the endpoint that a group describes."""
    found: Sender = loading.load_adapter_from_conf_options(
        conf, group, auth=loading.load_auth_from_conf_options(conf, group),
        # NOTE: the session itself has no credentials: see guard/service.py.
        session=loading.load_session_from_conf_options(conf, group))
    return found


def request(sender: Sender, path: str, method: str,
            **arguments: Any) -> Any:
    """Send a request, and one that only reads once more where it breaks.

    A server closes a connection that was idle for some seconds, perhaps in
    the very moment in which a request is sent on it. Only who reads may send
    that again: a change may have been made.

    NOTE: keystoneauth's own ``connect_retries`` would do so after a time-out
    too, which doubles it.

    :param arguments: what ``sender.request`` takes.
    :returns: a response of requests.
    """
    try:
        return sender.request(path, method, **arguments)
    except ksa_exc.ConnectFailure:
        if method != 'GET':
            raise
        return sender.request(path, method, **arguments)
