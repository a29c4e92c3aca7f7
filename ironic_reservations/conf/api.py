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

"""Options of [api]."""

from __future__ import annotations

import ipaddress

from oslo_config import cfg

from ironic_reservations.conf import times


def network(value: str) -> str:
    """Return an address or a network.

    :raises ValueError: the value is neither.
    """
    return str(ipaddress.ip_network(value.strip(), strict=False))


GROUP = 'api'

OPTS = [
    cfg.HostAddressOpt('host', default='0.0.0.0',
                       help='The address that ironic-reservations-api '
                            'listens on.'),
    cfg.PortOpt('port', default=6386,
                help='The port that ironic-reservations-api listens on; with '
                     '0, it uses a free port and prints its number.'),
    cfg.IntOpt('threads', default=16, min=1, max=1024,
               help='The number of requests that ironic-reservations-api '
                    'serves at the same time.'),
    cfg.BoolOpt('reuse_port', default=False,
                help='Let several ironic-reservations-api processes share '
                     'the port (SO_REUSEPORT); the kernel distributes '
                     'the connections.'),
    cfg.URIOpt('public_endpoint', schemes=['http', 'https'],
               help='The URL under which clients reach the root of this API, '
                    'or of the Ironic API that it is embedded in. It is used '
                    'in links and in the header Location. Inside Ironic, the '
                    'default is [api] public_endpoint of Ironic; without '
                    'either, the URL of each request is used.'),
    cfg.BoolOpt('calendar', default=True,
                help='Serve the calendar page, which shows free hosts and on '
                     'which users lease them, at /reservation/calendar/. If '
                     'false, everything below that path is 404.'),
    cfg.StrOpt('calendar_rack_property', default='',
               help='The property that names the rack of a host: a capability '
                    'of the host or, if the host has no such capability, a '
                    'property of the node in Ironic. The calendar then shows '
                    'the hosts of a class rack by rack, to everybody who may '
                    'see the calendar. If empty, it shows no racks.'),
    cfg.IntOpt('calendar_session_time', default=28800, min=60,
               max=times.CENTURY,
               help='Duration of a session of the calendar, in seconds, with '
                    'auth_strategy http_basic. With keystone, a session lasts '
                    'as long as its token.'),
    cfg.ListOpt('trusted_proxies', default=[], item_type=network,
                help='If requests pass several proxies: the addresses or '
                     'networks of all but the last one, such as 10.0.0.5, '
                     '2001:db8::/120. Failed sign-ins to the calendar count '
                     'for the last address in X-Forwarded-For, or in '
                     'Forwarded, that is not listed here. Only used with '
                     '[oslo_middleware] enable_proxy_headers_parsing.'),
    cfg.IntOpt('max_limit', default=1000, min=1,
               help='The maximum number of entries in one page of a list.'),
    cfg.IntOpt('max_nodes_per_request', default=1000, min=1,
               help='The maximum number of nodes that one request may name.'),
    cfg.IntOpt('max_keys_per_day', default=100000, min=0,
               help='The maximum number of requests with an Idempotency-Key, '
                    'or with a uuid that the client has chosen, that a '
                    'project may send in a day to one API process. Each '
                    'becomes a row in the database for a day. Further ones '
                    'are refused with 429. 0 sets no limit. Requests without '
                    'a project, such as those of administrators of the '
                    'system, are not limited.'),
    cfg.IntOpt('max_hard_requests', default=4, min=1,
               help='The maximum number of hard requests that an API process '
                    'plans at the same time: requests for which the planner '
                    'has to search for hosts for tenths of a second. Further '
                    'ones are refused with 503. Keep it well below the number '
                    'of threads, so that other requests are always served; at '
                    'least one thread is left for them.'),
    cfg.IntOpt('max_hard_requests_per_project', default=2, min=1,
               help='The maximum number of these requests that belong to one '
                    'project. Further ones are refused with 429.'),
    cfg.IntOpt('max_request_body_size', default=131072, min=1024,
               help='The maximum size of a request body, in bytes.'),
    cfg.BoolOpt('metrics', default=True,
                help='Serve Prometheus metrics of this process at /metrics, '
                     'without authentication.'),
]
