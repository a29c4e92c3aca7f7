#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Pages of hosts that answer after their list has begun anew."""

import pathlib

import ironic_reservations
from tests.processes.browser import base

_STATIC = (pathlib.Path(ironic_reservations.__file__).parent
           / 'features/calendar/static')
_ORIGIN = 'http://calendar.example/'
#: A fleet of six hosts, two on a page; each request for hosts is answered
#: when a story wants it.
_STAGE = '''async () => {
  const {Fleet} = await import('./fleet.js');
  const asked = [];
  const answer = (status, body) => ({
    status, ok: status < 300, headers: new Headers({
      'Content-Type': 'application/json', ETag: `"${Math.random()}"`}),
    json: async () => body, text: async () => JSON.stringify(body)});
  const calendar = (hosts, more) => ({calendar: {
    origin: '2030-01-01T00:00:00Z', end: 864000, now: 0, sequence: 's',
    classes: [{resource_class: 'gold', hosts: 6, conditions: {},
               steps: [[0, 6]]}],
    hosts: hosts.map((id) => ({id, name: `host-${id}`, bookings: [],
                               maintenances: []})),
    leases: [], maintenances: [], links: more ? [{rel: 'next'}] : []}});
  window.fetch = (url) => {
    const query = new URL(url, location).searchParams;
    if (!query.get('rows')) {
      return Promise.resolve(answer(200, calendar([], false)));
    }
    return new Promise((resolve) => {
      asked.push({marker: query.get('marker') ?? '', resolve});
    });
  };
  const fleet = new Fleet(() => {});
  // NOTE: all that follows from an answer is done before the next turn.
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  window.stage = {
    fleet,
    asked: () => asked.map((each) => each.marker),
    async answer(marker, hosts, more) {
      const at = asked.findIndex((each) => each.marker === marker);
      const [{resolve}] = asked.splice(at, 1);
      resolve(hosts ? answer(200, calendar(hosts, more))
        : answer(404, {errors: [{status: 404, detail: 'gone'}]}));
      await settled();
    },
    async fail(marker) {
      const at = asked.findIndex((each) => each.marker === marker);
      const [{resolve}] = asked.splice(at, 1);
      resolve(answer(503, {errors: [{status: 503, detail: 'away'}]}));
      await settled();
    },
    shown: () => ({
      failure: fleet.failure && String(fleet.failure),
      hosts: Array.from({length: fleet.rowCount('gold')},
                        (_, row) => fleet.host('gold', row)?.id ?? null)})};
  await fleet.show(0, 864000);
  fleet.setOpen('gold', true);
  fleet.want('gold', 2, 5);
  await stage.answer('', ['1', '2'], true);
  await stage.answer('2', ['3', '4'], true);
  await stage.answer('4', ['5', '6'], false);
  // Both pages in view are asked for once more, and the first of them begins
  // with a host that is gone.
  fleet.opened.get('gold').becomeStale();
  return [stage.shown(), stage.asked()];
}'''


class LatePageTestCase(base.Browsing):
    """Host 2, by which the second page is found, is deleted."""

    def setUp(self):
        super().setUp()
        self.page = self.someone()
        self.page.route(f'{_ORIGIN}**', _serve)
        self.page.goto(f'{_ORIGIN}blank')
        self.assertEqual(
            [{'failure': None, 'hosts': ['1', '2', '3', '4', '5', '6']},
             ['2', '4']], self.page.evaluate(_STAGE))
        self.tell("answer('2', null)")
        self.assertEqual(['4', ''], self.page.evaluate('stage.asked()'))

    def tell(self, call):
        self.page.evaluate(f'stage.{call}')

    def answered_to_the_end(self):
        """The pages of the new list come, as many as are asked for."""
        pages = {'': "['1', '3'], true", '3': "['4', '5'], true",
                 '5': "['6'], false"}
        while asked := self.page.evaluate('stage.asked()'):
            for marker in asked:
                self.tell(f"answer('{marker}', {pages.pop(marker)})")
        self.assertEqual({'failure': None, 'hosts': ['1', '3', '4', '5', '6']},
                         self.page.evaluate('stage.shown()'))

    def test_answer_when_its_page_is_not_there(self):
        """It was shown as a failure of the page itself."""
        self.tell("answer('4', ['5', '6'], false)")
        self.assertIsNone(self.page.evaluate('stage.shown().failure'))
        self.answered_to_the_end()

    def test_answer_when_another_page_is_in_its_place(self):
        """It was taken for that one, and its hosts were shown."""
        self.tell("answer('', ['1', '3'], true)")
        self.tell("answer('3', ['4', '5'], true)")
        self.tell("answer('4', ['late', 'later'], false)")
        self.assertNotIn('late', self.page.evaluate('stage.shown().hosts'))
        self.tell("answer('5', ['6'], false)")
        self.assertEqual({'failure': None, 'hosts': ['1', '3', '4', '5', '6']},
                         self.page.evaluate('stage.shown()'))

    def test_failure_when_its_page_is_not_there(self):
        """Nobody asks for it any more."""
        self.tell("fail('4')")
        self.assertIsNone(self.page.evaluate('stage.shown().failure'))
        self.answered_to_the_end()

    def test_failure_of_a_class_that_is_closed(self):
        """It was shown until the page looked again."""
        self.tell("fail('')")
        self.assertIn('away', self.page.evaluate('stage.shown().failure'))
        self.assertIsNone(self.page.evaluate(
            "stage.fleet.setOpen('gold', false) ?? stage.fleet.failure"))
        # What comes only then counts no more either.
        self.tell("fail('4')")
        self.assertIsNone(self.page.evaluate('stage.fleet.failure'))

    def test_second_page_whose_host_is_gone(self):
        """The list does not begin anew once more."""
        self.tell("answer('', ['1', '3'], true)")
        self.tell("answer('4', null)")
        self.assertNotIn('', self.page.evaluate('stage.asked()'))
        self.assertEqual(['1', '3'],
                         self.page.evaluate('stage.shown().hosts')[:2])


def _serve(route):
    file = _STATIC / route.request.url.removeprefix(_ORIGIN)
    if file.is_file():
        route.fulfill(body=file.read_text(), content_type='text/javascript')
    else:
        route.fulfill(body='<!doctype html><title>Blank</title>',
                      content_type='text/html')
