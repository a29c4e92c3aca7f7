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

"""The resources of the API, each described once."""

from __future__ import annotations

from ironic_reservations_client.fields import Field
from ironic_reservations_client.fields import Kind
from ironic_reservations_client.fields import Resource
from ironic_reservations_client.fields import Shown

_FROM_NOW = ('"2030-01-31 12:00" (UTC), ISO 8601 with a zone, or +4h, which '
             'is four hours from now')
_SHORT_TIME = '"2030-01-31 12:00" (UTC), or +4h'
_LENGTHS = '30m, 4h, 1h30m, 7d, 2w'
_PRINTED = '"openstack flavor show -f json"'
_MANY = 'Can be specified multiple times.'
_BY_SERVICE = 'Default is set by the service.'
_TTL = ('Time from now until the reservation expires: seconds, or a duration '
        'like 10m.')
_EXPIRES = f'Time at which the reservation expires: {_SHORT_TIME}.'
_MADE = (Field('created_at', Kind.INSTANT, Shown.LONG),
         Field('updated_at', Kind.INSTANT, Shown.LONG))
_WAITING = (Field('since', Kind.INSTANT), Field('until', Kind.INSTANT),
            Field('latest', Kind.INSTANT))
_NODE = (Field('lent_until', Kind.INSTANT),)

RESERVATION = Resource('reservation', 'reservations', '/reservations', (
    Field('uuid', shown=Shown.ALWAYS, sdk='id', metavar='<uuid>',
          create=f'UUID of the reservation. {_BY_SERVICE}'),
    Field('node_uuid', Kind.CHOICE, Shown.ALWAYS, sdk='node_id',
          option='node_uuid', metavar='<node>',
          create='Names or UUIDs of nodes, in the order of preference: the '
                 'first node that can be reserved is taken. May be left out '
                 'with --resource-class, --trait or --flavor-file.'),
    Field('instance_uuid', shown=Shown.ALWAYS, sdk='instance_id',
          option='--instance', metavar='<uuid>',
          create='UUID of the instance that the node is for. A second request '
                 'for the same instance returns the same reservation. Default '
                 'is a new random UUID.'),
    Field('state', shown=Shown.ALWAYS),
    Field('expires_at', Kind.INSTANT, Shown.ALWAYS,
          create=_EXPIRES, change=_EXPIRES),
    *_MADE,
    Field('project_id', shown=Shown.LONG),
    Field('user_id', shown=Shown.LONG),
    Field('suspended', Kind.FLAG, Shown.LONG, sdk='is_suspended'),
    Field('suspended_reason', shown=Shown.LONG),
    Field('links', Kind.OBJECTS),
    Field('ttl', Kind.PLAIN_SECONDS, metavar='<seconds>', answered=False,
          create=f'{_TTL} {_BY_SERVICE}', change=_TTL),
    Field('resource_class', answered=False,
          create='Only nodes of this resource class.'),
    Field('traits', Kind.TEXTS, option='--trait', answered=False,
          create=f'Only nodes with this trait. {_MANY}'),
    Field('flavor', Kind.FLAVOR, option='--flavor-file', metavar='<file>',
          answered=False,
          create='Only nodes that match a flavor of Nova: a file with the '
                 f'output of {_PRINTED}, or - for the standard input. Cannot '
                 'be used with --resource-class or --trait.')))

#: The requirement for the hosts of a lease, of maintenance and availability.
REQUIREMENT = Resource('requirement', '', '', (
    Field('resource_class', create='Only hosts of this resource class.'),
    Field('traits', Kind.TEXTS, option='--trait',
          create=f'Only hosts with this trait. {_MANY}'),
    Field('conditions', Kind.TEXTS, option='--property',
          metavar='<name><operator><value>',
          create="Only hosts with this property, for example 'vcpus>=8' or "
                 'rack=r1; the operators are =, !=, >=, <=, > and <. Can be '
                 'specified multiple times; all of them must match.')))

#: A reservation of a lease.
PART = Resource('reservation', 'reservations', '', (
    Field('resource_type'),
    Field('min', Kind.NUMBER),
    Field('max', Kind.NUMBER),
    Field('hypervisor_properties'),
    Field('resource_properties'),
    Field('amount', Kind.NUMBER),
    Field('vcpus', Kind.NUMBER, metavar='<vcpus>',
          create='vCPUs of each instance, with --instances.'),
    Field('memory_mb', Kind.NUMBER, option='--ram', metavar='<size-mb>',
          create='Memory in MB of each instance, with --instances.'),
    Field('disk_gb', Kind.NUMBER, option='--disk', metavar='<size-gb>',
          create='Disk in GB of each instance, with --instances.'),
    Field('flavor_id', option='--flavor', metavar='<flavor>',
          create='Name or ID of the flavor in Nova that sets the size of each '
                 'instance.'),
    Field('flavor', Kind.FLAVOR, option='--flavor-file', metavar='<file>',
          create=f'File with the output of {_PRINTED} for that flavor, or - '
                 'for the standard input.'),
    Field('affinity', Kind.FLAG, create='All instances on one host.',
          opposite=('--anti-affinity', 'All instances on different hosts.'))))

