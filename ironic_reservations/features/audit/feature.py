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

"""Records acts on promises in the format of CADF."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.audit import audit


class Audit(feature.Feature):
    """The audit of every act on a promise."""

    def is_on(self, engine: Engine) -> bool:
        """Return whether acts are recorded anywhere."""
        return engine.audit.wanted

    def audit_trail(self, conf: cfg.ConfigOpts,
                    notifier: Any) -> audit.Audit:
        """Return the record of this process."""
        return audit.Audit(conf, notifier)
