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

"""The refusal of a lease in the form for people."""

from __future__ import annotations

import json

import testtools

from ironic_reservations import errors
from ironic_reservations import faults
from ironic_reservations_client import refusal

REASON = {
    'code': 'shortage', 'detail': 'Not enough hosts: 1 too few.',
    'reservation': 0, 'hosts_short': 1, 'proved': True,
    'at': '2030-01-31T12:00:00+00:00',
    'blockers': [
        {'start_date': '2030-01-31T11:00:00+00:00',
         'end_date': '2030-01-31T13:00:00+00:00', 'own': True,
         'reservation_id': 'mine', 'hosts': 2},
        {'start_date': '2030-01-31T11:30:00+00:00',
         'end_date': '2030-01-31T12:30:00+00:00', 'own': False,
         'hosts': 1}]}
LATER = {'kind': 'later', 'detail': 'The nearest later window is then.',
         'lease': {'name': 'x'}}
FEWER = {'kind': 'fewer', 'detail': 'Fewer hosts, 1, would be accepted.',
         'lease': {'name': 'x'}}


def read(**details):
    """Return a refusal that the service has written."""
    told = [REASON['detail'], *(each['detail']
                                for each in details.get('offers', ())[:1])]
    return refusal.read(faults.render_as_blazar(errors.LeaseRefused(
        ' '.join(told), **details), 'req-1')[1])


class LeaseRefusalTest(testtools.TestCase):
    """The tests go from the body of the service to the printed lines."""

    def test_blockers_and_offers(self):
        """There is one a line, without repetitions."""
        self.assertEqual(
            'Not enough hosts: 1 too few. [lease.refused] (HTTP 409) '
            '(Request-ID: req-1)\n'
            '  reservation 0: 1 host missing at 2030-01-31 12:00:00 UTC '
            '[shortage]\n'
            '    in the way: 2 hosts from 2030-01-31 11:00:00 UTC until '
            '2030-01-31 13:00:00 UTC, of your lease with the reservation '
            'mine\n'
            '    in the way: 1 host from 2030-01-31 11:30:00 UTC until '
            '2030-01-31 12:30:00 UTC, of another project\n'
            '  offer: The nearest later window is then. [later]\n'
            '  offer: Fewer hosts, 1, would be accepted. [fewer]',
            str(read(reasons=[REASON], offers=[LATER, FEWER])))

    def test_own_lease_is_named(self):
        """The name and the id are shown, if the service has sent them."""
        blocker, = (each for each in REASON['blockers'] if each['own'])
        told = str(read(reasons=[{**REASON, 'blockers': [
            {**blocker, 'lease_id': 'ours', 'lease_name': 'training'}]}],
            offers=[]))
        self.assertIn('of your lease training (ours)', told)

    def test_lease_of_another_user_is_named(self):
        """Without Keystone, the user is shown, if it is known."""
        blocker, = (each for each in REASON['blockers'] if not each['own'])
        for user, said in (('pia', 'pia'), (None, 'an unknown user')):
            told = str(read(reasons=[{**REASON, 'blockers': [
                {**blocker, 'lease_id': 'hers', 'lease_name': 'training',
                 'user_id': user}]}], offers=[]))
            self.assertIn(f'of the lease training of {said} (hers)', told)

    def test_instances_are_told_what_each_host_lacks(self):
        """The class and the time are shown; a wholly leased host is taken."""
        window = {'start_date': '2030-01-31T12:00:00+00:00',
                  'end_date': '2030-01-31T13:00:00+00:00'}
        told = read(reasons=[{**REASON, 'blockers': [], 'hosts': [
            {'host': '3', 'room': 1, 'short': [
                {'resource_class': 'VCPU', 'amount': 2, **window}]},
            {'host': '4', 'room': 0, 'short': [
                {'resource_class': None, 'amount': 0, **window}]}]}],
            offers=[])
        self.assertIn(
            '\n  reservation 0: no room for 1 instance at 2030-01-31 '
            '12:00:00 UTC [shortage]\n'
            '    host 3 has room for 1 instance: 2 VCPU missing from '
            '2030-01-31 12:00:00 UTC until 2030-01-31 13:00:00 UTC\n'
            '    host 4 has room for 0 instances: taken from '
            '2030-01-31 12:00:00 UTC until 2030-01-31 13:00:00 UTC',
            str(told))

    def test_the_search_limit_is_told(self):
        """A plan may exist nevertheless."""
        told = read(reasons=[{**REASON, 'code': 'search_limit', 'at': None,
                              'proved': False, 'blockers': []}], offers=[])
        self.assertIn('\n  reservation 0: [search_limit] (not proved',
                      str(told))

    def test_offers_can_be_posted(self):
        """Offers are kept unchanged."""
        self.assertEqual((LATER,), read(reasons=[REASON],
                                        offers=[LATER]).offers)

    def test_other_errors_about_leases(self):
        """They have a code, and no lines."""
        _status, body = faults.render_as_blazar(
            errors.LeaseNotFound('There is no lease x: gone.'), None)
        told = refusal.read(body)
        self.assertEqual(((), ()), (told.reasons, told.offers))
        self.assertEqual('There is no lease x: gone. [lease.not_found] '
                         '(HTTP 404)', str(told))

    def test_details_of_another_kind(self):
        """A later server may have other details; nothing fails."""
        _status, body = faults.render_as_blazar(errors.LeaseRefused('No.'))
        for details in ({'reasons': ['x'], 'offers': [1]},
                        {'reasons': [{'blockers': [{}]}],
                         'offers': [{}]}, None):
            document = {**json.loads(body), 'details': details}
            self.assertIn('No. [lease.refused]',
                          str(refusal.read(json.dumps(document))))
