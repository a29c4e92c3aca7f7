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

"""Offers of the service that a user accepts in advance."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import sys
from typing import Any

from ironic_reservations_client import errors
from ironic_reservations_client import lease
from ironic_reservations_client.osc import options


def option(what: str, kinds: Sequence[str]) -> options.Option:
    """Return ``--accept``.

    :param what: the request in a sentence, such as "the lease".
    :param kinds: the kinds of offers that the service may make.
    """
    return options.Option(
        '--accept', f'If {what} is refused, accept an offer of this kind: '
        f"{', '.join(kinds)}. Can be specified multiple times, in the order "
        'of preference.', metavar='<kind>', choices=kinds, **options.MANY)


def or_offered(ask: Callable[[], lease.Lease],
               take: Callable[[dict[str, Any]], lease.Lease],
               kinds: list[str]) -> lease.Lease:
    """Return the requested lease, or an offer that the user accepts.

    :param take: requests the lease of an offer.
    :param kinds: the kinds of offers that the user accepts.
    """
    try:
        return ask()
    except errors.Refused as refused:
        offer = next((offer for kind in kinds for offer in refused.offers
                      if offer.get('kind') == kind and 'lease' in offer),
                     None)
        if offer is None:
            raise
        # Not on stdout, which a program may read.
        print(f'{refused}\nTaking the offer [{offer["kind"]}].',
              file=sys.stderr)
        return take(offer['lease'])
