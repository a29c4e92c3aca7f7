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

"""What a lease of instances takes of the flavor that it names."""

from __future__ import annotations

import json

from ironic_reservations.model import flavors
from ironic_reservations.model import inventories

#: How much of extra specs is kept, in characters, and what each of them
#: counts besides: with what is read from them, 64 KiB have to hold it.
_MAX_KEPT = 32_768
_EACH = 100


def request(flavor: flavors.Flavor) -> flavors.Request:
    """Read what each instance asks of a host.

    :raises FlavorRefused: it cannot be read, or no lease could keep it.
    """
    found = flavors.read(flavor)
    inventories.of_request(found)
    if flavors.PCPU in found.totals():
        key = next((key for key in flavor.extra_specs
                    if key.endswith(f':{flavors.PCPU}')), 'hw:cpu_policy')
        raise flavors.FlavorRefused(key, (
            f'The extra spec {key!r} requests dedicated CPUs. A server with '
            'pinned CPUs cannot use resources that a lease holds, since Nova '
            'would take them from the host a second time. Leave the extra '
            'spec out.'))
    size = len(json.dumps(dict(flavor.extra_specs))) + (
        _EACH * len(flavor.extra_specs))
    if size > _MAX_KEPT:
        raise flavors.FlavorRefused('extra_specs', (
            f'The flavor has {len(flavor.extra_specs)} extra specs, which are '
            'more than a lease can store. Leave some of them out.'))
    return found


def extra_specs(asked: flavors.Request,
                flavor: flavors.Flavor | None) -> dict[str, str]:
    """Return what servers of a lease take over from the flavor.

    What it asks of Placement is held by the lease, but for the traits, and
    comes from one provider, so that the groups are of no account any more.

    :param asked: for by the flavor.
    :param flavor: as it was then; ``None``: nobody knows.
    """
    kept = {} if flavor is None else {
        key: value for key, value in flavor.extra_specs.items()
        if not flavors.asks(key)}
    return {**kept, **{f'trait:{trait}': word for group in asked.groups
                       for word, traits in (('required', group.required),
                                            ('forbidden', group.forbidden))
                       for trait in sorted(traits)}}
