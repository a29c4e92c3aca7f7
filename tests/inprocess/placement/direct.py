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

"""Requests to an application of this process, without HTTP on the way.

What makes HTTP of them is the same for all of them, and took as long as the
shortest ones.
"""

from collections.abc import Mapping
import json as json_module
from typing import Any

import requests
import webob


class Sender:
    """Sends requests to a WSGI application.

    :param application: what answers them.
    """

    def __init__(self, application: Any) -> None:
        self._application = application

    def request(self, url: str, method: str, *,
                headers: Mapping[str, str], json: Any = None,
                **of_keystoneauth: Any) -> requests.Response:
        """Send a request, with no credentials but those in the headers."""
        sent = webob.Request.blank(url, method=method, headers={
            'Accept': 'application/json', **headers})
        if json is not None:
            sent.content_type = 'application/json'
            sent.body = json_module.dumps(json).encode()
        answer = sent.get_response(self._application)
        return response(answer.status_code, answer.body, answer.headers)


def response(status: int, body: bytes, headers: Mapping[str, str]
             ) -> requests.Response:
    """Return an answer as keystoneauth returns it.

    :param status: of HTTP.
    :param body: in UTF-8.
    """
    made = requests.Response()
    made.status_code = status
    made._content = body
    made.encoding = 'utf-8'
    made.headers.update(headers)
    return made
