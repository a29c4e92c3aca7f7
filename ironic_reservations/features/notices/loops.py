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

"""The loops that write and send notices."""

from __future__ import annotations

from ironic_reservations.engine import Engine
from ironic_reservations.features.notices import before_start
from ironic_reservations.features.notices import mail_digests
from ironic_reservations.features.notices import webhooks
from ironic_reservations.reconciler import claim
from ironic_reservations.reconciler import loop

#: Seconds between two passes for leases that start soon.
_SOON = 10


def webhook(engine: Engine, number: int, url: str) -> loop.Loop:
    """Return the loop that sends notices to a webhook.

    Each webhook has its own loop, so that a silent one delays no other.

    :param number: the number of the webhook, for the log, since its URL may
        be a secret.
    """
    return loop.Loop(f'webhook-{number}', (
        loop.Task(lambda continues: webhooks.deliver(
            engine, url, continues)),))


def soon(engine: Engine) -> loop.Loop:
    """Return the loop that writes notices of leases that start soon."""
    return loop.Loop('notices', (
        loop.Task(lambda _: before_start.write(engine), _SOON),
    ), claim.Claim(engine, 'notices', engine.conf.notices.claim_ttl))


def mail(engine: Engine) -> loop.Loop:
    """Return the loop that mails digests."""
    options = engine.conf.notices
    return loop.Loop('mail', (
        loop.Task(lambda continues: mail_digests.send(engine, continues)),
    ), claim.Claim(engine, 'mail',
                   options.claim_ttl + 2 * options.mail_timeout))
