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


"""A reader at a browser, before the page that a real Ironic serves."""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import tempfile
from typing import Any
import urllib.parse

from axe_playwright_python import sync_playwright as axe
from playwright import sync_api
import testtools
from testtools import content

from tests import waiting
from tests.real import forked_ironic
from tools import enrolment

#: Where the browser is; a machine without one fails the tests.
CHROMIUM = os.environ.get('IRONIC_RESERVATIONS_CHROMIUM', '/usr/bin/chromium')
FLAGS = ('--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking', '--disable-component-update',
         '--disable-sync')
PHONE = {'viewport': {'width': 390, 'height': 780}, 'has_touch': True,
         'is_mobile': True}
_HOME = '/reservation/calendar/'
_VERSIONED = {'X-OpenStack-Ironic-API-Version': 'latest'}


def minute(hours: float) -> datetime.datetime:
    """Return the full minute so many hours from now."""
    there = datetime.datetime.now(datetime.UTC) + datetime.timedelta(
        hours=hours)
    return there.replace(second=0, microsecond=0)


# NOTE: there may be other tests beside these, on few processors.
sync_api.expect.set_options(timeout=120000)


class Service:
    """A real Ironic with hosts that are open to leases.

    :param hosts: how many there are of each class.
    """

    def __init__(self, hosts: dict[str, int], **options: Any) -> None:
        self.folder = tempfile.mkdtemp()
        self.ironic = forked_ironic.ForkedIronic(self.folder, **options)
        self._session = self.ironic.session()
        self.ironic.create_schema()
        self.ironic.start()
        for name, count in hosts.items():
            for node in enrolment.enroll(self._session, self.ironic.url,
                                         count, resource_class=name,
                                         prefix=name):
                self.ask('POST', 'os-hosts', {'name': node.uuid})

    def stop(self) -> None:
        """End it, and forget everything."""
        self._session.close()
        self.ironic.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def page(self) -> str:
        """Return where the page is."""
        return f'{self.ironic.url}{_HOME}'

    def ask(self, method: str, path: str, document: Any = None) -> Any:
        """Ask the API for something that it must grant."""
        answer = self._session.request(
            method, f'{self.ironic.url}/reservation/v1/{path}', json=document,
            timeout=60, headers={
                'OpenStack-API-Version': 'baremetal-reservation latest'})
        assert answer.ok, f'{method} {path}: {answer.text}'
        return answer.json() if answer.content else None

    def ask_ironic(self, method: str, path: str, document: Any = None) -> Any:
        """Ask Ironic for something that it must grant."""
        answer = self._session.request(
            method, f'{self.ironic.url}/v1/{path}', json=document, timeout=60,
            headers=_VERSIONED)
        assert answer.ok, f'{method} {path}: {answer.text}'
        return answer.json() if answer.content else None

    def lease(self, start: float, end: float, *, name: str = 'lease',
              hosts: int = 1, of: str = 'gold',
              node: str | None = None) -> dict[str, Any]:
        """Make a lease.

        :param start: in hours from now; 0 is now.
        :param node: the uuid of the only one that it takes.
        """
        properties = (['==', '$resource_class', of] if node is None
                      else ['==', '$node_uuid', node])
        made: dict[str, Any] = self.ask('POST', 'leases', {
            'name': name, 'events': [],
            'start_date': 'now' if start <= 0 else written(minute(start)),
            'end_date': written(minute(end)),
            'reservations': [{
                'resource_type': 'physical:host', 'min': hosts, 'max': hosts,
                'hypervisor_properties': '',
                'resource_properties': json.dumps(properties)}]})['lease']
        return made

    def maintain(self, node: str, start: float, end: float, name: str,
                 reason: str) -> str:
        """Book a node for maintenance, and return the id of the window.

        :param start: in hours from now; 0 is now.
        """
        return str(self.ask('POST', 'maintenances', {
            'name': name, 'reason': reason, 'nodes': [node],
            **({'starts_at': minute(start).isoformat()} if start > 0 else {}),
            'ends_at': minute(end).isoformat()})['maintenance']['uuid'])

    def forget_maintenances(self) -> None:
        """End all maintenance windows, and wait until they are over."""
        def left() -> list[str]:
            return [each['uuid'] for each
                    in self.ask('GET', 'maintenances')['maintenances']
                    if each['state'] != 'over']
        for ident in left():
            self.ask('DELETE', f'maintenances/{ident}')
        waiting.until(lambda: not left(), left)

    def leases(self) -> dict[str, dict[str, Any]]:
        """Return the leases by their names."""
        return {each['name']: each for each in self._all_leases()}

    def _all_leases(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        document: dict[str, Any] = {'next': '?'}
        while 'next' in document:
            asked = urllib.parse.urlsplit(document['next']).query
            document = self.ask('GET', f'leases?{asked}')
            found += document['leases']
        return found

    def forget_leases(self) -> None:
        """End all leases, and wait until their hosts are back."""
        for lease in self._all_leases():
            self.ask('DELETE', f'leases/{lease["id"]}')
        waiting.until(lambda: not self.leases(), self.leases)


def written(date: datetime.datetime) -> str:
    """Write a date as the API reads it."""
    return date.strftime('%Y-%m-%d %H:%M')


def window_of(lease: dict[str, Any]) -> tuple[datetime.datetime, ...]:
    """Return when a lease starts and ends."""
    return tuple(datetime.datetime.fromisoformat(lease[key]).replace(
        tzinfo=datetime.UTC) for key in ('start_date', 'end_date'))


class Browsing(testtools.TestCase):
    """Somebody before a browser.

    :cvar refused: in lines of the console that fail no story: by default
        those that say no more than that a request was refused.
    """

    refused = 'Failed to load resource'
    _playwright: sync_api.Playwright
    _browser: sync_api.Browser

    @classmethod
    def setUpClass(cls) -> None:
        """Start a browser for all stories of the class."""
        super().setUpClass()
        if not os.path.exists(CHROMIUM):
            raise AssertionError(
                f'There is no browser at {CHROMIUM}. Install the package '
                'chromium of Debian or Ubuntu, or name another Chromium in '
                'IRONIC_RESERVATIONS_CHROMIUM.')
        cls._playwright = sync_api.sync_playwright().start()
        cls.addClassCleanup(cls._playwright.stop)
        cls._browser = cls._playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS)
        cls.addClassCleanup(cls._browser.close)

    def someone(self, **more: Any) -> sync_api.Page:
        """Return a page of somebody who has not been here before.

        Whatever a page complains of on its console fails the story.
        """
        context = self._browser.new_context(**{
            'viewport': {'width': 1280, 'height': 760},
            'timezone_id': 'Europe/Berlin', 'locale': 'en-GB',
            'reduced_motion': 'reduce', **more})
        self.addCleanup(context.close)
        page = context.new_page()
        page.set_default_timeout(120000)
        page.on('console', lambda said: self._heard(said.type, said.text))
        page.on('pageerror', lambda error: self._heard('error', str(error)))
        self.addOnException(lambda *_: self._picture(page))
        return page

    def _heard(self, kind: str, text: str) -> None:
        if kind == 'error' and self.refused not in text:
            self.addDetail('console', content.text_content(text))
            self.force_failure = True

    def _picture(self, page: sync_api.Page) -> None:
        folder = os.environ.get('IRONIC_RESERVATIONS_SCREENSHOTS')
        if folder:
            page.screenshot(path=os.path.join(folder, f'{self.id()}.png'))