LEASE = Resource('lease', 'leases', '/leases', (
    Field('id', shown=Shown.ALWAYS),
    Field('name', shown=Shown.ALWAYS, change='New name of the lease.'),
    Field('start_date', Kind.INSTANT, Shown.ALWAYS, python='start',
          create=f'Start of the lease: {_FROM_NOW}. Default is now.',
          change=f'New start, if the lease has not started: {_FROM_NOW}.'),
    # The shell takes --end for its own --endpoint.
    Field('end_date', Kind.INSTANT, Shown.ALWAYS, python='end',
          create='End of the lease.', change='New end.'),
    Field('status', shown=Shown.ALWAYS),
    Field('degraded', Kind.FLAG, Shown.ALWAYS),
    Field('nodes', Kind.OBJECTS, Shown.LONG, parts=_NODE, answered=False),
    Field('waiting', shown=Shown.LONG),
    Field('project_id', shown=Shown.LONG),
    Field('before_end_date', Kind.INSTANT, python='before_end',
          answered=False,
          create='Time of the notification that the end is near. '
                 f'{_BY_SERVICE}'),
    Field('degraded_reason'),
    Field('between', Kind.WINDOW,
          create='Window in which the lease may start and end, instead of '
                 'fixed dates; requires --duration. The lease is planned at '
                 'the earliest possible time, and may be moved within the '
                 'window until it is fixed.',
          change='New window, within which the lease may be moved until it '
                 'is fixed. Dates that were set or are fixed are open '
                 'again.'),
    Field('duration', Kind.SECONDS,
          create=f'Duration of the lease: {_LENGTHS}.',
          change='New duration of a lease whose dates are open.'),
    Field('fix_before', Kind.SECONDS,
          create='Fix the dates of a lease with --between this time before '
                 f'its planned start. {_BY_SERVICE}',
          change='Fix the dates this time before the planned start, if they '
                 'are open.'),
    Field('fixed', Kind.FLAG, sdk='is_fixed'),
    Field('queued', Kind.FLAG, sdk='is_queued'),
    Field('promised_start', Kind.INSTANT),
    Field('on_refusal', answered=False),
    Field('priority', Kind.NUMBER, metavar='<priority>',
          create='Priority among queued leases, from 0 (default) to 100; the '
                 'highest comes first. Administrators only.'),
    Field('reservations', Kind.OBJECTS),
    Field('events', Kind.OBJECTS, parts=(Field('time', Kind.INSTANT),)),
    Field('heal', Kind.FLAG, change='Replace broken nodes.', answered=False),
    Field('user_id'),
    Field('created_at', Kind.INSTANT),
    Field('updated_at', Kind.INSTANT),
    Field('moves', Kind.OBJECT)), of_leases=True)

#: The filters of the list of leases.
LEASE_FILTER = Resource('filter', '', '', (
    Field('name', create='Only list leases with this name.'),
    Field('status', Kind.TEXTS, python='statuses', metavar='<status>',
          create='Only list leases with this status: PENDING, STARTING, '
                 'ACTIVE, TERMINATING, TERMINATED, DELETING or ERROR. '
                 f'{_MANY}'),
    Field('node', create='Only list leases that have, or are planned on, this '
                         'node (name or UUID).'),
    Field('from', Kind.INSTANT, python='since', answered=False,
          create='Only list leases that end after this time.'),
    Field('to', Kind.INSTANT, python='until', option='--until',
          answered=False,
          create='Only list leases that start before this time.')))

HOST = Resource('host', 'hosts', '/os-hosts', (
    Field('id', shown=Shown.ALWAYS),
    Field('name', shown=Shown.ALWAYS),
    Field('resource_class', shown=Shown.ALWAYS),
    Field('status', shown=Shown.ALWAYS),
    Field('reservable', Kind.FLAG, Shown.ALWAYS, sdk='is_reservable',
          change='Open the host to new leases.',
          opposite=('--not-reservable',
                    'Close the host to new leases. Leases that have not '
                    'started get other hosts where that is possible; leases '
                    'that have started keep the host.')),
    Field('node_uuid', shown=Shown.LONG, sdk='node_id'),
    Field('hypervisor_hostname', shown=Shown.LONG),
    Field('hypervisor_type', shown=Shown.ALONE),
    Field('vcpus', Kind.NUMBER, Shown.LONG),
    Field('memory_mb', Kind.NUMBER, Shown.LONG),
    Field('local_gb', Kind.NUMBER, Shown.LONG),
    Field('cpu_info', shown=Shown.ALONE),
    Field('properties', Kind.OBJECT, Shown.LONG, answered=False),
    *_MADE,
    Field('hypervisor_version', Kind.NUMBER),
    Field('service_name'),
    Field('availability_zone'),
    Field('trust_id')), of_leases=True)

