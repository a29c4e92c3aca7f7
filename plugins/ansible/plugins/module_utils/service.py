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


"""The connection of the modules, and the messages of their failures."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import datetime
import os
import traceback
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.basic import missing_required_lib

__all__ = ['CONNECTION', 'MISSING', 'connect', 'exceptions', 'instant',
           'lease_payload', 'leases', 'maintenances', 'module', 'plain',
           'reaching', 'relative', 'run', 'sdk', 'times']

#: Why the libraries cannot be had, if so.
MISSING: str | None = None
try:
    from keystoneauth1 import exceptions as auth_exceptions
    import openstack
    from openstack import exceptions
    from requests import exceptions as http_exceptions

    from ironic_reservations_client import lease_payload
    from ironic_reservations_client import sdk
    from ironic_reservations_client import times
    from ironic_reservations_client.sdk import leases
    from ironic_reservations_client.sdk import maintenances
except ImportError:
    MISSING = traceback.format_exc()
    exceptions = openstack = lease_payload = times = sdk = leases = None
    maintenances = auth_exceptions = http_exceptions = None

#: The options of a connection.
CONNECTION = {
    'cloud': {'type': 'raw', 'no_log': True},
    'auth': {'type': 'dict', 'no_log': True},
    'auth_type': {'type': 'str'},
    'region_name': {'type': 'str'},
    'interface': {'type': 'str', 'default': 'public',
                  'choices': ['public', 'internal', 'admin'],
                  'aliases': ['endpoint_type']},
    'validate_certs': {'type': 'bool', 'aliases': ['verify']},
    'ca_cert': {'type': 'str', 'aliases': ['cacert']},
    'client_cert': {'type': 'str', 'aliases': ['cert']},
    'client_key': {'type': 'str', 'no_log': True, 'aliases': ['key']},
    'api_timeout': {'type': 'int'},
}
#: The values in ``cloud`` and ``auth`` that are no secrets.
_OPEN = frozenset({
    'application_credential_id', 'application_credential_name', 'auth_type',
    'auth_url', 'baremetal_endpoint_override', 'cacert', 'cert',
    'default_domain', 'default_domain_id', 'default_domain_name', 'domain_id',
    'domain_name', 'endpoint', 'interface', 'profile', 'project_domain_id',
    'project_domain_name', 'project_id', 'project_name', 'region_name',
    'system_scope', 'tenant_id', 'tenant_name', 'user_domain_id',
    'user_domain_name', 'user_id', 'username'})


def module(spec: dict[str, Any], **rules: Any) -> AnsibleModule:
    """Return a module with the options of a connection.

    The module fails if a library is missing.

    :param spec: the options of the module itself.
    """
    made = AnsibleModule({**CONNECTION, **spec}, supports_check_mode=True,
                         **rules)
    made.no_log_values -= _unmasked(made.params)
    if MISSING is not None:
        made.fail_json(msg=missing_required_lib(
            'ironic-reservations-client'),
                       exception=MISSING)
    return made


def _unmasked(params: dict[str, Any]) -> set[str]:
    """Return the values of the connection that results may contain.

    Ansible masks each value of an option with ``no_log`` wherever it is found
    in a result: the name of a user or of a cloud would mask a resource class.
    """
    values = list(_values(params['cloud'], 'profile')) + list(
        _values(params['auth'], ''))
    secrets = {value for name, value in values if name not in _OPEN}
    if params['client_key']:
        secrets.add(params['client_key'])
    return {value for name, value in values if name in _OPEN} - secrets


def _values(given: Any, name: str) -> Iterator[tuple[str, str]]:
    """Return the names and the texts of all values below a value."""
    if isinstance(given, dict):
        for key, value in given.items():
            yield from _values(value, str(key))
    elif isinstance(given, list):
        for value in given:
            yield from _values(value, name)
    elif given is not None:
        yield name, str(given)


def connect(params: dict[str, Any]) -> Any:
    """Return a connection of openstacksdk.

    :param params: the options of a module or of an inventory.
    :raises ValueError: the endpoint of a service without Keystone is missing.
    """
    given = {'auth': params['auth'], 'auth_type': params['auth_type'],
             'region_name': params['region_name'],
             'verify': params['validate_certs'], 'cacert': params['ca_cert'],
             'cert': params['client_cert'], 'key': params['client_key'],
             'api_timeout': params['api_timeout'],
             'interface': params['interface']}
    given = {name: value for name, value in given.items()
             if value is not None}
    cloud = params['cloud']
    if isinstance(cloud, dict):
        return openstack.connect(**{**given, **cloud})
    if given.get('auth_type') in ('none', 'http_basic'):
        # NOTE: the endpoint is an option of the plugin, and there is no
        # catalog to look it up in.
        endpoint = given.get('auth', {}).get('endpoint')
        if endpoint:
            given['baremetal_endpoint_override'] = endpoint
        elif cloud is None and not {'OS_CLOUD', 'OS_ENDPOINT'} & {*os.environ}:
            raise ValueError(f'"auth_type: {given["auth_type"]}" needs the '
                             'URL of the service: set "endpoint" in "auth".')
    return openstack.connect(cloud=cloud, **given)


@contextlib.contextmanager
def reaching() -> Iterator[None]:
    """Convert errors of the connection into texts for users of Ansible.

    :raises ValueError: no answer came, or it is not from the service.
    """
    try:
        yield
    except (auth_exceptions.ConnectionError,
            auth_exceptions.DiscoveryFailure) as error:
        raise ValueError(
            f'The service cannot be reached: {error} Check "endpoint" or '
            '"auth_url", and whether the service runs.') from error
    except auth_exceptions.ClientException as error:
        raise ValueError(f'The connection failed: {error}') from error
    except http_exceptions.JSONDecodeError as error:
        raise ValueError(
            f'The answer is not JSON, so that it may come from another '
            f'service, such as a proxy: {error}') from error


def run(made: AnsibleModule, act: Any) -> None:
    """Run a module and exit; a refusal is a failure with reasons.

    :param act: the function of the module; it gets the connection and returns
        the result.
    """
    try:
        with reaching():
            result = act(connect(made.params))
        made.exit_json(**result)
    except exceptions.HttpException as error:
        refusal = getattr(error, 'refusal', None)
        made.fail_json(
            msg=str(error), code=getattr(refusal, 'code', None),
            reasons=list(getattr(refusal, 'reasons', ())),
            offers=list(getattr(refusal, 'offers', ())))
    except (exceptions.SDKException, ValueError) as error:
        made.fail_json(msg=str(error))


def instant(text: str | None) -> Any:
    """Parse a time of a playbook, in UTC if it has no zone.

    :returns: ``now`` for the text "now", ``None`` without a text.
    :raises ValueError: the text is not a time.
    """
    if text is None:
        return None
    found = times.instant(text, datetime.datetime.now(
        datetime.UTC).replace(microsecond=0))
    return found if found == times.NOW else times.utc(found)


def relative(text: str | None) -> bool:
    """Return whether a time of a playbook counts from now.

    Such a time differs in each run, so it is not compared.
    """
    return text is not None and (text == times.NOW or text.startswith('+'))


def plain(resource: Any) -> dict[str, Any]:
    """Return a resource as a dictionary of the fields of the API."""
    found = resource.to_dict(computed=False, original_names=True)
    found.pop('location', None)
    return dict(found)
