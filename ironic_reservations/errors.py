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

"""Every refusal of the project: a sentence for people, a code for programs.

A code is never reused for another cause and never renamed.  The catalogue
with what to do about each one is doc/source/user/troubleshooting.rst; a test
keeps the two the same.

Whatever asks the database, Ironic, Placement, Nova or Keystone raises
``DatabaseUnavailable``, ``IronicUnavailable`` and so on while they do not
answer. Docstrings name these only where they mean more than that.
"""

from __future__ import annotations

from typing import Any
from typing import ClassVar


class ReservationError(Exception):
    """A request could not be served.

    :param message: a sentence for the person who must act.
    :param details: what a program may want besides, JSON-serializable;
        ``reasons`` (a list of objects) is the one that most errors carry.
    :cvar retry_after: in how many seconds it is worth trying again, where
        that can be told.
    """

    status: ClassVar[int] = 500
    code: ClassVar[str] = 'service.unexpected'
    retry_after: ClassVar[int | None] = None

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details


class Malformed(ReservationError):
    """The request could not be read."""

    status, code = 400, 'request.malformed'


class UnknownKey(ReservationError):
    """A key that the resource does not have at the requested version."""

    status, code = 400, 'request.unknown_key'


class InvalidValue(ReservationError):
    """A value of the wrong type, or out of its range."""

    status, code = 400, 'request.invalid_value'


class Unauthorized(ReservationError):
    """The request carries no valid credentials."""

    status, code = 401, 'identity.unauthorized'


class Forbidden(ReservationError):
    """The policy does not let this caller do that."""

    status, code = 403, 'identity.forbidden'


class SessionEnded(ReservationError):
    """A user of the calendar is not signed in, or not any more."""

    status, code = 401, 'identity.session_ended'

    def __init__(self, message: str = (
            'There is no session, or it has ended: it expired, was ended '
            'elsewhere, or its user was changed. Sign in.'),
            **details: Any) -> None:
        super().__init__(message, **details)


class SignInRefused(ReservationError):
    """A user of the calendar showed no valid credentials.

    NOTE: whether there is such a user, project or domain is not told.
    """

    status, code = 401, 'identity.sign_in_refused'

    def __init__(self, message: str = (
            'These credentials were not accepted. Check the user and the '
            'password, and, where there are any, the project and the domains; '
            'or the id and the secret of the application credential.'),
            **details: Any) -> None:
        super().__init__(message, **details)


class TooManyAttempts(ReservationError):
    """Somebody tries too often to sign in, or too many do at once."""

    status, code = 429, 'identity.too_many_attempts'

    def __init__(self, message: str, seconds: int, **details: Any) -> None:
        super().__init__(message, **details)
        self.retry_after = seconds  # type: ignore[misc]


class CsrfTokenInvalid(ReservationError):
    """Nothing shows that the calendar's own page sent a change."""

    status, code = 403, 'identity.csrf_token_invalid'


class ResourceNotFound(ReservationError):
    """No such path, or nothing there at the requested version."""

    status, code = 404, 'request.not_found'


class MethodNotAllowed(ReservationError):
    """The path is there, the method is not."""

    status, code = 405, 'request.method_not_allowed'


class VersionNotAcceptable(ReservationError):
    """The API version asked for is malformed or out of range."""

    status, code = 406, 'request.version_not_acceptable'


class NotAcceptable(ReservationError):
    """The client accepts nothing that is served here."""

    status, code = 406, 'request.not_acceptable'


class LengthRequired(ReservationError):
    """A body came without a Content-Length."""

    status, code = 411, 'request.length_required'


class TooLarge(ReservationError):
    """The body is larger than the configuration allows."""

    status, code = 413, 'request.too_large'


class UnsupportedMediaType(ReservationError):
    """The body is not JSON in UTF-8."""

    status, code = 415, 'request.unsupported_media_type'


class ReservationNotFound(ReservationError):
    """No live reservation of that uuid is visible to the caller."""

    status, code = 404, 'reservation.not_found'


class NoNodeAvailable(ReservationError):
    """No node that was asked for can be reserved now."""

    status, code = 409, 'reservation.no_node_available'


