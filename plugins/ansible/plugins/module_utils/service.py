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

import datetime
import traceback
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.basic import missing_required_lib

__all__ = ['CONNECTION', 'MISSING', 'connect', 'exceptions', 'instant',
           'lease_payload', 'leases', 'maintenances', 'module', 'plain',
           'run', 'sdk', 'times']

#: Why the libraries cannot be had, if so.
MISSING: str | None = None
try:
    import openstack
    from openstack import exceptions

    from ironic_reservations_client import lease_payload
    from ironic_reservations_client import sdk
    from ironic_reservations_client import times
    from ironic_reservations_client.sdk import leases
    from ironic_reservations_client.sdk import maintenances
except ImportError:
    MISSING = traceback.format_exc()
    exceptions = openstack = lease_payload = times = sdk = leases = None
    maintenances = None

#: The options of a connection.
CONNECTION = {
    'cloud': {'type': 'raw'},
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


def module(spec: dict[str, Any], **rules: Any) -> AnsibleModule:
    """Return a module with the options of a connection.

    The module fails if a library is missing.

    :param spec: the options of the module itself.
    """
    made = AnsibleModule({**CONNECTION, **spec}, supports_check_mode=True,
                         **rules)
    if MISSING is not None:
        made.fail_json(msg=missing_required_lib(
            'ironic-reservations-client'),
                       exception=MISSING)
    return made


def connect(params: dict[str, Any]) -> Any:
    """Return a connection of openstacksdk.

    :param params: the options of a module or of an inventory.
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
        endpoint = given['auth'].get('endpoint')
        given.setdefault('baremetal_endpoint_override', endpoint)
    return openstack.connect(cloud=cloud, **given)


def run(made: AnsibleModule, act: Any) -> None:
    """Run a module and exit; a refusal is a failure with reasons.

    :param act: the function of the module; it gets the connection and returns
        the result.
    """
    try:
        made.exit_json(**act(connect(made.params)))
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


def plain(resource: Any) -> dict[str, Any]:
    """Return a resource as a dictionary of the fields of the API."""
    found = resource.to_dict(computed=False, original_names=True)
    found.pop('location', None)
    return dict(found)
