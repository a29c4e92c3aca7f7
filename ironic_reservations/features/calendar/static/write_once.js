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
 * Requests that take effect once: where the answer was lost, the same request
 * is sent again under the same key, and gets the answer that was lost.
 */

import {send} from './requests.js';
import {read} from './times.js';

/** Refusals that do not tell whether the request was granted before. */
const TELL_NOTHING = [401, 403, 408, 429];

let booking = null;
let change = null;

/**
 * Make a lease, and return it.
 *
 * @param {object} asked the lease
 * @param {number} now by the clock of the service
 */
export async function bookOnce(asked, now) {
  if (booking === null || !alike(booking.body, asked, now)) {
    booking = {body: asked, key: newKey()};
  }
  const {body, key} = booking;
  try {
    const answer = await send('POST', 'leases', body, {
      'Idempotency-Key': key});
    booking = null;
    return answer.document.lease;
  } catch (failure) {
    if (!tellsOutcome(failure)) {
      throw failure;
    }
    booking = null;
    if (body.start_date !== asked.start_date) {
      // The first request was not granted, and now begins in the past.
      return bookOnce(asked, now);
    }
    throw failure;
  }
}

/**
 * Change a lease, and return it.
 *
 * A copy of the request that arrives late does not undo a later change.
 *
 * @param {string} id of the lease
 * @param {object} asked what to change
 */
export async function changeOnce(id, asked) {
  const what = JSON.stringify([id, asked]);
  if (change?.what !== what) {
    change = {what, key: newKey()};
  }
  const sent = change;
  try {
    const answer = await send('PUT', `leases/${id}`, asked, {
      'Idempotency-Key': sent.key});
    forget(sent);
    return answer.document.lease;
  } catch (failure) {
    if (tellsOutcome(failure)) {
      forget(sent);
    }
    throw failure;
  }
}

/** Send the next change under a key of its own. */
function forget(sent) {
  if (change === sent) {
    change = null;
  }
}

/** Return whether a failure means that the request was not granted. */
function tellsOutcome(failure) {
  return Boolean(failure.status) && failure.status < 500
    && !TELL_NOTHING.includes(failure.status);
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
