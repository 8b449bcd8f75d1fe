"""Somebody at a browser: what a person does in the studio, and what is noted meanwhile."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from studio import served as started
from studio.served import browser, served

PATIENCE = 1000 * started.PATIENCE
"""Milliseconds to wait for work."""


@contextmanager
def visitor(folder: Path, *, width: int, height: int):
    """A person with a browser window of this size, in the studio on a folder."""
    with served(folder) as studio, browser() as opened:
        context = opened.new_context(viewport={"width": width, "height": height}, accept_downloads=True)
        yield Visitor(context.new_page(), studio.address)


class Visitor:
    """A person in the studio; notes every host that was asked, and whatever the browser complains about."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.home = page, address.partition("/open")[0]
        self.hosts: set[str] = set()
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(address)
        page.wait_for_url(re.compile("/(discover|declare)"))

    def _note(self, message) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def go(self, step: str) -> None:
        """Goes to a page by the header."""
        self.page.get_by_role("navigation").get_by_role("link", name=re.compile(step.title())).click()
        self.page.wait_for_url(f"**/{step}*")

    def press(self, name: str) -> None:
        """Presses the button of this name."""
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def drop(self, file: Path) -> None:
        """Drops a file."""
        self.page.set_input_files("#file", str(file))

    def sees(self, text: str) -> None:
        """Waits until a text can be seen, and work has ended."""
        expect(self.page.get_by_text(text).first).to_be_visible(timeout=PATIENCE)
        expect(self.page.locator(".job")).to_have_count(0, timeout=PATIENCE)

    def serious(self) -> list[str]:
        """Returns what axe-core finds on the page that is serious or worse."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{one['id']}: {one['help']}: {one['nodes'][0]['html']}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]

    def reaches_everything(self) -> None:
        """Holds that every button, and every way to another step, could be pressed: nothing covers it."""
        for one in self.page.locator("button:visible, nav a:visible, article a:visible").all():
            if one.is_enabled():
                one.click(trial=True)

    def wider_than_window(self) -> int:
        """Returns by how many pixels the page is wider than the window."""
        return int(
            self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        )