class UuidInUse(ReservationError):
    """The uuid that the client chose names another reservation."""

    status, code = 409, 'reservation.uuid_in_use'


class ReservationKeyReused(ReservationError):
    """The key of a request for a reservation came with another one before."""

    status, code = 422, 'reservation.idempotency_key_reused'


class ReservationEnded(ReservationError):
    """The reservation that the same request has made is over."""

    status, code = 409, 'reservation.already_ended'


class ReservationInUse(ReservationError):
    """The node of a reservation is in use, and is put back after that."""

    status, code = 409, 'reservation.in_use'


class InstanceReserved(ReservationError):
    """Another project holds a reservation for that instance."""

    status, code = 409, 'reservation.instance_reserved'


class ExtensionRefused(ReservationError):
    """The node is promised to a lease before the new end."""

    status, code = 409, 'reservation.extension_refused'


class ReservationLimit(ReservationError):
    """A project may not have one more reservation, or none for so long."""

    status, code = 403, 'reservation.limit_exceeded'


class Contention(ReservationError):
    """Other requests changed the same nodes each time that we tried."""

    status, code = 503, 'reservation.contention'
    retry_after = 1


class ProofRequired(ReservationError):
    """The node is reserved, and the request shows no proof."""

    status, code = 403, 'reservation.proof_required'


class ProofInvalid(ReservationError):
    """The proof that was shown is not a live reservation of the node."""

    status, code = 403, 'reservation.proof_invalid'


class ReservationRequired(ReservationError):
    """The operator lets nobody deploy without a reservation."""

    status, code = 403, 'reservation.required'


class AllocationRefused(ReservationError):
    """No node that an allocation of Ironic could get is free.

    NOTE: 403, unlike the 409 of a reservation: the clients of Ironic retry a
    409 for minutes.
    """

    status, code = 403, 'reservation.allocation_refused'


class NotCanonical(ReservationError):
    """A guarded request in a spelling that cannot be read in one way only."""

    status, code = 403, 'guard.not_canonical'


class UnknownRoute(ReservationError):
    """A write of Ironic's API that this release does not know.

    NOTE: to a node that somebody holds, or to nodes that cannot be told.
    """

    status, code = 403, 'guard.unknown_route'


class MaintenanceOfOthers(ReservationError):
    """The holder of a node changes a maintenance that somebody else set."""

    status, code = 403, 'guard.maintenance_of_others'


class TooManyFailures(TooManyAttempts):
    """Ironic has refused too many of somebody's requests for a node."""

    status, code = 429, 'guard.too_many_attempts'


class TooManyKeys(TooManyAttempts):
    """A project has sent too many requests whose keys have to be kept."""

    status, code = 429, 'request.too_many_keys'


class TooManyHardRequests(TooManyAttempts):
    """A project has too many requests at once that take long to plan."""

    status, code = 429, 'request.too_many_hard'


class NodePromised(ReservationError):
    """The node is promised for later, and nothing could take its place."""

    status, code = 403, 'reservation.node_promised'


class NodeInMaintenance(ReservationError):
    """A maintenance window has the node, and nobody else."""

    status, code = 403, 'guard.node_in_maintenance'


class LeaseNotFound(ReservationError):
    """No lease of that id is visible to the caller."""

    status, code = 404, 'lease.not_found'


class LeaseRefused(ReservationError):
    """No plan keeps all promises and this one too, or none was found.

    ``reasons`` has what is in the way, ``offers`` what would be accepted.
    """

    status, code = 409, 'lease.refused'


class LeaseFrozen(ReservationError):
    """A part of a lease cannot be changed any more in its present state."""

    status, code = 409, 'lease.frozen'


class LeaseLimit(ReservationError):
    """The operator allows no lease that is so long, so far or one more."""

    status, code = 403, 'lease.limit_exceeded'


class LeaseNotPermitted(ReservationError):
    """The service that the operator lets decide has refused the lease."""

    status, code = 403, 'lease.not_permitted'


class FlavorNotFound(ReservationError):
    """Nova has no such flavor for the project."""

    status, code = 400, 'lease.flavor_not_found'


