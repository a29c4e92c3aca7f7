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

"""Options of [notices]."""

from __future__ import annotations

from oslo_config import cfg

from ironic_reservations.conf import times

GROUP = 'notices'

OPTS = [
    cfg.ListOpt('webhook_urls', default=[],
                help='URLs to which each notice about a lease is posted, '
                     'signed with the key in webhook_secret_file. By default '
                     'there are none.'),
    cfg.ListOpt('webhook_allowed_hosts', default=[],
                help='The only hosts to which notices are posted, by their '
                     'exact names, as in webhook_urls. Redirects are not '
                     'followed.'),
    cfg.StrOpt('webhook_secret_file',
               help='A file with the key that notices are signed with: at '
                    'least 24 bytes in base64, with or without the prefix '
                    '``whsec_``. If it has several lines, each is a key, and '
                    'notices are signed with all of them, so that keys can '
                    'be changed. The file is read for each notice. Without a '
                    'key nothing is posted.'),
    cfg.FloatOpt('webhook_timeout', default=10, min=0.1, max=300,
                 help='Time, in seconds, within which a receiver must have '
                      'answered a notice.'),
    cfg.HostAddressOpt('mail_host',
                       help='The SMTP server that sends mail to the owners '
                            'of leases. By default no mail is sent.'),
    cfg.PortOpt('mail_port', default=587,
                help='The port of the SMTP server.'),
    cfg.StrOpt('mail_security', default='starttls',
               choices=[('starttls', 'TLS after STARTTLS; if the server '
                                     'does not offer it, nothing is sent.'),
                        ('tls', 'TLS from the beginning, usually on port '
                                '465.'),
                        ('none', 'No TLS: for a server on the same host.')],
               help='How the connection to the SMTP server is protected. '
                    'With TLS, the certificate has to be valid for '
                    'mail_host.'),
    cfg.StrOpt('mail_ca_file',
               help='A file with the certificates of the authorities that '
                    "are trusted for the SMTP server. By default the "
                    "system's."),
    cfg.StrOpt('mail_username',
               help='The user name for the SMTP server. By default there is '
                    'no authentication.'),
    cfg.StrOpt('mail_password_file',
               help='A file with the password of mail_username. It is read '
                    'for each mail.'),
    cfg.StrOpt('mail_from',
               help='The address of the sender. Needed for mail.'),
    cfg.StrOpt('mail_addresses_file',
               help='A YAML file with the addresses of users, by the ids of '
                    'the users. It is read for each mail. Users who are not '
                    'in it get no mail, unless mail_addresses_from_keystone '
                    'is set.'),
    cfg.BoolOpt('mail_addresses_from_keystone', default=False,
                help='Whether the e-mail address of a user who is not in '
                     'mail_addresses_file is read from Keystone, with the '
                     'credentials in [ironic]. The user of [ironic] needs '
                     'permission to read users, such as the role reader on '
                     'the system.'),
    cfg.IntOpt('mail_interval', default=3600, min=60, max=86400,
               help='Minimum time, in seconds, between two mails to a user, '
                    'each with all notices since the last one. Urgent notices '
                    'are mailed at once.'),
    cfg.IntOpt('mail_gather_time', default=60, min=0, max=times.CENTURY,
               help='Time, in seconds, for which a notice that is not urgent '
                    'waits for others to be mailed with it.'),
    cfg.FloatOpt('mail_timeout', default=30, min=0.1, max=300,
                 help='Time, in seconds, within which the SMTP server must '
                      'have accepted a mail.'),
    cfg.StrOpt('template_dir',
               help='A folder with templates that replace the templates of '
                    'the same name in the package.'),
    cfg.IntOpt('before_start_time', default=3600, min=0, max=times.CENTURY,
               help='Time, in seconds, before the start of a lease at which '
                    'the notice before_start is sent; at most retention. 0 '
                    'switches this notice off.'),
]
