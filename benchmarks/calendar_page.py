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


"""The page of the calendar in Chromium: first paint, scrolling, verdicts."""

from __future__ import annotations

import datetime
import json
import time

from playwright import sync_api
import requests

from benchmarks import booked
from benchmarks import ground
from benchmarks import table
from tests.processes.browser import base

_PAINTS = 7
_FRAMES = 400
_MOVES = 60
#: When the first class is painted, in ms since the page was asked for.
_FIRST_PAINT = '''
    new MutationObserver((_, observer) => {
      if (document.querySelector('.class-row')) {
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => {
          window.painted = performance.now();
        }));
      }
    }).observe(document, {childList: true, subtree: true});
'''
#: How long each frame takes while all rows pass by, and back.
_SCROLL = '''(frames) => new Promise((resolve) => {
    const scroller = document.getElementById('scroller');
    const height = scroller.scrollHeight - scroller.clientHeight;
    const gaps = [];
    let before = null;
    let frame = 0;
    const step = (now) => {
      if (before !== null) {
        gaps.push(now - before);
      }
      before = now;
      frame += 1;
      if (frame > frames) {
        resolve(gaps);
        return;
      }
      const share = frame / frames;
      scroller.scrollTop = height * (share < 0.5 ? 2 * share : 2 - 2 * share);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  })'''
#: How long after the last move of the mouse the verdict shows.
_VERDICTS = '''
    window.verdicts = [];
    let moved = null;
    document.addEventListener('pointermove', () => {
      moved = performance.now();
    }, true);
    new MutationObserver(() => {
      const verdict = document.querySelector('.verdict');
      if (verdict && !verdict.hasAttribute('aria-busy') && moved !== null) {
        window.verdicts.push(performance.now() - moved);
        moved = null;
      }
    }).observe(document, {attributes: true, subtree: true,
                          attributeFilter: ['aria-busy']});
'''


def run(server: str, nodes: int, bookings: int) -> None:
    """Measure, and print the table."""
    now = datetime.datetime.now(datetime.UTC)
    with ground.serving(server, options={'api': {'max_limit': 1000}}) as (
            url, database), sync_api.sync_playwright() as playwright:
        booked.fill(database, nodes, bookings, 10,
                    now + datetime.timedelta(hours=4))
        _wait_until_known(url, nodes)
        browser = playwright.chromium.launch(
            executable_path=base.CHROMIUM, args=list(base.FLAGS))
        page_url = f'{url}/reservation/calendar/?range=90'
        rows = [_first_paint(browser, page_url),
                _page_tasks(browser, page_url),
                *_scrolling(browser, page_url, nodes),
                _verdicts(browser, f'{url}/reservation/calendar/', now)]
        browser.close()
    table.show(f'{bookings} bookings on {nodes} hosts, in Chromium', rows)
    for row in rows:
        print(f'the longest: {max(row.seconds) * 1000:.0f} ms, {row.what}')


def _wait_until_known(url: str, nodes: int) -> None:
    """Wait until the process has read what was written."""
    known = 0
    while known < nodes:
        time.sleep(1)
        calendar = requests.get(f'{url}/v1/calendar', timeout=120, headers={
            'OpenStack-API-Version': 'baremetal-reservation 1.7'}).json()[
                'calendar']
        known = sum(each['hosts'] for each in calendar['classes'])


def _new_page(browser: sync_api.Browser) -> sync_api.Page:
    # NOTE: without the policy, since waiting for a function evaluates text.
    return browser.new_page(viewport={'width': 1280, 'height': 760},
                            bypass_csp=True)


def _first_paint(browser: sync_api.Browser, url: str) -> table.Row:
    seconds = []
    began = time.perf_counter()
    for _ in range(_PAINTS):
        # Each time a browser that has nothing yet.
        page = _new_page(browser)
        page.add_init_script(_FIRST_PAINT)
        page.goto(url)
        page.wait_for_function('window.painted', timeout=60000)
        seconds.append(page.evaluate('window.painted') / 1000)
        page.context.close()
    return table.Row('first paint of the classes, cold', seconds,
                     time.perf_counter() - began)


