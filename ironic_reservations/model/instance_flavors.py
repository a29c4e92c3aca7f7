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

"""Determines the parts of a flavor that a lease of instances uses."""

from __future__ import annotations

import json

from ironic_reservations.model import flavors
from ironic_reservations.model import inventories

#: The maximum size of extra specs in characters, and the overhead of each:
#: with the parsed request they must fit into 64 KiB.
_MAX_KEPT = 32_768
_EACH = 100


def request(flavor: flavors.Flavor) -> flavors.Request:
    """Parse the requirements of each instance.

    :raises FlavorRefused: the requirements cannot be parsed, or a lease cannot
        serve them.
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
    """Return the extra specs for the servers of a lease.

    The lease holds the requested resources, so only the traits remain. They
    come from one provider, so there are no groups.

    :param asked: the request of the flavor.
    :param flavor: a copy of the flavor; ``None`` if it is unknown.
    """
    kept = {} if flavor is None else {
        key: value for key, value in flavor.extra_specs.items()
        if not flavors.asks(key)}
    return {**kept, **{f'trait:{trait}': word for group in asked.groups
                       for word, traits in (('required', group.required),
                                            ('forbidden', group.forbidden))
                       for trait in sorted(traits)}}