class BrowserCase(Browsing):
    """A story of somebody before the calendar.

    :cvar hosts: how many there are of each class.
    """

    hosts: dict[str, int] = {'gold': 3}
    service: Service

    @classmethod
    def setUpClass(cls) -> None:
        """Start a service and a browser for all stories of the class."""
        super().setUpClass()
        cls.service = cls.serve()
        cls.addClassCleanup(cls.service.stop)

    @classmethod
    def serve(cls) -> Service:
        """Start the service."""
        return Service(cls.hosts)

    def setUp(self) -> None:
        super().setUp()
        self.service.forget_leases()
        self.page = self.someone()

    def open(self, page: sync_api.Page | None = None, **state: Any) -> None:
        """Open the page and wait until it shows the fleet."""
        page = page or self.page
        page.goto(f'{self.service.page}?'
                  f'{urllib.parse.urlencode(state, doseq=True)}')
        page.wait_for_selector('.class-row')

    def open_days(self, page: sync_api.Page | None = None,
                  **state: Any) -> None:
        """Open the page with two days around now, and the hosts of a class."""
        self.open(page, **self.window(-4, 44), **state)
        if 'open' in state:
            sync_api.expect(self.row(f'{state["open"]}-0', page)
                            ).to_be_visible()

    def colleague(self) -> sync_api.Page:
        """Return the page of somebody else, with the same address."""
        page = self.someone()
        page.goto(self.page.url)
        return page

    def script(self, names: str, module: str, body: str,
               *asked: Any) -> Any:
        """Run a script with what a module of the page exports.

        :param names: what the script has of the module.
        :param asked: what the script has as an array of that name.
        """
        return self.page.evaluate(f'''async (asked) => {{
            const {{{names}}} = await import(
              new URL('static/{module}.js', window.location));
            {body}
        }}''', asked)

    def maintain_node(self, name: str) -> None:
        """Have a node be in maintenance until the end of the story."""
        path = f'nodes/{name}/maintenance'
        self.service.ask_ironic('PUT', path, {})
        self.addCleanup(self.service.ask_ironic, 'DELETE', path)

    def row(self, name: str, page: sync_api.Page | None = None
            ) -> sync_api.Locator:
        """Return the row of a class or host."""
        return (page or self.page).locator('[role=row]').filter(
            has=(page or self.page).get_by_text(name, exact=True))

    def says(self, place: str, text: str | re.Pattern[str],
             page: sync_api.Page | None = None) -> None:
        """Wait until a place of the page has a text."""
        sync_api.expect((page or self.page).locator(place)
                        ).to_contain_text(text)

    def titled(self, title: str, page: sync_api.Page | None = None) -> None:
        """Wait until the panel has a title."""
        sync_api.expect((page or self.page).locator('#panel-title')
                        ).to_have_text(title)

    def press(self, button: str, inside: str = 'body') -> None:
        """Press a button."""
        self.page.locator(inside).get_by_role('button', name=button,
                                              exact=True).click()

    def host_of(self, lease: dict[str, Any]) -> str:
        """Return the name of the first host of a lease."""
        node = lease['reservations'][0]['nodes'][0]['uuid']
        return str(self.service.ask_ironic('GET', f'nodes/{node}')['name'])

    def x(self, hours: float, page: sync_api.Page | None = None) -> float:
        """Return where a time is on the page.

        :param hours: from now.
        """
        page = page or self.page
        plot = page.locator('#plot').bounding_box()
        left = page.locator('.class-row').first.bounding_box()
        assert plot is not None and left is not None
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(page.url).query)
        start, end = (datetime.datetime.fromisoformat(asked[key][0])
                      .timestamp() for key in ('from', 'to'))
        share = (minute(hours).timestamp() - start) / (end - start)
        begin = plot['x'] + left['width']
        return begin + share * (plot['x'] + plot['width'] - begin)

    def y(self, name: str, page: sync_api.Page | None = None) -> float:
        """Return where the middle of a row is on the page."""
        box = self.row(name, page).bounding_box()
        assert box is not None
        return box['y'] + box['height'] / 2

    def drag(self, name: str, start: float, end: float,
             page: sync_api.Page | None = None) -> None:
        """Drag over a row, from one time to another, and drop."""
        page = page or self.page
        y = self.y(name, page)
        page.mouse.move(self.x(start, page), y)
        page.mouse.down()
        page.mouse.move(self.x((start + end) / 2, page), y, steps=4)
        page.mouse.move(self.x(end, page), y, steps=4)
        page.mouse.up()

    def drag_edge(self, name: str, edge: float, to: float,
                  inwards: int = -1) -> None:
        """Take an edge of a lease on a host, and drag it to another time.

        :param inwards: the pixel of the lease beside its edge.
        """
        y = self.y(name)
        self.page.mouse.move(self.x(edge) + inwards, y)
        self.page.mouse.down()
        self.page.mouse.move(self.x(to), y, steps=6)

    def answer_to(self, method: str) -> Any:
        """Wait for the answer to a request that changes something."""
        return self.page.expect_response(
            lambda got: got.request.method == method
            and 'dry_run' not in got.url)

    def window(self, start: float, end: float) -> dict[str, str]:
        """Return the part of the URL that shows a window around now."""
        return {'from': f'{minute(start):%Y-%m-%dT%H:%M:%SZ}',
                'to': f'{minute(end):%Y-%m-%dT%H:%M:%SZ}'}

    def wait_until(self, expression: str) -> None:
        """Wait until something is true on the page.

        NOTE: wait_for_function asks in the page, whose policy may refuse it.
        """
        waiting.until(lambda: self._holds(expression), lambda: expression)

    def _holds(self, expression: str) -> bool:
        try:
            return bool(self.page.evaluate(expression))
        except sync_api.Error:
            # NOTE: a page that is just being loaded anew tells nothing.
            return False

    def assert_nothing_beside(self) -> None:
        """Check that the panel is as wide as the window, and not wider."""
        self.assertEqual([], self.page.evaluate('''() => {
            const panel = document.querySelector('#panel');
            const width = document.documentElement.clientWidth;
            return [...panel.querySelectorAll('*')].filter((each) => {
              const box = each.getBoundingClientRect();
              return box.width && (box.left < 0 || box.right > width + 1);
            }).map((each) => each.outerHTML.slice(0, 80));
        }'''))

    def check_accessible(self, page: sync_api.Page | None = None) -> None:
        """Check that axe-core finds nothing."""
        found = axe.Axe().run(page or self.page)
        self.assertEqual([], [
            (each['id'], each['help'],
             [node['html'][:200] for node in each['nodes']])
            for each in found.response['violations']])

