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


"""Adds the words of commands to errors, which have those of the API."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import re

from ironicclient import exc

from ironic_reservations_client import errors

_WORDS = tuple((re.compile(found), rf'\g<0> {added}') for found, added in (
    ('"GET /v1/os-hosts"', '("reservation host list")'),
    ('"GET /v1/maintenances"', '("reservation maintenance list")'),
    ('Set "reservable" to false', '(--not-reservable)'),
    ('change "min" and "max"', '(--hosts)'),
    ('change "amount"', '(--instances)'),
    ('in "give_back"', '(--give-back)'),
    ('with "give_back"', '("reservation lease set --give-back")'),
    ('you may see no such node[.]',
     '"baremetal node list --fields name resource_class traits" shows their '
     'classes and traits.'),
    ('There is no lease [0-9a-f-]{36}: it never existed, was deleted, or '
     'belongs to another project[.]',
     '"reservation lease list" lists your leases.'),
    ('There is no reservation [0-9a-f-]{36}: it never existed, .*?[.]',
     '"reservation list" lists your reservations.'),
    ("There is no reservation '[^']*': that is not a UUID[.]",
     '"reservation list --node" finds the reservation of a node.')))


def explained(text: str) -> str:
    """Return the text of a refusal, with the option or command for a key."""
    for pattern, replacement in _WORDS:
        text = pattern.sub(replacement, text)
    return text


@contextlib.contextmanager
def if_unknown(hint: str | None) -> Iterator[None]:
    """Add a hint to an error after which the outcome is not known.

    :param hint: says how to find the outcome, and how to repeat the request;
        ``None``: the request changes nothing.
    """
    try:
        with errors.reaching():
            yield
    except exc.ClientException as error:
        if hint and errors.may_have_arrived(error):
            error.args = (f'{error}\n{hint}',)
        raise
