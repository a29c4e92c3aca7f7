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

"""A RabbitMQ for tests."""

from __future__ import annotations

import atexit
import functools
import os
import unittest

from tools import own_broker
from tools import own_server

#: A variable of the environment names one that runs.
VARIABLE = 'IRONIC_RESERVATIONS_TEST_RABBITMQ'


class Missing(AssertionError):
    """The broker has to be there, and is not installed."""


def rabbitmq() -> str:
    """Return the transport URL of a RabbitMQ: one of this process's own.

    :raises unittest.SkipTest: it is not installed, and need not be.
    :raises Missing: it is not installed in CI.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return named
    try:
        return _own().url
    except own_server.NotInstalled as failure:
        if os.environ.get('CI') == 'true':
            raise Missing(str(failure)) from failure
        raise unittest.SkipTest(str(failure)) from failure


@functools.cache
def _own() -> own_broker.OwnBroker:
    broker, owner = own_broker.OwnBroker(), os.getpid()
    broker.setUp()
    # NOTE: a child that is forked inherits this, but not the broker.
    atexit.register(lambda: os.getpid() == owner and broker.cleanUp())
    return broker
