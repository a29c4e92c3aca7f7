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

"""OpenStack's default roles, as the rules of all resources put them."""

from __future__ import annotations

SYSTEM_READER = 'role:reader and system_scope:all'
SYSTEM_MEMBER = 'role:member and system_scope:all'
ADMIN_OR_SERVICE = 'role:admin or role:service'
READS_ALL = f'({ADMIN_OR_SERVICE}) or ({SYSTEM_READER})'
WRITES_ALL = f'({ADMIN_OR_SERVICE}) or ({SYSTEM_MEMBER})'
OWN_READER = 'role:reader and project_id:%(project_id)s'
OWN_MEMBER = 'role:member and project_id:%(project_id)s'
#: Whoever has the role in some project, where the answer is its own.
ANY_READER = f'({READS_ALL}) or role:reader'
ANY_MEMBER = f'({WRITES_ALL}) or role:member'