MAINTENANCE = Resource('maintenance', 'maintenances', '/maintenances', (
    Field('uuid', shown=Shown.ALWAYS),
    Field('name', shown=Shown.ALWAYS, option='name', metavar='<name>',
          create='Name of the maintenance window.'),
    Field('state', shown=Shown.ALWAYS),
    Field('starts_at', Kind.INSTANT, Shown.ALWAYS, python='start',
          option='--start-date',
          create=f'Start of the maintenance: {_SHORT_TIME}. Default is now.'),
    # The shell takes --end for its own --endpoint.
    Field('ends_at', Kind.INSTANT, Shown.ALWAYS, python='end',
          option='--end-date',
          create=f'End of the maintenance: {_SHORT_TIME}.'),
    Field('duration', Kind.SECONDS, answered=False,
          create='Duration of the maintenance, for example 4h.'),
    Field('reason', shown=Shown.LONG, metavar='<reason>',
          create='Reason to show in Ironic. Default is the name.'),
    Field('drain', Kind.FLAG, Shown.LONG,
          create='Wait for the users of nodes: the maintenance of a node '
                 'begins when its lease has ended, and has the requested '
                 'duration.'),
    Field('nodes', Kind.TEXTS, Shown.LONG, option='--node', parts=_WAITING,
          create=f'Name or UUID of a node. {_MANY} Default is all nodes that '
                 'match the other options.'),
    *_MADE,
    Field('force', Kind.FLAG, answered=False,
          create='Book the nodes even if others have them.'),
    Field('resource_class', answered=False),
    Field('resource_properties', answered=False),
    Field('bound', Kind.OBJECTS, Shown.ALONE),
    Field('moves', Kind.OBJECTS, Shown.ALONE),
    Field('rescheduled', Kind.OBJECTS, Shown.ALONE),
    Field('cannot_move', Kind.OBJECTS, Shown.ALONE),
    Field('accepted', Kind.FLAG),
    Field('reasons', Kind.OBJECTS)))

LIMITS = Resource('limits', '', '/limits', (
    Field('limit', shown=Shown.ALWAYS),
    Field('used', Kind.NUMBER, Shown.ALWAYS),
    Field('allowed', Kind.NUMBER, Shown.ALWAYS),
    Field('unit', shown=Shown.ALWAYS),
    Field('resource_class', shown=Shown.ALWAYS, title='resource class')))

USAGE = Resource('usage', '', '/usage', (
    Field('day', title='Day'),
    Field('project_id', title='Project'),
    Field('resource_class', title='Class'),
    Field('promised', shown=Shown.ALWAYS, title='Promised host hours'),
    Field('bound', shown=Shown.ALWAYS, title='Bound host hours'),
    Field('deployed', shown=Shown.ALWAYS, title='Deployed host hours'),
    Field('unused', shown=Shown.ALWAYS, title='Unused host hours')))

#: The fields of the question, and of the answer.
AVAILABILITY = Resource('availability', '', '/availability', (
    Field('start_date', Kind.INSTANT, python='start', option='--from',
          create=f'Start of the period: {_FROM_NOW}. Default is now.'),
    Field('end_date', Kind.INSTANT, python='end', option='--until',
          create='End of the period. Default is set by the service: 30 days '
                 'after the start.'),
    Field('count', Kind.NUMBER, python='hosts'),
    Field('duration', Kind.SECONDS,
          create=f'Duration for --hosts: {_LENGTHS}.'),
    Field('slots', Kind.NUMBER),
    Field('resource_class'),
    Field('resource_properties'),
    Field('earliest', Kind.INSTANT)), of_leases=True)

#: The same.
CALENDAR = Resource('calendar', '', '/calendar', (
    Field('from', Kind.INSTANT, python='start', answered=False,
          create=f'Start of the window: {_FROM_NOW}. Default is the start of '
                 'the present hour.'),
    Field('to', Kind.INSTANT, python='end', option='--until',
          answered=False,
          create='End of the window. Default is 30 days after its start.'),
    Field('resource_class', Kind.TEXTS, python='resource_classes',
          create=f'Only hosts of this resource class. {_MANY} Default is '
                 'all.'),
    Field('rows', Kind.FLAG, option='--hosts',
          create='Also show each host, with its bookings.'),
    Field('origin', Kind.INSTANT)))

ALL = (RESERVATION, REQUIREMENT, PART, LEASE, LEASE_FILTER, HOST,
       MAINTENANCE, LIMITS, USAGE, AVAILABILITY, CALENDAR)
