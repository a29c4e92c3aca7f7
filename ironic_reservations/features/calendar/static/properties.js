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
 * What a lease asks of its hosts, in the texts that the API reads.
 */

import {field} from './booking_form.js';
import {element, fill} from './elements.js';
import {get} from './requests.js';

const TYPED = /^([^=!<>\s]+)\s*(==|!=|>=|<=|=|>|<)\s*(.+)$/s;
/** Properties that each host has. */
const OF_ALL = ['vcpus', 'memory_mb', 'local_gb', 'traits'];
export const UNREADABLE = 'The condition cannot be read: type it like '
  + 'vcpus>=32, rack=r1, or as a list in JSON, or leave it empty.';

/** Return the part of a form for conditions on hosts, and its input. */
export function conditionField(id, typed) {
  const note = element('p.note', {id: `${id}-note`});
  const input = element('input', {
    id, type: 'text', autocomplete: 'off', spellcheck: 'false', value: typed,
    placeholder: 'vcpus>=32, rack=r1', 'aria-describedby': note.id});
  const part = element(
    'details', {open: Boolean(typed),
                ontoggle: (event) => event.target.open && nameProperties(note)},
    element('summary', {}, 'Properties of the hosts'),
    field(id, 'Conditions', input), note);
  return {input, part};
}

/** Say which properties there are. */
async function nameProperties(note) {
  const say = (names) => fill(
    note, 'Separated by commas, with =, !=, >=, <=, > or <: ',
    names.join(', '), '. A list in the language of the API is read as well: '
    + '["in", "CUSTOM_GPU", "$traits"].');
  say(OF_ALL);
  try {
    const {document} = await get('os-hosts/properties');
    say([...OF_ALL,
         ...document.resource_properties.map((each) => each.property)]);
  } catch {
    // NOTE: the service says in its refusal what a property is not.
  }
}

/**
 * Return the text that asks for a class, a host or the hosts of a rack, and
 * what is typed in.
 *
 * @param {[string, string]} rack the property that names racks, and a rack
 */
export function textFor({resourceClass, node, rack, typed}) {
  const conditions = [];
  if (resourceClass) {
    conditions.push(['==', '$resource_class', resourceClass]);
  }
  if (node) {
    conditions.push(['==', '$node_uuid', node]);
  }
  if (rack) {
    const [property, name] = rack;
    conditions.push(['==', `$${property}`, name]);
  }
  conditions.push(...typedConditions(typed));
  if (conditions.length > 1) {
    return JSON.stringify(['and', ...conditions]);
  }
  return conditions.length ? JSON.stringify(conditions[0]) : '';
}

/** Return whether what is typed in can be read; the service reads the rest. */
export function readable(typed) {
  try {
    return typedConditions(typed).every(Array.isArray);
  } catch {
    return false;
  }
}

/**
 * Return the conditions that are typed in, as "vcpus>=32, rack=r1" or as a
 * list in JSON.
 */
function typedConditions(typed) {
  const text = typed?.trim() ?? '';
  if (text.startsWith('[')) {
    return [JSON.parse(text)];
  }
  return text.split(',').filter((each) => each.trim()).map((each) => {
    const [, name, operator, value] = each.trim().match(TYPED);
    return [operator === '=' ? '==' : operator, `$${name}`, value];
  });
}

/** Return the class that a lease asks for, or null. */
export function classOf(lease) {
  for (const reservation of lease.reservations ?? []) {
    for (const key of ['resource_properties', 'hypervisor_properties']) {
      const found = named(parsed(reservation[key]));
      if (found) {
        return found;
      }
    }
  }
  return null;
}

/** Return whether a text asks for hosts of a class, and for nothing else. */
export function asksForClassAlone(text) {
  const condition = parsed(text);
  return Array.isArray(condition) && condition.length === 3
    && condition[0] === '==' && named(condition) !== null;
}

function parsed(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

function named(condition) {
  if (!Array.isArray(condition)) {
    return null;
  }
  const [operator, ...sides] = condition;
  if (operator === 'and') {
    return sides.map(named).find(Boolean) ?? null;
  }
  if (operator === '==' && sides.includes('$resource_class')) {
    return sides.find((side) => side !== '$resource_class') ?? null;
  }
  return null;
}
