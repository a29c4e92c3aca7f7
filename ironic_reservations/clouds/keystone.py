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

"""Client for Keystone: tokens for the users of the calendar page."""

from __future__ import annotations

from typing import Any

from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1 import session as ksa_session
from keystoneauth1.identity import v3
from oslo_config import cfg
from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import keystone_reader

LOG = log.getLogger(__name__)

GROUP = 'keystone_authtoken'
#: The limit for an answer, in seconds.
PATIENCE = 10
_VERSION = '/v3'
#: Errors that mean a refusal; users do not learn which one it was.
_REFUSED = (ksa_exc.Unauthorized, ksa_exc.Forbidden, ksa_exc.NotFound,
            ksa_exc.BadRequest)


class Keystone:
    """The Keystone that authenticates callers of the API.

    :param settings: the configuration with [keystone_authtoken]: Ironic's, if
        this runs inside its API.
    :param conf: our configuration, whose [ironic] is used if the settings have
        no URL.
    """

    def __init__(self, settings: cfg.ConfigOpts,
                 conf: cfg.ConfigOpts) -> None:
        self._settings = settings
        self._conf = conf

    def sign_in_with_password(self, username: str, user_domain: str,
                              password: str, project: str,
                              project_domain: str) -> str:
        """Return a token for a user in a project.

        :raises SignInRefused: Keystone refuses the credentials.
        """
        return self._token(v3.Password(
            self._url(), username=username, user_domain_name=user_domain,
            password=password, project_name=project,
            project_domain_name=project_domain, include_catalog=False))

    def sign_in_with_application_credential(self, ident: str,
                                            secret: str) -> str:
        """Return a token for an application credential.

        :raises SignInRefused: Keystone refuses the credential.
        """
        return self._token(v3.ApplicationCredential(
            self._url(), application_credential_id=ident,
            application_credential_secret=secret, include_catalog=False))

    def revoke(self, token: str) -> None:
        """Revoke a token."""
        shown = {'X-Auth-Token': token, 'X-Subject-Token': token}
        try:
            self._session().delete(f'{self._url()}/auth/tokens',
                                   headers=shown, authenticated=False,
                                   log=False)
        except (ksa_exc.Unauthorized, ksa_exc.NotFound):
            return
        except ksa_exc.ClientException as exc:
            raise _unavailable(exc) from exc

    def _token(self, plugin: Any) -> str:
        try:
            return str(plugin.get_access(self._session()).auth_token)
        except ksa_exc.MissingAuthMethods as exc:
            raise errors.SignInRefused(
                'Keystone asks this user for a second factor, which this page '
                'cannot pass on. Sign in with an application credential.'
            ) from exc
        except _REFUSED as exc:
            raise errors.SignInRefused() from exc
        except keystone_reader.UNKNOWN as exc:
            raise _unavailable(exc) from exc

    def _session(self) -> ksa_session.Session:
        options = self._settings[GROUP]
        # A redirect would send the password to another server.
        return ksa_session.Session(
            timeout=PATIENCE, redirect=False,
            user_agent='ironic-reservations-calendar',
            verify=False if options.insecure else options.cafile or True,
            cert=(options.certfile, options.keyfile)
            if options.certfile and options.keyfile
            else options.certfile or None)

    def _url(self) -> str:
        """Return the URL of Keystone's API v3."""
        options = self._settings[GROUP]
        section = getattr(options, 'auth_section', None) or GROUP
        # The authentication plugin decides which options are registered.
        for group, name in ((getattr(self._settings, section, None),
                             'auth_url'),
                            (options, 'www_authenticate_uri'),
                            (self._conf.ironic, 'auth_url')):
            found = getattr(group, name, None)
            if found:
                root = str(found).rstrip('/').removesuffix('/v2.0')
                return root.removesuffix(_VERSION) + _VERSION
        LOG.error('Nobody can sign in to the calendar: [%s] has neither '
                  'auth_url nor www_authenticate_uri', GROUP)
        raise errors.KeystoneUnavailable(
            'The configuration of this service does not say where Keystone '
            'is. The operator should set www_authenticate_uri in '
            f'[{GROUP}].')


def _unavailable(exc: Exception) -> errors.KeystoneUnavailable:
    LOG.warning('Keystone cannot be asked for the calendar: %s: %s',
                type(exc).__name__, exc)
    return errors.KeystoneUnavailable()
