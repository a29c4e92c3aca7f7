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
  if (typed?.trim()) {
    conditions.push(JSON.parse(typed));
  }
  if (conditions.length > 1) {
    return JSON.stringify(['and', ...conditions]);
  }
  return conditions.length ? JSON.stringify(conditions[0]) : '';
}

/** Return whether what is typed in can be read; the service reads the rest. */
export function readable(typed) {
  try {
    return !typed?.trim() || Array.isArray(JSON.parse(typed));
  } catch {
    return false;
  }
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
