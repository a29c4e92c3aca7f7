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
 * What others do, without a reload: a look every few seconds while somebody
 * looks at the page, and none while nobody does.
 */

const EVERY_MS = 4000;
const FAILED_MS = 2000;

/**
 * Look again and again.
 *
 * @param {function} look a look; returns whether the service has answered
 */
export function keepLooking(look) {
  let timer = null;
  const next = async () => {
    window.clearTimeout(timer);
    timer = null;
    if (document.hidden) {
      return;
    }
    let answered = false;
    try {
      answered = await look();
    } catch (failure) {
      window.reportError(failure);
    }
    window.clearTimeout(timer);
    timer = window.setTimeout(next, answered ? EVERY_MS : FAILED_MS);
  };
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) {
      next();
    }
  });
  timer = window.setTimeout(next, EVERY_MS);
}
