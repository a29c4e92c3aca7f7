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

"""Limits of request bodies: those of Ironic, or lower."""

from __future__ import annotations

import dataclasses

from oslo_config import cfg

from ironic_reservations.guard import bodies

_KIB = 1024
#: The limit if Ironic has no option for it.
_ORDINARY = 1024
_PROVISION = 65536
#: Deeper nesting takes more than half of the stack of a thread of Ironic, for
#: any limit that Ironic is configured with.
_DEEPEST = 100


@dataclasses.dataclass(frozen=True)
class BodyLimits:
    """The limits of request bodies.

    :ivar provision: the maximum size in bytes for a change of the provision
        state, which may have a configuration drive.
    :ivar other: the maximum size in bytes for any other body.
    :ivar deepest: the maximum depth of nesting.
    """

    provision: int
    other: int
    deepest: int


def of_ironic(ironic: cfg.ConfigOpts, conf: cfg.ConfigOpts) -> BodyLimits:
    """Return the limits of the Ironic that is guarded.

    :param ironic: the configuration of Ironic.
    :param conf: our configuration; [guard] max_body_size may lower them.
    """
    most = conf.guard.max_body_size
    return BodyLimits(
        min(most, _KIB * _option(ironic, 'max_json_body_size_provision',
                                 _PROVISION)),
        min(most, _KIB * _option(ironic, 'max_json_body_size', _ORDINARY)),
        min(_DEEPEST, _option(ironic, 'max_json_body_depth',
                              bodies.DEEPEST)))


def _option(ironic: cfg.ConfigOpts, name: str, default: int) -> int:
    # Older releases of Ironic have no such options; the guard still needs a
    # limit for the bodies that it reads.
    try:
        return int(ironic.api[name])
    except (cfg.NoSuchOptError, cfg.NoSuchGroupError):
        return default
