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

"""Reservations, leases and hosts as resources of openstacksdk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from openstack import resource

from ironic_reservations_client import fields
from ironic_reservations_client import resources

_TYPES = {
    fields.Kind.FLAG: bool, fields.Kind.NUMBER: int, fields.Kind.SECONDS: int,
    fields.Kind.PLAIN_SECONDS: int,
    fields.Kind.WINDOW: list, fields.Kind.TEXTS: list,
    fields.Kind.OBJECTS: list, fields.Kind.OBJECT: dict}
_R = TypeVar('_R', bound=type[resource.Resource])


def _described(described: fields.Resource) -> Callable[[_R], _R]:
    """Return a decorator that adds the attributes of a resource."""
    def add(kind: _R) -> _R:
        kind.resource_key = described.name
        kind.resources_key = described.plural
        kind.base_path = described.path
        kind.allow_fetch = kind.allow_delete = kind.allow_list = True
        for field in described.fields:
            if field.answered and field.sdk not in vars(kind):
                setattr(kind, field.sdk, resource.Body(
                    field.name, type=_TYPES.get(field.kind),
                    alternate_id=(field.sdk == 'id' != field.name)))
        return kind
    return add


@_described(resources.RESERVATION)
class Reservation(resource.Resource):
    """A node that is promised to an instance for a time.

    Its attributes are the fields of the API, except for ``id``, which is also
    the proof, ``node_id``, ``instance_id`` and ``is_suspended``.
    """


@_described(resources.LEASE)
class Lease(resource.Resource):
    """A named window, and the hosts that are promised in it.

    Its attributes are the fields of the API, except for ``is_fixed`` and
    ``is_queued``. The ``id`` of each of its ``reservations`` is the proof for
    its ``nodes``.
    """

    #: Of a dry run: the leases that make room, from version 1.15 on.
    moves = resource.Computed('moves', type=dict)


@_described(resources.HOST)
class Host(resource.Resource):
    """A node that an operator has opened to leases.

    Its attributes are the fields of the API, except for ``node_id`` and
    ``is_reservable``. The operator's own properties are in ``host['...']``.
    """

    _allow_unknown_attrs_in_body = True
