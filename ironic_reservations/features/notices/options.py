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
                    'be changed. It is read each time. Without a key nothing '
                    'is posted.'),
    cfg.FloatOpt('webhook_timeout', default=10, min=0.1, max=300,
                 help='Time, in seconds, within which a receiver must have '
                      'taken a notice and answered.'),
    cfg.HostAddressOpt('mail_host',
                       help='The SMTP server to which mail for the owners of '
                            'leases is handed. By default no mail is sent.'),
    cfg.PortOpt('mail_port', default=587,
                help='The port of the SMTP server.'),
    cfg.StrOpt('mail_security', default='starttls',
               choices=[('starttls', 'TLS from STARTTLS on; without it '
                                     'nothing is sent.'),
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
               help='The user that signs in to the SMTP server. By default '
                    'nobody signs in.'),
    cfg.StrOpt('mail_password_file',
               help='A file with the password of mail_username. It is read '
                    'each time.'),
    cfg.StrOpt('mail_from',
               help='The address that mail comes from. Needed for mail.'),
    cfg.StrOpt('mail_addresses_file',
               help='A YAML file with the addresses of users, by the ids of '
                    'the users. It is read each time. Users who are not in '
                    'it get no mail, unless mail_addresses_from_keystone is '
                    'set.'),
    cfg.BoolOpt('mail_addresses_from_keystone', default=False,
                help='Whether Keystone is asked for the e-mail address of a '
                     'user who is not in mail_addresses_file, with the '
                     'credentials in [ironic]. Their user must be allowed '
                     'to read users, as a reader of the system is.'),
    cfg.IntOpt('mail_interval', default=3600, min=60, max=86400,
               help='Minimum time, in seconds, between two mails to a person, '
                    'each with all notices since the last one. Urgent notices '
                    'are mailed at once.'),
    cfg.IntOpt('mail_gather_time', default=60, min=0,
               help='Time, in seconds, for which a notice that is not urgent '
                    'waits for others to be mailed with it.'),
    cfg.FloatOpt('mail_timeout', default=30, min=0.1, max=300,
                 help='Time, in seconds, within which the SMTP server must '
                      'have taken a mail.'),
    cfg.StrOpt('template_dir',
               help='A folder with templates that are used instead of those '
                    'of the same name in the package.'),
    cfg.IntOpt('before_start_time', default=3600, min=0,
               help='Time, in seconds, before the start of a lease at which '
                    'the notice before_start is sent. 0 switches this notice '
                    'off.'),
]
