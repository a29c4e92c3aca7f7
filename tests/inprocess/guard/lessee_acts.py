"""The acts that Ironic's default policies grant a lessee.

The effect of each at the end is in doc/source/admin/handover.rst.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

#: The member and the administrator of the project that leases.
MEMBER, ADMIN = 'one', 'admin-of-one'
OPERATOR = 'the-system'


@dataclasses.dataclass(frozen=True)
class Step:
    """A request about a node.

    :ivar below: the path below the node; with a leading "/v1", of the API.
    :ivar state: the provision state to wait for.
    :ivar shows: fields to wait for.
    :ivar version: of Ironic's API.
    """

    who: str
    method: str
    below: str
    body: Any = None
    state: str | None = None
    shows: Mapping[str, Any] | None = None
    version: str = '1.109'


@dataclasses.dataclass(frozen=True)
class Life:
    """The acts of a holder between the start and the end of a lease.

    :ivar policy: the policy of Ironic that grants the last act.
    :ivar before: what an operator does before the lease.
    :ivar leaves: whether the node is another one right before the end.
    """

    policy: str
    steps: Sequence[Step]
    before: Sequence[Step] = ()
    leaves: bool = True


def _patch(path: str, value: Any, who: str = MEMBER) -> Step:
    return Step(who, 'PATCH', '', [{'op': 'add', 'path': path,
                                    'value': value}])


def _state(target: str, state: str, **more: Any) -> Step:
    return Step(ADMIN, 'PUT', '/states/provision',
                {'target': target, **more}, state)


_UPDATE = 'baremetal:node:update'
_INFO = 'baremetal:node:update_instance_info'
_PROVISION = 'baremetal:node:set_provision_state'
_MANAGED = _state('manage', 'manageable')
_DEPLOYED = _state('active', 'active')
# The hardware of the tests waits for its agent then.
_INSPECTED = [_patch('/extra/slow', True), _MANAGED,
              _state('inspect', 'inspect wait')]
_STEP = {'interface': 'deploy', 'step': 'erase_devices', 'args': {}}
_MEDIA = Step(MEMBER, 'POST', '/vmedia', {
    'device_type': 'cdrom', 'image_url': 'http://image.invalid/his.iso',
    'image_download_source': 'http'})

LIVES: Mapping[str, Life] = {
    'description': Life(_UPDATE, [_patch('/description', 'his')]),
    'first_description': Life(
        _UPDATE, [_patch('/description', 'his')], [
            Step(OPERATOR, 'PATCH', '', [
                {'op': 'remove', 'path': '/description'}])]),
    'resource_class': Life(_UPDATE, [_patch('/resource_class', 'his')]),
    'automated_clean': Life(_UPDATE, [_patch('/automated_clean', True)]),
    'protected': Life(_UPDATE, [
        _DEPLOYED, _patch('/protected', True),
        _patch('/protected_reason', 'his')]),
    'extra': Life('baremetal:node:update_extra', [
        _patch('/extra/his', {'a': [1]}), _patch('/extra/rack', 'his')]),
    'whole_extra': Life('baremetal:node:update_extra', [
        _patch('/extra', {'his': 1})]),
    'configdrive': Life(_INFO, [
        _patch('/instance_info/configdrive', 'his', ADMIN),
        _patch('/instance_info/kernel_append_params', 'his', ADMIN)]),
    'instance_name': Life(_INFO, [_patch('/instance_name', 'his', ADMIN)]),
    'maintenance': Life('baremetal:node:set_maintenance', [
        Step(ADMIN, 'PUT', '/maintenance', {'reason': 'his'})]),
    'maintenance_cleared': Life('baremetal:node:clear_maintenance', [
        Step(ADMIN, 'PUT', '/maintenance'),
        Step(ADMIN, 'DELETE', '/maintenance')], leaves=False),
    'maintenance_twice': Life('baremetal:node:set_maintenance', [
        Step(ADMIN, 'PUT', '/maintenance', {'reason': 'his'}),
        Step(ADMIN, 'PUT', '/maintenance', {'reason': 'another'})]),
    'power': Life('baremetal:node:set_power_state', [
        Step(MEMBER, 'PUT', '/states/power', {'target': 'power on'},
             shows={'power_state': 'power on'})]),
    'boot_mode': Life('baremetal:node:set_boot_mode', [
        Step(MEMBER, 'PUT', '/states/boot_mode', {'target': 'uefi'},
             shows={'boot_mode': 'uefi'})]),
    'secure_boot': Life('baremetal:node:set_secure_boot', [
        Step(MEMBER, 'PUT', '/states/secure_boot', {'target': True},
             shows={'secure_boot': True})]),
    'deploy': Life(_PROVISION, [_DEPLOYED]),
    'deploy_and_undeploy': Life(_PROVISION, [
        _DEPLOYED, _patch('/extra/his', 1),
        _state('deleted', 'available')]),
    # Of such an image, Ironic does not ask Glance.
    'rebuild': Life(_PROVISION, [
        _patch('/instance_info/image_source', 'file:///his.raw', ADMIN),
        _DEPLOYED, _state('rebuild', 'active')]),
    'manage': Life(_PROVISION, [_MANAGED]),
    'manage_and_provide': Life(_PROVISION, [
        _MANAGED, _state('provide', 'available')], leaves=False),
    'inspect': Life(_PROVISION, [_MANAGED, _state('inspect', 'manageable')]),
    'inspect_waits': Life(_PROVISION, _INSPECTED),
    'abort': Life(_PROVISION, [
        *_INSPECTED, _state('abort', 'inspect failed')]),
    'rescue': Life(_PROVISION, [
        _DEPLOYED, _state('rescue', 'rescue', rescue_password='his')]),
    'unrescue': Life(_PROVISION, [
        _DEPLOYED, _state('rescue', 'rescue', rescue_password='his'),
        _state('unrescue', 'active')]),
    'adopt': Life(_PROVISION, [_MANAGED, _state('adopt', 'active')]),
    'service': Life(f'{_PROVISION}:service_steps', [
        _DEPLOYED, _state('service', 'active', service_steps=[
            {'interface': 'deploy', 'step': 'power_on'}])]),
    'clean': Life(f'{_PROVISION}:clean_steps', [
        _MANAGED, _state('clean', 'clean failed', clean_steps=[{
            **_STEP, 'step': 'burnin_cpu'}])]),
    'vif': Life('baremetal:node:vif:attach', [
        Step(ADMIN, 'POST', '/vifs', {'id': 'his'})]),
    'vif_detached': Life('baremetal:node:vif:detach', [
        Step(ADMIN, 'POST', '/vifs', {'id': 'his'}),
        Step(ADMIN, 'DELETE', '/vifs/his')], leaves=False),
    'media': Life('baremetal:node:vmedia:attach', [_MEDIA]),
    'media_detached': Life('baremetal:node:vmedia:detach', [
        _MEDIA, Step(MEMBER, 'DELETE', '/vmedia')], leaves=False),
    'volume_target': Life('baremetal:volume:create', [
        Step(ADMIN, 'POST', '/v1/volume/targets', {
            'volume_type': 'iscsi', 'volume_id': 'his', 'boot_index': 0})]),
    'volume_connector': Life('baremetal:volume:create', [
        Step(ADMIN, 'POST', '/v1/volume/connectors', {
            'type': 'iqn', 'connector_id': 'iqn.2026-11.his:{node}'})]),
    'volume_changed': Life('baremetal:volume:update', [
        Step(ADMIN, 'PATCH', '/v1/volume/targets/{target}', [
            {'op': 'replace', 'path': '/volume_id', 'value': 'his'}])]),
    'volume_deleted': Life('baremetal:volume:delete', [
        Step(ADMIN, 'DELETE', '/v1/volume/targets/{target}')]),
}
#: Policies whose acts leave nothing on a node, each with its reason.
HARMLESS: Mapping[str, str] = {
    'baremetal:node:create:self_owned_node': 'another node',
    'baremetal:node:ipa_heartbeat': 'needs the token of the agent',
    'baremetal:driver:ipa_continue_inspection': 'needs a running inspection',
    'baremetal:allocation:create': 'the guard keeps leased nodes from it',
    'baremetal:runbook:create': 'on no node; its steps are a provision '
                                'target',
}
#: Fields of a node that a lessee may patch. Ironic would allow "maintenance",
#: too.
FIELDS = frozenset((
    'automated_clean', 'description', 'extra', 'instance_info',
    'instance_name', 'protected', 'protected_reason',
    'resource_class'))
#: Provision targets of Ironic. Add a target of a later release after a check
#: of its effects on a node. Ironic 39 drops the step "hold" that a user names,
#: so that no node waits for "unhold"; if one does, it is aborted.
TARGETS = frozenset((
    'abort', 'active', 'adopt', 'clean', 'deleted', 'deploy', 'inspect',
    'manage', 'provide', 'rebuild', 'rescue', 'service', 'undeploy', 'unhold',
    'unrescue'))
