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

"""The errors of the service: a sentence for people, a code for programs.

A code is never reused for another cause and never renamed.  The remedy for
each error is in doc/source/user/troubleshooting.rst; a test checks that the
page has all of them.

Calls to the database, Ironic, Placement, Nova or Keystone raise
``DatabaseUnavailable``, ``IronicUnavailable`` and so on while these do not
answer. Docstrings mention such an error only where it has a further meaning.
"""

from __future__ import annotations

from typing import Any
from typing import ClassVar


class ReservationError(Exception):
    """A request could not be served.

    :param message: a sentence for the person who must act.
    :param details: further facts for programs, JSON-serializable; most errors
        have ``reasons`` (a list of objects).
    :cvar retry_after: the seconds after which a retry makes sense, where this
        is known.
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
    """The policy does not allow the request."""

    status, code = 403, 'identity.forbidden'


#: What to do about a token that is for no project.
USE_A_PROJECT = 'Use a token of Keystone whose scope is a project.'


class SessionEnded(ReservationError):
    """A user of the calendar is not signed in, or the session is over."""

    status, code = 401, 'identity.session_ended'

    def __init__(self, message: str = (
            'There is no session, or it has ended: it expired, was ended '
            'elsewhere, or its user was changed. Sign in.'),
            **details: Any) -> None:
        super().__init__(message, **details)


class SignInRefused(ReservationError):
    """A user of the calendar showed no valid credentials.

    The answer does not show whether the user, project or domain exists.
    """

    status, code = 401, 'identity.sign_in_refused'

    def __init__(self, message: str = (
            'These credentials were not accepted. Check the user and the '
            'password, and, where there are any, the project and the domains; '
            'or the id and the secret of the application credential.'),
            **details: Any) -> None:
        super().__init__(message, **details)


class TooManyAttempts(ReservationError):
    """A user tries too often to sign in, or too many users try at once."""

    status, code = 429, 'identity.too_many_attempts'

    def __init__(self, message: str, seconds: int, **details: Any) -> None:
        super().__init__(message, **details)
        self.retry_after = seconds  # type: ignore[misc]


class CsrfTokenInvalid(ReservationError):
    """A change of the calendar has no valid CSRF token."""

    status, code = 403, 'identity.csrf_token_invalid'


class ResourceNotFound(ReservationError):
    """The path does not exist, or not at the requested version."""

    status, code = 404, 'request.not_found'


class MethodNotAllowed(ReservationError):
    """The path exists, but not with this method."""

    status, code = 405, 'request.method_not_allowed'


class VersionNotAcceptable(ReservationError):
    """The requested API version is malformed or out of range."""

    status, code = 406, 'request.version_not_acceptable'


class NotAcceptable(ReservationError):
    """The client accepts none of the media types that are served here."""

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
    """No node of the request can be reserved now."""

    status, code = 409, 'reservation.no_node_available'


class UuidInUse(ReservationError):
    """The uuid that the client chose names another reservation."""

    status, code = 409, 'reservation.uuid_in_use'


class ReservationKeyReused(ReservationError):
    """The key of a request for a reservation was used for another request."""

    status, code = 422, 'reservation.idempotency_key_reused'


class ReservationEnded(ReservationError):
    """The reservation that the same request made is over."""

    status, code = 409, 'reservation.already_ended'


class ReservationInUse(ReservationError):
    """The node of a reservation is in use, and is put back afterwards."""

    status, code = 409, 'reservation.in_use'


class InstanceReserved(ReservationError):
    """Another project holds a reservation for that instance."""

    status, code = 409, 'reservation.instance_reserved'


class ExtensionRefused(ReservationError):
    """The node is promised to a lease before the new end."""

    status, code = 409, 'reservation.extension_refused'


class ReservationLimit(ReservationError):
    """The project may not have another reservation, or not for such a time."""

    status, code = 403, 'reservation.limit_exceeded'


class Contention(ReservationError):
    """Other requests changed the same nodes at each attempt."""

    status, code = 503, 'reservation.contention'
    retry_after = 1


class ProofRequired(ReservationError):
    """The node is reserved, and the request shows no proof."""

    status, code = 403, 'reservation.proof_required'


class ProofInvalid(ReservationError):
    """The proof that was shown is not a live reservation of the node."""

    status, code = 403, 'reservation.proof_invalid'


class ReservationRequired(ReservationError):
    """The operator requires a reservation for each deploy."""

    status, code = 403, 'reservation.required'


class AllocationRefused(ReservationError):
    """No node is free for an allocation of Ironic.

    The status is 403, unlike the 409 of a reservation: the clients of Ironic
    retry a 409 for minutes.
    """

    status, code = 403, 'reservation.allocation_refused'


class NotCanonical(ReservationError):
    """A guarded request in a form with more than one possible meaning."""

    status, code = 403, 'guard.not_canonical'


class UnknownRoute(ReservationError):
    """A write of Ironic's API that this release does not know.

    Such a write is refused on a node that is held, and if it does not name its
    nodes.
    """

    status, code = 403, 'guard.unknown_route'


class MaintenanceOfOthers(ReservationError):
    """The holder of a node changes a maintenance that it has not set."""

    status, code = 403, 'guard.maintenance_of_others'


class TooManyFailures(TooManyAttempts):
    """Ironic has refused too many requests of one caller for a node."""

    status, code = 429, 'guard.too_many_attempts'


class TooManyKeys(TooManyAttempts):
    """A project has sent too many requests with idempotency keys."""

    status, code = 429, 'request.too_many_keys'


class TooManyHardRequests(TooManyAttempts):
    """A project has too many requests at once that take long to plan."""

    status, code = 429, 'request.too_many_hard'


class NodePromised(ReservationError):
    """The node is promised for later, and no other could take its place."""

    status, code = 403, 'reservation.node_promised'


class NodeInMaintenance(ReservationError):
    """A maintenance window has the node."""

    status, code = 403, 'guard.node_in_maintenance'


class LeaseNotFound(ReservationError):
    """No lease of that id is visible to the caller."""

    status, code = 404, 'lease.not_found'


class LeaseRefused(ReservationError):
    """No plan was found that serves the lease and keeps all promises.

    ``reasons`` contains the obstacles, ``offers`` the requests that would be
    accepted.
    """

    status, code = 409, 'lease.refused'


class LeaseFrozen(ReservationError):
    """A part of a lease cannot be changed any more in its present state."""

    status, code = 409, 'lease.frozen'


class LeaseLimit(ReservationError):
    """The lease is too long or too far in the future, or one too many."""

    status, code = 403, 'lease.limit_exceeded'


class LeaseNotPermitted(ReservationError):
    """The operator's enforcement service has refused the lease."""

    status, code = 403, 'lease.not_permitted'


