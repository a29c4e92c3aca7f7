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

"""The refusal of a lease in words, with the offers of the service."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from ironic_reservations_client import counted
from ironic_reservations_client import times


def is_about_lease(reasons: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether reasons are about a lease."""
    return any('blockers' in reason for reason in reasons)


def claim(sentence: str, offers: Iterable[Mapping[str, Any]]) -> str:
    """Return the sentence without the offers, which are printed as lines."""
    # The service puts one into the sentence as well, for clients that
    # read nothing else.
    for offer in offers:
        sentence = sentence.replace(f' {offer.get("detail")}', '')
    return sentence


def lines(reason: Mapping[str, Any]) -> list[str]:
    """Return the obstacles, one in each line, without the sentence."""
    short, at = reason.get('hosts_short'), reason.get('at')
    head = f'reservation {reason.get("reservation", 0)}: '
    # For instances, the lines show the shortage of each host.
    if short and at and 'hosts' in reason:
        head += (f'no room for {counted.counted(short, "instance")} at '
                 f'{_shown(at)} ')
    elif short and at:
        head += (f'{counted.counted(short, "host")} missing at '
                 f'{_shown(at)} ')
    head += f'[{reason.get("code")}]'
    if not reason.get('proved', True):
        head += ' (not proved: the request may be possible)'
    return [head,
            *(f'  {_lacking(each)}' for each in reason.get('hosts', ())),
            *(f'  {_blocker(each)}' for each in reason['blockers'])]


def offered(offer: Mapping[str, Any]) -> str:
    """Return an offer as a line."""
    return f'offer: {offer.get("detail")} [{offer.get("kind")}]'


def _lacking(host: Mapping[str, Any]) -> str:
    """Return the resources that a host lacks for one more instance."""
    short = '; '.join(
        (f"{each.get('amount')} {each['resource_class']} missing"
         if each.get('resource_class') else 'taken')
        + f' from {_shown(each.get("start_date"))} until '
        f'{_shown(each.get("end_date"))}' for each in host.get('short', ()))
    room = counted.counted(host.get('room'), 'instance')
    return f"host {host.get('host')} has room for {room}: {short}"


def _blocker(blocker: Mapping[str, Any]) -> str:
    whose = (f'of the lease {blocker.get("lease_name", "")} of '
             f'{blocker.get("user_id") or "an unknown user"} '
             f'({blocker["lease_id"]})'
             if 'lease_id' in blocker and not blocker.get('own')
             else 'of another project' if not blocker.get('own')
             else f'of your lease {blocker.get("lease_name", "")} '
                  f'({blocker["lease_id"]})' if 'lease_id' in blocker
             else 'of your lease with the reservation '
                  f'{blocker.get("reservation_id")}')
    hosts = counted.counted(blocker.get('hosts', 1), 'host')
    return (f'in the way: {hosts} from '
            f'{_shown(blocker.get("start_date"))} until '
            f'{_shown(blocker.get("end_date"))}, {whose}')


def _shown(text: Any) -> str:
    try:
        return times.shown(times.parsed(text))
    except (ValueError, TypeError, OverflowError):
        return str(text)
