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

"""A lease and a host as resources of openstacksdk."""

from __future__ import annotations

from openstack import resource


class Lease(resource.Resource):
    """A named window, and the hosts that are promised in it."""

    resource_key = 'lease'
    resources_key = 'leases'
    base_path = '/leases'

    allow_fetch = True
    allow_delete = True
    allow_list = True

    _query_mapping = resource.QueryParameters('project')

    #: What people call it.
    name = resource.Body('name')
    #: When it starts and ends, in UTC.
    start_date = resource.Body('start_date')
    end_date = resource.Body('end_date')
    #: ``PENDING``, ``ACTIVE``, ``TERMINATED`` and so on.
    status = resource.Body('status')
    #: Whether it has less than it was promised.
    degraded = resource.Body('degraded', type=bool)
    #: Why, in a sentence, as long as it is not over.
    degraded_reason = resource.Body('degraded_reason')
    #: What keeps its next step from being done, in a sentence.
    waiting = resource.Body('waiting')
    #: Within which it may be planned, where its dates were left open, and
    #: whether they do not change by themselves any more.
    between = resource.Body('between', type=list)
    is_fixed = resource.Body('fixed', type=bool)
    #: Whether it waits for an earlier start, and the latest start that is
    #: promised to it then.
    is_queued = resource.Body('queued', type=bool)
    promised_start = resource.Body('promised_start')
    priority = resource.Body('priority', type=int)
    #: How long it lasts, and how long before its start it is fixed, in
    #: seconds.
    duration = resource.Body('duration', type=int)
    fix_before = resource.Body('fix_before', type=int)
    #: What it holds; the ``id`` of each is the proof for its ``nodes``.
    reservations = resource.Body('reservations', type=list)
    #: What happens to it when.
    events = resource.Body('events', type=list)
    #: The project that it belongs to.
    project_id = resource.Body('project_id')
    #: Who made it.
    user_id = resource.Body('user_id')
    #: When it was made and last changed.
    created_at = resource.Body('created_at')
    updated_at = resource.Body('updated_at')
    #: Of a dry run: which leases make room, if the service tells (1.15).
    moves = resource.Computed('moves', type=dict)


class Host(resource.Resource):
    """A node that an operator has opened to leases."""

    resource_key = 'host'
    resources_key = 'hosts'
    base_path = '/os-hosts'

    allow_fetch = True
    allow_delete = True
    allow_list = True

    #: What else the operator says of it is in ``host['...']``.
    _allow_unknown_attrs_in_body = True

    #: The node; in ``name`` is its name.
    node_id = resource.Body('node_uuid')
    #: The name in Nova, which is the UUID of the node.
    hypervisor_hostname = resource.Body('hypervisor_hostname')
    #: The class of the node.
    resource_class = resource.Body('resource_class')
    #: Whether leases may get it.
    is_reservable = resource.Body('reservable', type=bool)
