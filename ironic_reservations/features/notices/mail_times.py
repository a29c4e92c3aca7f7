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

"""Computes the time of the next mail to a person."""

from __future__ import annotations

from collections.abc import Iterable
import datetime

from ironic_reservations.model import notices


def due_at(waiting: Iterable[tuple[notices.Kind, datetime.datetime]],
           last_sent: datetime.datetime | None,
           interval: datetime.timedelta,
           gather: datetime.timedelta) -> datetime.datetime | None:
    """Return the time at which the next mail to a person is due.

    A notice that is not urgent waits for others, and for the end of the
    interval since the last mail. An urgent one is due at once.

    :param waiting: the kinds of the notices, and the times of their writing.
    :param last_sent: the time of the last mail; ``None``: never.
    :param interval: the minimum time between two mails to the same person,
        except for urgent notices.
    :param gather: the time for which a notice waits for others.
    :returns: ``None``: no notice waits.
    """
    def at(kind: notices.Kind,
           created_at: datetime.datetime) -> datetime.datetime:
        if kind.urgent:
            return created_at
        return max(created_at + gather, created_at if last_sent is None
                   else last_sent + interval)
    return min((at(*each) for each in waiting), default=None)
