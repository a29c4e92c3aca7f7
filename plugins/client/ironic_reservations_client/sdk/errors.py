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


"""Refusals as subclasses of openstacksdk's exceptions."""

from __future__ import annotations

from openstack import exceptions

from ironic_reservations_client import refusal as _refusal


class Refused(_refusal.Refused, exceptions.HttpException):
    """A refusal by the server, with ``code`` and ``reasons`` for programs."""

    def __init__(self, refusal: _refusal.Refusal,
                 cause: exceptions.HttpException) -> None:
        super().__init__(message=refusal.sentence, response=cause.response,
                         details=refusal.sentence)
        self.refusal = refusal

    def __str__(self) -> str:
        return str(self.refusal)


class BadRequest(Refused, exceptions.BadRequestException):
    """The request cannot be served as it is."""


class Unauthorized(Refused):
    """The request carries no valid credentials."""


class Forbidden(Refused, exceptions.ForbiddenException):
    """The policy, or the guard of a reserved node, forbids the request."""


class NotFound(Refused, exceptions.NotFoundException):
    """No such reservation, lease or host is visible to the caller."""


class NotAcceptable(Refused):
    """The server does not support the requested version."""


class Conflict(Refused, exceptions.ConflictException):
    """No node can be promised, or an identifier is already used."""


class ServiceUnavailable(Refused):
    """The server cannot answer now; a later request may succeed."""


class ForeignAnswer(exceptions.SDKException):
    """The answer is not one of the reservation service."""


_BY_STATUS: dict[int, type[Refused]] = {
    400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound,
    406: NotAcceptable, 409: Conflict, 503: ServiceUnavailable,
}


def translated(error: exceptions.HttpException) -> exceptions.HttpException:
    """Return the error with the code and the reasons in its answer.

    :param error: the exception that openstacksdk raises.
    :returns: the same error if the answer has no code of the service, unless
        it is a 401.
    """
    found: exceptions.HttpException = _refusal.translated(
        error, _BY_STATUS, Refused)
    return found
