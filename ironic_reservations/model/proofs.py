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

"""Removes proofs from texts."""

from __future__ import annotations

import re

from ironic_reservations.model import leases

#: A uuid, or a part of one.
_UUID = re.compile('([0-9a-f]{8})[-_]?[0-9a-f]{4}[-_0-9a-f]*', re.IGNORECASE)


def shortened(text: str) -> str:
    """Return a text in which uuids are shortened.

    A uuid may be a proof; its beginning is enough to find it in a list.
    """
    return _UUID.sub(r'\1...', text)


def left_out(text: str, lease: leases.Lease) -> str:
    """Return a text without the ids of the reservations of a lease.

    The text may come from Ironic or Placement, where the names of classes have
    underscores instead of hyphens.
    """
    for each in lease.reservations:
        text = re.sub(each.id.replace('-', '[-_]?'), '(id left out)', text,
                      flags=re.IGNORECASE)
    return text
