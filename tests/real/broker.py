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

"""A message broker that is there."""

from __future__ import annotations

import os
import socket
import unittest
from urllib import parse

#: A variable of the environment names another one.
VARIABLE = 'IRONIC_RESERVATIONS_TEST_RABBITMQ'
USUAL = 'rabbit://guest:guest@127.0.0.1:5672/'


class Missing(AssertionError):
    """The broker has to be there, and does not answer."""


def rabbitmq() -> str:
    """Return the transport URL of a RabbitMQ.

    :raises unittest.SkipTest: none answers, and none need be there.
    :raises Missing: none answers in CI.
    """
    url = os.environ.get(VARIABLE, USUAL)
    parts = parse.urlsplit(url)
    try:
        socket.create_connection((parts.hostname, parts.port), 3).close()
    except OSError as failure:
        text = (f'No RabbitMQ answers at {parts.hostname}:{parts.port}; '
                f'{VARIABLE} can name another: {failure}')
        if os.environ.get('CI') == 'true':
            raise Missing(text) from failure
        raise unittest.SkipTest(text) from failure
    return url
