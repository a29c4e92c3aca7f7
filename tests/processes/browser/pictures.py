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


"""Take the pictures of the calendar that the user's guide shows.

``python -m tests.processes.browser.pictures``; somebody has to look at them.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import datetime
import pathlib
from typing import Any
import urllib.parse
import zoneinfo

from playwright import sync_api

from tests.processes.browser import base

FOLDER = pathlib.Path(__file__).parents[3] / 'doc/source/user/images'
_ZONE = zoneinfo.ZoneInfo('Europe/Berlin')
_DAYS = 7
_HOSTS = {'bronze': 3, 'gold': 5, 'silver': 4}
_DESK = {'viewport': {'width': 1280, 'height': 720}}
_PHONE = {'viewport': {'width': 390, 'height': 780},
          'device_scale_factor': 2, 'has_touch': True, 'is_mobile': True}


def _today() -> float:
    """Return the part of a day before now that the pictures show."""
    now = datetime.datetime.now(_ZONE)
    return (now.hour * 60 + now.minute) / 1440


def _book(service: base.Service) -> None:
    """Make what there is to see."""
    service.lease(0, 30, name='training', hosts=2)
    service.lease(6, 40, name='firmware test')
    service.lease(34, 80, name='nightly', hosts=2)
    service.lease(20, 60, name='load test', hosts=4, of='silver')
    service.lease(70, 120, name='demo', hosts=2, of='silver')
    bronze = [service.ask_ironic('GET', f'nodes/bronze-{number}')['uuid']
              for number in range(3)]
    service.maintain(bronze[0], 10, 40, 'firmware', 'New firmware')
    service.ask_ironic('PUT', f'nodes/{bronze[2]}/maintenance', {})


@contextlib.contextmanager
def _page(browser: sync_api.Browser, url: str, looks: dict[str, Any],
          **state: Any) -> Iterator[sync_api.Page]:
    context = browser.new_context(
        timezone_id=_ZONE.key, locale='en-GB', reduced_motion='reduce',
        **looks)
    page = context.new_page()
    begin = base.minute(0) - datetime.timedelta(days=_today())
    end = begin + datetime.timedelta(days=_DAYS)
    state = {'from': f'{begin:%Y-%m-%dT%H:%M:%SZ}',
             'to': f'{end:%Y-%m-%dT%H:%M:%SZ}', **state}
    page.goto(f'{url}?{urllib.parse.urlencode(state, doseq=True)}')
    sync_api.expect(page.locator('.host-row .said').filter(
        has_text='your lease training').first).to_be_attached()
    sync_api.expect(page.locator('.class-row').filter(
        has_text='1 not usable')).to_be_visible()
    yield page
    context.close()


def _take(page: sync_api.Page, name: str) -> None:
    # NOTE: what has changed is drawn in the frame after.
    page.evaluate('''() => new Promise((resolve) => requestAnimationFrame(
        () => requestAnimationFrame(resolve)))''')
    page.screenshot(path=FOLDER / f'calendar-{name}.png')


def take(browser: sync_api.Browser, service: base.Service) -> None:
    """Take all of them."""
    lease = service.leases()['training']['id']
    with _page(browser, service.page, _DESK,
               open=['bronze', 'gold']) as page:
        row = page.locator('.host-row').filter(
            has=page.locator('.said', has_text='your lease training')).first
        box = row.bounding_box()
        names = page.locator('.class-row').first.bounding_box()
        assert box is not None and names is not None
        day = (_DESK['viewport']['width'] - names['width']) / _DAYS
        page.mouse.move(names['width'] + day * (_today() + 0.5), box['y'] + 12)
        sync_api.expect(page.locator('#tip')).to_contain_text('training')
        _take(page, 'light')
    with _page(browser, service.page, {**_DESK, 'color_scheme': 'dark'},
               open=['gold', 'silver'], lease=lease) as page:
        sync_api.expect(page.locator('#panel')).to_contain_text('active')
        _take(page, 'dark')
    start, end = (f'{base.minute(hours):%Y-%m-%dT%H:%M:%SZ}'
                  for hours in (8, 28))
    with _page(browser, service.page, _DESK, open='gold', book='gold',
               hosts=4, start=start, end=end) as page:
        offer = page.locator('.offer').last
        sync_api.expect(offer).to_be_visible()
        page.locator('.booking .buttons').scroll_into_view_if_needed()
        _take(page, 'refused')
    with _page(browser, service.page, _PHONE, open='gold') as page:
        _take(page, 'phone')


def main() -> None:
    """Start a service and a browser, and take them."""
    service = base.Service(_HOSTS)
    try:
        _book(service)
        with sync_api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=base.CHROMIUM, args=list(base.FLAGS))
            take(browser, service)
            browser.close()
    finally:
        service.stop()


if __name__ == '__main__':
    main()