class FlavorNotFound(ReservationError):
    """Nova has no such flavor for the project."""

    status, code = 400, 'lease.flavor_not_found'


class IdempotencyKeyReused(ReservationError):
    """The idempotency key was used for another request."""

    status, code = 422, 'lease.idempotency_key_reused'


class CalendarNotFound(ReservationError):
    """No calendar has that token."""

    status, code = 404, 'calendar.not_found'


class HostNotFound(ReservationError):
    """There is no such host, or no such node that could be one."""

    status, code = 404, 'host.not_found'


class HostExists(ReservationError):
    """The node is a host already."""

    status, code = 409, 'host.exists'


class HostInUse(ReservationError):
    """The host is promised to leases, and no other could serve them."""

    status, code = 409, 'host.in_use'


class HostDecided(ReservationError):
    """The configuration decides whether the node is a host."""

    status, code = 409, 'host.decided_by_configuration'


class MaintenanceNotFound(ReservationError):
    """There is no maintenance window of that id."""

    status, code = 404, 'maintenance.not_found'


class MaintenanceRefused(ReservationError):
    """Nodes of a maintenance window have holders.

    ``reasons`` contains the holder of each node.
    """

    status, code = 409, 'maintenance.refused'


class MaintenanceKeyReused(ReservationError):
    """The key of a request for maintenance was used for another request."""

    status, code = 422, 'maintenance.idempotency_key_reused'


class MaintenanceEnded(ReservationError):
    """The maintenance window that the same request booked is over."""

    status, code = 409, 'maintenance.already_ended'


class PropertyNotFound(ReservationError):
    """No host has a capability of that name."""

    status, code = 404, 'host.property_not_found'


class DatabaseUnavailable(ReservationError):
    """The reservations' database does not answer; nothing was changed."""

    status, code = 503, 'service.database_unavailable'
    retry_after = 5


class OutcomeUnknown(DatabaseUnavailable):
    """The connection to the database was lost during a COMMIT."""

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
    """The process is planning too many long requests."""

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
    """Keystone does not answer, or answers with an error."""

    status, code = 503, 'service.keystone_unavailable'
    retry_after = 5

    def __init__(self, message: str = (
            'Keystone did not answer, or answered with an error. Try again; '
            'if this continues, tell the operator.'),
            **details: Any) -> None:
        super().__init__(message, **details)


class HandedOverLate(ReservationError):
    """The process was suspended before it sent a request to Ironic."""

    status, code = 503, 'guard.handed_over_late'


class Overtaken(ReservationError):
    """Ironic carried out a request after its node got another holder."""

    status, code = 403, 'guard.overtaken'


class TicketInvalid(ReservationError):
    """A ticket of the reconciler that is unknown, used, void or too old."""

    status, code = 403, 'guard.ticket_invalid'


class ProofUnknown(ReservationError):
    """Placement, which knows the holder of the node, does not answer."""

    status, code = 503, 'guard.proof_unknown'


class Unexpected(ReservationError):
    """A bug; the log has a traceback with the id of the request."""

    status, code = 500, 'service.unexpected'


def service_codes() -> list[str]:
    """Return the codes of errors whose cause is the service, or its peers."""
    return sorted({each.code for each in globals().values()
                   if isinstance(each, type)
                   and issubclass(each, ReservationError)
                   and each.code.startswith('service.')})
