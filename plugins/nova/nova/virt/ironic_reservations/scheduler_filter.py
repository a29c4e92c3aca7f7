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

"""The scheduler filter for servers that name a reservation."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any

from nova import utils
from nova.scheduler import filters
from nova.scheduler import utils as scheduler
from nova.virt.ironic_reservations import naming
from nova.virt.ironic_reservations import service
from oslo_log import log

LOG = log.getLogger(__name__)


class IronicReservationFilter(filters.BaseHostFilter):
    """Passes only nodes of the reservation in the hint ``reservation=<id>``.

    Without the filter, the scheduler could choose nodes that such a server
    cannot use. The filter only saves these attempts: the proof is checked when
    the node is deployed. So if the service does not answer, all nodes pass.
    """

    run_filter_once_per_request = True

    def filter_all(self, filter_obj_list: Iterable[Any],
                   spec_obj: Any) -> Iterator[Any]:
        """Return the hosts that pass, with one request for all of them."""
        hint = spec_obj.get_scheduler_hint(naming.HINT)
        nodes = (None if hint is None or scheduler.request_is_rebuild(spec_obj)
                 else self._nodes_of(hint))
        for host in filter_obj_list:
            if nodes is None or not nodes.isdisjoint(
                    (str(host.nodename), str(host.uuid))):
                yield host

    def _nodes_of(self, hint: Any) -> frozenset[str] | None:
        """Return the nodes of a reservation; ``None``: they are not known."""
        try:
            ident = naming.of_hint(hint)
            return service.Service(utils.get_sdk_adapter(
                'baremetal', admin=True)).nodes_of(ident)
        except (service.Missing, ValueError) as exc:
            LOG.info('No host is for this request: %s', exc)
            return frozenset()
        except Exception as exc:
            LOG.warning('Hosts are not filtered by the reservation that the '
                        'request names, since it is not known which it has: '
                        '%s', exc)
            return None