def _page_tasks(browser: sync_api.Browser, url: str) -> table.Row:
    """Return the processor time of the page until the first paint."""
    seconds = []
    began = time.perf_counter()
    for _ in range(_PAINTS):
        page = _new_page(browser)
        page.add_init_script(_FIRST_PAINT)
        _trace(browser, page)
        page.goto(url)
        page.wait_for_function('window.painted', timeout=60000)
        seconds.append(sum(_traced(browser)))
        page.context.close()
    return table.Row('processor time of the page for it', seconds,
                     time.perf_counter() - began)


def _trace(browser: sync_api.Browser, page: sync_api.Page) -> None:
    browser.start_tracing(page=page, categories=['toplevel', '-*'])


def _traced(browser: sync_api.Browser) -> list[float]:
    """Return the processor time of each task of the page, in seconds.

    NOTE: other work on the machine does not count.
    """
    events = json.loads(browser.stop_tracing())['traceEvents']
    pages = {(each['pid'], each['tid']) for each in events
             if each['name'] == 'thread_name'
             and each['args']['name'] == 'CrRendererMain'}
    return [each['tdur'] / 1e6 for each in events
            if each['ph'] == 'X' and 'tdur' in each
            and each['name'] == 'ThreadControllerImpl::RunTask'
            and (each['pid'], each['tid']) in pages]


def _scrolling(browser: sync_api.Browser, url: str,
               nodes: int) -> list[table.Row]:
    page = _new_page(browser)
    page.goto(f'{url}&open={ground.RESOURCE_CLASS}')
    page.wait_for_function(
        '(rows) => document.getElementById("spacer").ariaRowCount >= rows',
        arg=nodes, timeout=60000)
    # The pages of hosts arrive one after the other.
    page.wait_for_load_state('networkidle')
    began = time.perf_counter()
    gaps = page.evaluate(_SCROLL, _FRAMES)
    wall = time.perf_counter() - began
    _trace(browser, page)
    page.evaluate(_SCROLL, _FRAMES)
    tasks = _traced(browser)
    page.close()
    return [
        table.Row(f'a frame while {nodes} open rows pass by',
                  [each / 1000 for each in gaps], wall),
        table.Row('processor time of a task of the page then', tasks,
                  time.perf_counter() - began - wall)]


def _verdicts(browser: sync_api.Browser, url: str,
              now: datetime.datetime) -> table.Row:
    page = _new_page(browser)
    start, end = (now + datetime.timedelta(days=each) for each in (0, 14))
    page.goto(f'{url}?from={start:%Y-%m-%dT%H:%M:%SZ}'
              f'&to={end:%Y-%m-%dT%H:%M:%SZ}')
    page.wait_for_selector('.class-row')
    row = page.locator('.class-row').first.bounding_box()
    assert row is not None
    y = row['y'] + 30
    page.mouse.move(400, y)
    page.mouse.down()
    page.mouse.move(460, y, steps=5)
    page.mouse.up()
    page.wait_for_selector('.verdict.yes, .verdict.no')
    page.evaluate(_VERDICTS)
    # The end of the window is taken where it stands now, and moved about.
    at = page.evaluate('''() => {
        const read = (id) => new Date(document.getElementById(id).value);
        const asked = new URLSearchParams(location.search);
        const plot = document.getElementById('plot').clientWidth;
        const from = new Date(asked.get('from')), to = new Date(
            asked.get('to'));
        return 248 + (read('book-end') - from) / (to - from) * (plot - 248);
    }''')
    page.mouse.move(at, y)
    page.mouse.down()
    began = time.perf_counter()
    for move in range(_MOVES):
        seen = page.evaluate('window.verdicts.length')
        page.mouse.move(470 + 290 * ((move * 7) % 11) / 11, y)
        page.wait_for_function('(seen) => window.verdicts.length > seen',
                               arg=seen, timeout=30000)
    seconds = [each / 1000 for each in page.evaluate('window.verdicts')]
    page.close()
    return table.Row('from a move of the mouse to the verdict', seconds,
                     time.perf_counter() - began)
