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
 * A question before something that cannot be taken back.
 */

import {element} from './elements.js';

/** Return whether the reader says yes. */
export function ask(sentence, yes, no = 'Keep it') {
  return new Promise((resolve) => {
    const dialog = element(
      'dialog.question', {'aria-labelledby': 'question'},
      element('p', {id: 'question'}, sentence),
      element(
        'div.buttons', {},
        element('button', {type: 'button',
                           onclick: () => dialog.close('no')}, no),
        element('button.danger', {type: 'button',
                                  onclick: () => dialog.close('yes')}, yes)));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
