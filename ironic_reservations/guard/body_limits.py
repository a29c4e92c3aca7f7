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

"""How large bodies may be, and how deeply nested: as in Ironic, never more."""

from __future__ import annotations

import dataclasses

from oslo_config import cfg

from ironic_reservations.guard import bodies

_KIB = 1024
#: What Ironic takes where it has no options for it.
_ORDINARY = 1024
_PROVISION = 65536
#: Beyond that, reading JSON needs more than half of the stack of a thread of
#: Ironic, whatever its options say.
_DEEPEST = 100


@dataclasses.dataclass(frozen=True)
class BodyLimits:
    """What the guard reads of requests.

    :ivar provision: the largest change of a provision state, in bytes; it
        may bring a configuration drive.
    :ivar other: the largest other body, in bytes.
    :ivar deepest: how many arrays and objects may be within each other.
    """

    provision: int
    other: int
    deepest: int


def of_ironic(ironic: cfg.ConfigOpts, conf: cfg.ConfigOpts) -> BodyLimits:
    """Return the limits of the Ironic that the guard stands round.

    :param ironic: the configuration of Ironic.
    :param conf: ours, whose [guard] max_body_size may lower them.
    """
    most = conf.guard.max_body_size
    return BodyLimits(
        min(most, _KIB * _option(ironic, 'max_json_body_size_provision',
                                 _PROVISION)),
        min(most, _KIB * _option(ironic, 'max_json_body_size', _ORDINARY)),
        min(_DEEPEST, _option(ironic, 'max_json_body_depth',
                              bodies.DEEPEST)))


def _option(ironic: cfg.ConfigOpts, name: str, default: int) -> int:
    # NOTE: releases of Ironic before these options have none, and set no
    # limit; the guard has to read these bodies all the same.
    try:
        return int(ironic.api[name])
    except (cfg.NoSuchOptError, cfg.NoSuchGroupError):
        return default
