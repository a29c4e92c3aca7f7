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

"""Chooses how users of the calendar sign in: as callers of the API do."""

from __future__ import annotations

from oslo_config import cfg

from ironic_reservations.api.calendar import noauth
from ironic_reservations.api.calendar import password_file
from ironic_reservations.api.calendar import sessions
from ironic_reservations.api.calendar import tokens
from ironic_reservations.clouds import keystone


def make(auth_strategy: str, settings: cfg.ConfigOpts, conf: cfg.ConfigOpts,
         identify: tokens.Identify | None) -> sessions.Strategy:
    """Return the strategy.

    :param auth_strategy: how callers of the API are authenticated.
    :param settings: the configuration with the options of authentication:
        Ironic's, where this runs inside its API.
    :param conf: our own configuration.
    :param identify: checks the credentials of a request; ``None`` for noauth.
    """
    if auth_strategy == 'http_basic':
        return password_file.PasswordFile(
            settings.http_basic_auth_user_file,
            conf.api.calendar_session_time)
    if auth_strategy == 'keystone':
        assert identify is not None
        return tokens.Tokens(keystone.Keystone(settings, conf), identify)
    return noauth.NoAuth()
