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
 * Signing in: with a password, or an application credential of Keystone.
 */

import {field} from './booking_form.js';
import {byId, element, fill} from './elements.js';
import {signIn} from './requests.js';

const PASSWORD = [
  ['username', 'User', 'text', 'username'],
  ['user_domain', 'Domain of the user', 'text', 'off', 'Default'],
  ['password', 'Password', 'password', 'current-password'],
  ['project', 'Project', 'text', 'off'],
  ['project_domain', 'Domain of the project', 'text', 'off', 'Default']];
const CREDENTIAL = [
  ['application_credential_id', 'ID of the credential', 'text', 'off'],
  ['application_credential_secret', 'Secret', 'password', 'off']];
const BASIC = [
  ['username', 'User', 'text', 'username'],
  ['password', 'Password', 'password', 'current-password']];

/**
 * Show the form until somebody has signed in.
 *
 * @param {object} session as the service describes it
 * @param {string|null} reason a sentence above the form
 * @returns {Promise<object>} the session
 */
export function askToSignIn(session, reason = null) {
  return new Promise((resolve) => {
    const place = byId('sign-in');
    const behind = document.querySelectorAll('.bar, main, .legend');
    const setBehind = (inert) => behind.forEach((each) => {
      each.inert = inert;
    });
    setBehind(true);
    document.body.classList.add('signed-out');
    place.hidden = false;
    const done = (signedIn) => {
      place.hidden = true;
      setBehind(false);
      place.replaceChildren();
      document.body.classList.remove('signed-out');
      resolve(signedIn);
    };
    const ways = session.strategy === 'keystone'
      ? [['Password', PASSWORD], ['Application credential', CREDENTIAL]]
      : [['Password', BASIC]];
    show(place, ways, 0, reason, done);
  });
}

function show(place, ways, way, reason, done) {
  const [, fields] = ways[way];
  const failed = element('p.failed', {role: 'alert'});
  const submit = element('button.primary', {type: 'submit'}, 'Sign in');
  const inputs = fields.map(([name, , type, autocomplete, value]) =>
    element('input', {id: `sign-in-${name}`, name, type, required: true,
                      autocomplete, value, autocapitalize: 'none'}));
  fill(
    place,
    element('h2', {id: 'sign-in-title'}, 'Sign in'),
    reason && element('p.note', {}, reason),
    ways.length > 1 && element(
      'div.segments', {role: 'group', 'aria-label': 'How to sign in'},
      ...ways.map(([title], index) => element(
        'button', {type: 'button', 'aria-pressed': String(index === way),
                   onclick: () => show(place, ways, index, reason, done)},
        title))),
    element(
      'form', {
        onsubmit: async (event) => {
          event.preventDefault();
          submit.disabled = true;
          failed.textContent = '';
          try {
            done(await signIn(Object.fromEntries(
              inputs.map((input) => [input.name, input.value]))));
          } catch (failure) {
            failed.textContent = failure.message;
            submit.disabled = false;
          }
        }},
      ...fields.map(([name, title], index) => field(
        `sign-in-${name}`, title, inputs[index])),
      failed, submit));
  inputs[0].focus();
}
