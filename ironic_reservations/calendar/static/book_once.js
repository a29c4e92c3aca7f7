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
 * A booking that is made once: where the answer was lost, the same request is
 * sent again under the same key, and gets the lease that it made.
 */

import {send} from './requests.js';
import {read} from './times.js';

/** Refusals that do not tell whether the request was granted before. */
const TELL_NOTHING = [401, 403, 408, 429];

let lost = null;

/**
 * Make a lease, and return it.
 *
 * @param {object} asked the lease
 * @param {number} now by the clock of the service
 */
export async function bookOnce(asked, now) {
  if (lost === null || !alike(lost.body, asked, now)) {
    lost = {body: asked, key: newKey()};
  }
  const {body, key} = lost;
  try {
    const answer = await send('POST', 'leases', body, {
      'Idempotency-Key': key});
    lost = null;
    return answer.document.lease;
  } catch (failure) {
    if (!failure.status || failure.status >= 500
        || TELL_NOTHING.includes(failure.status)) {
      throw failure;
    }
    lost = null;
    if (body.start_date !== asked.start_date) {
      // The first request was not granted, and now begins in the past.
      return bookOnce(asked, now);
    }
    throw failure;
  }
}

/** Return whether a lease is what was asked for before; time goes on. */
function alike(before, asked, now) {
  const start = asked.start_date === 'now' && before.start_date !== 'now'
    && read(before.start_date) <= now ? before.start_date : asked.start_date;
  return JSON.stringify(before)
    === JSON.stringify({...asked, start_date: start});
}

function newKey() {
  // NOTE: crypto.randomUUID() is there with TLS only.
  return [...crypto.getRandomValues(new Uint8Array(16))].map(
    (byte) => byte.toString(16).padStart(2, '0')).join('');
}
