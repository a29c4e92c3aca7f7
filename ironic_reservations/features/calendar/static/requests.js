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
 * Requests to the service: the session, and the API behind it.
 */

const VERSION = 'baremetal-reservation 1.28';
const PATIENCE_MS = 30000;
const LEASES_VERSION = `reservation 1.0, ${VERSION}`;

let csrf = null;
let onSignedOut = () => {};

/** A refusal: its sentence, its code, and its details as data. */
export class Refusal extends Error {
  constructor(status, document) {
    const first = document?.errors?.[0] ?? {};
    // NOTE: in Ironic's shape, error_message is JSON in itself.
    super(first.detail ?? document?.error_message ?? first.title
          ?? `The service answered with ${status}.`);
    this.status = status;
    this.code = document?.code ?? first.code ?? null;
    this.details = document?.details ?? first.details ?? {};
  }
}

/** The service does not answer: it restarts, or the network is away. */
export class Unreachable extends Error {
  constructor() {
    super('The service does not answer. This page tries again by itself.');
  }
}

/** Call a function when the session has ended, or is another one. */
export function whenSignedOut(callback) {
  onSignedOut = callback;
}

/** Return who is signed in, and how one signs in. */
export async function readSession() {
  const session = await request('session');
  csrf = session.document.csrf;
  return session.document;
}

/** Sign in. */
export async function signIn(credentials) {
  const session = await request('session', {
    method: 'POST', body: credentials, ofSession: true});
  csrf = session.document.csrf;
  return session.document;
}

/** Sign out whoever is signed in, be it in another tab. */
export async function signOut() {
  await readSession();
  await request('session', {method: 'DELETE'});
  csrf = null;
}

/** Return a document of the API. */
export async function get(path, query = null, etag = null) {
  return request(`api/v1/${path}${query ? `?${query}` : ''}`, {
    headers: etag ? {'If-None-Match': etag} : {}});
}

/** Write to the API. */
export async function send(method, path, body = null, headers = {}) {
  return request(`api/v1/${path}`, {method, body, headers});
}

async function request(url, {method = 'GET', body = null, headers = {},
                             ofSession = false} = {}) {
  const sent = {
    Accept: 'application/json',
    'OpenStack-API-Version':
      /^api\/v1\/leases/.test(url) ? LEASES_VERSION : VERSION,
    ...headers};
  if (body !== null) {
    sent['Content-Type'] = 'application/json';
  }
  if (method !== 'GET' && csrf !== null) {
    sent['X-CSRF-Token'] = csrf;
  }
  let answer;
  let document;
  try {
    answer = await fetch(url, {
      method, headers: sent, cache: 'no-store', credentials: 'same-origin',
      body: body === null ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS)});
    document = await json(answer);
  } catch {
    throw new Unreachable();
  }
  if (answer.status === 304) {
    return {status: 304, document: null, etag: answer.headers.get('ETag')};
  }
  // NOTE: what is no JSON was written by somebody between.
  const others = answer.ok && answer.status !== 204 && document === null;
  if (others || [502, 504].includes(answer.status)) {
    throw new Unreachable();
  }
  if (!answer.ok) {
    const refusal = new Refusal(answer.status, document);
    if (!ofSession && (refusal.status === 401
                       || refusal.code === 'identity.csrf_token_invalid')) {
      onSignedOut();
    }
    throw refusal;
  }
  return {
    status: answer.status, document, etag: answer.headers.get('ETag')};
}

async function json(answer) {
  const text = await answer.text();
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
