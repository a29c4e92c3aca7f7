/*
 * Licensed under the Apache License, Version 2.0 (the "License"); you may
 * not use this file except in compliance with the License. You may obtain
 * a copy of the License at
 *
 *      http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
 * WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
 * License for the specific language governing permissions and limitations
 * under the License.
 */
/**
 * Who is signed in, and the way out.
 */

import {byId, element, fill} from './elements.js';
import {signOut} from './requests.js';

/** Show who is signed in. */
export function showUser(session) {
  const {user, project, strategy} = session;
  const name = user?.name ?? user?.id ?? null;
  const where = project?.name ?? project?.id ?? null;
  fill(
    byId('user'),
    name && element('span.user-name', {},
                    where ? `${name} · ${where}` : name),
    strategy !== 'noauth' && session.signed_in && element(
      'button', {type: 'button', onclick: async () => {
        try {
          await signOut();
        } finally {
          window.location.reload();
        }
      }}, 'Sign out'));
}