class IdempotencyKeyReused(ReservationError):
    """The idempotency key came with another request before."""

    status, code = 422, 'lease.idempotency_key_reused'


class CalendarNotFound(ReservationError):
    """No calendar has that token."""

    status, code = 404, 'calendar.not_found'


class HostNotFound(ReservationError):
    """No such host, or no such node that could be one."""

    status, code = 404, 'host.not_found'


class HostExists(ReservationError):
    """The node is a host already."""

    status, code = 409, 'host.exists'


class HostInUse(ReservationError):
    """Leases have been promised the host, and no other could serve them."""

    status, code = 409, 'host.in_use'


class HostDecided(ReservationError):
    """The configuration says whether the node is a host."""

    status, code = 409, 'host.decided_by_configuration'


class MaintenanceNotFound(ReservationError):
    """There is no maintenance window of that id."""

    status, code = 404, 'maintenance.not_found'


class MaintenanceRefused(ReservationError):
    """Somebody has nodes that a maintenance window is to have.

    ``reasons`` has who, node by node.
    """

    status, code = 409, 'maintenance.refused'


class MaintenanceKeyReused(ReservationError):
    """The key of a request for maintenance came with another one before."""

    status, code = 422, 'maintenance.idempotency_key_reused'


class MaintenanceEnded(ReservationError):
    """The maintenance window that the same request has booked is over."""

    status, code = 409, 'maintenance.already_ended'


class PropertyNotFound(ReservationError):
    """No host has a capability of that name."""

    status, code = 404, 'host.property_not_found'


class DatabaseUnavailable(ReservationError):
    """The reservations' database does not answer; nothing was changed."""

    status, code = 503, 'service.database_unavailable'
    retry_after = 5


class OutcomeUnknown(DatabaseUnavailable):
    """The database was lost when it may have committed already."""

    code = 'service.outcome_unknown'
    retry_after = 1

    def __init__(self, message: str = (
            'The connection to the database of the reservations was lost '
            'during a commit: the request may or may not have been carried '
            'out. Check with GET, or send the request again with the same '
            'uuid or Idempotency-Key, which never does it twice.'),
            **details: Any) -> None:
        super().__init__(message, **details)


class ClockSkewed(DatabaseUnavailable):
    """The clock of this host is off, so it does not judge promises."""

    code = 'service.clock_skewed'


class PlannerBusy(ReservationError):
    """The process is planning too many requests that take long."""

    status, code = 503, 'service.planner_busy'
    retry_after = 2


class IronicUnavailable(ReservationError):
    """Ironic does not answer, or refuses our own credentials."""

    status, code = 503, 'service.ironic_unavailable'


class PlacementUnavailable(ReservationError):
    """Placement does not answer, or refuses our own credentials."""

    status, code = 503, 'service.placement_unavailable'


class NovaUnavailable(ReservationError):
    """Nova does not answer, or refuses our own credentials."""

    status, code = 503, 'service.nova_unavailable'


class KeystoneUnavailable(ReservationError):
    """Keystone does not answer, or not as it should."""

    status, code = 503, 'service.keystone_unavailable'
    retry_after = 5

    def __init__(self, message: str = (
            'Keystone did not answer, or answered with an error. Try again; '
            'if this continues, tell the operator.'),
            **details: Any) -> None:
        super().__init__(message, **details)


class HandedOverLate(ReservationError):
    """A request stood still between its admission and Ironic."""

    status, code = 503, 'guard.handed_over_late'


class Overtaken(ReservationError):
    """A request was carried out after its node had become another's."""

    status, code = 403, 'guard.overtaken'


class TicketInvalid(ReservationError):
    """A ticket of the reconciler that is unknown, used, void or too old."""

    status, code = 403, 'guard.ticket_invalid'


class ProofUnknown(ReservationError):
    """Placement, which could tell whose the node is, does not answer."""

    status, code = 503, 'guard.proof_unknown'


class Unexpected(ReservationError):
    """A bug: the request id leads to the traceback in the log."""

    status, code = 500, 'service.unexpected'
