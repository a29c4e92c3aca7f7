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
 * Verdicts: whether a request would be granted, asked of the service while
 * the reader still moves an edge.  At most one question is in flight; of those
 * that come meanwhile, the last one is asked next.
 */

import {Refusal, send} from './requests.js';

const PAUSE_MS = 40;

/** Verdicts on one request that changes again and again. */
export class DryRun {
  /** @param {function} tell called with each verdict, or null while asking */
  constructor(tell) {
    this.tell = tell;
    this.next = null;
    this.inFlight = false;
    this.timer = null;
    this.asked = 0;
  }

  /** Ask soon: {method, path, body}. */
  ask(request) {
    this.next = request;
    this.asked += 1;
    this.tell(null);
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.proceed(), PAUSE_MS);
  }

  /** Forget what was asked; its verdict no longer counts. */
  cancel() {
    window.clearTimeout(this.timer);
    this.next = null;
    this.asked += 1;
  }

  async proceed() {
    if (this.inFlight || this.next === null) {
      return;
    }
    const {method, path, body} = this.next;
    const turn = this.asked;
    this.next = null;
    this.inFlight = true;
    const verdict = await judge(method, path, body);
    this.inFlight = false;
    if (turn === this.asked) {
      this.tell(verdict);
    } else {
      this.proceed();
    }
  }
}

async function judge(method, path, body) {
  try {
    const answer = await send(method, `${path}?dry_run=true`, body);
    const {lease, moves} = answer.document;
    return {granted: true, lease, moves};
  } catch (failure) {
    return refused(failure);
  }
}

/** Return a failure as a verdict. */
export function refused(failure) {
  if (!(failure instanceof Refusal)) {
    return {granted: false, sentence: failure.message, reasons: [],
            offers: [], unanswered: true};
  }
  return {
    granted: false, sentence: failure.message, code: failure.code,
    status: failure.status,
    reasons: failure.details.reasons ?? [],
    offers: failure.details.offers ?? []};
}
