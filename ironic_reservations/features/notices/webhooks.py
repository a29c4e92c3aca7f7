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

"""Send the notices in the outbox to webhooks."""

from __future__ import annotations

from collections.abc import Callable
import datetime
import json

from ironic_reservations.engine import Engine
from ironic_reservations.engine.outbox import deliveries
from ironic_reservations.features.notices import notice_text
from ironic_reservations.features.notices import webhook
from ironic_reservations.features.notices import writing
from ironic_reservations.model import notices


def deliver(engine: Engine, url: str, continues: Callable[[], bool]) -> int:
    """Send the waiting notices until the webhook fails or all are sent.

    :param continues: called before each notice; ``False`` ends the pass.
    :returns: the number of notices that the webhook has accepted.
    :raises Conflict: another process has claimed one of them.
    """
    return deliveries.deliver(engine, deliveries.Receiver(
        notices.Channel.WEBHOOK, writing.target(url),
        engine.conf.notices.webhook_timeout,
        lambda notice, now: _post(engine, url, notice, now)), continues)


def _post(engine: Engine, url: str, notice: notices.Notice,
          now: datetime.datetime) -> None:
    options = engine.conf.notices
    body = {**notice.payload, 'text': notice_text.line(engine.conf, notice)}
    webhook.post(url, notice.notice_id, int(now.timestamp()),
                 json.dumps(body).encode(),
                 webhook.keys(options.webhook_secret_file),
                 options.webhook_allowed_hosts, options.webhook_timeout)
