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

"""The address of a client, as the trusted proxies have seen it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import ipaddress
import re

from ironic_reservations.api import wsgi

_KEY = 'ironic_reservations.client_address'
_FOR = re.compile(r'(?:^|;)\s*for\s*=\s*"?([^";]+)', re.IGNORECASE)
#: An address and the port of the client, which differs by connection.
_WITH_PORT = re.compile(r'(\[[^]]*\]|[^:]*):[^:]*')
#: A client has all addresses of such a prefix: it costs nothing to change
#: between them.
_IPV6_PREFIX = 64


class FromProxy:
    """Stores the address of the client, as seen by the proxies in front.

    Each proxy appends to the list the address that it has seen, so the list is
    read from its end, and the first address that is no proxy is the client's.
    A client can choose the addresses before it, and change them with each
    request.

    :param proxies: the addresses, or networks, of the proxies before the last
        one; no client can use these addresses.
    """

    def __init__(self, application: wsgi.Application,
                 proxies: Sequence[str] = ()) -> None:
        self._application = application
        self._proxies = [ipaddress.ip_network(each, strict=False)
                         for each in proxies]

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        environ[_KEY] = self._seen(environ)
        return self._application(environ, start_response)

    def _seen(self, environ: wsgi.Environ) -> str:
        listed = _listed(environ)
        while len(listed) > 1 and self._is_proxy(listed[-1]):
            listed.pop()
        # The address of the peer is not checked: Ironic's own middleware may
        # have replaced it by one that the client has chosen.
        return listed[-1] if listed else str(environ.get('REMOTE_ADDR', ''))

    def _is_proxy(self, address: str) -> bool:
        parsed = _parsed(address)
        return parsed is not None and any(
            parsed in network for network in self._proxies)


def of(environ: wsgi.Environ) -> str:
    """Return the address of the client of a request, for counting.

    It is a network where a client has a whole network.
    """
    address = str(environ.get(_KEY) or environ.get('REMOTE_ADDR', ''))
    parsed = _parsed(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(parsed), _IPV6_PREFIX),
                                        strict=False))
    return address if parsed is None else str(parsed)


def _listed(environ: wsgi.Environ) -> list[str]:
    """Return the addresses that proxies have seen, the last one at the end."""
    listed = [each.strip() for each
              in environ.get('HTTP_X_FORWARDED_FOR', '').split(',')]
    if not listed[-1]:
        listed = [found[1].strip() if (found := _FOR.search(each)) else ''
                  for each in environ.get('HTTP_FORWARDED', '').split(',')]
    return [_without_port(each) for each in listed if each]


def _without_port(address: str) -> str:
    if with_port := _WITH_PORT.fullmatch(address):
        address = with_port[1]
    return address.strip('[]')


def _parsed(address: str
            ) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an address, as one of IPv4 if it has been mapped to IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    return getattr(parsed, 'ipv4_mapped', None) or parsed
