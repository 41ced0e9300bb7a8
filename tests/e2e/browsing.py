"""What tests do with a real browser."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.accounts.people import PASSWORD

# The browser's driver keeps an event loop in this thread, where Django would refuse its ORM.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
PATIENCE_MS = 60_000
NARROW = {"width": 320, "height": 640}

Visit = Callable[..., Page]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window, until the block ends."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def visiting(browser: Browser, root: str) -> Iterator[Visit]:
    """Opens pages below ``root``, each in a fresh profile; options are Playwright's of a context.

    Raises:
        AssertionError: at the end, if a page complained on the console.
    """
    complaints: list[str] = []
    contexts: list[BrowserContext] = []

    def complain(message: ConsoleMessage) -> None:
        # Django's administration names no icon, so that the browser looks for one.
        if message.type in ("error", "warning") and "favicon" not in message.location["url"]:
            complaints.append(f"{message.text} ({message.location['url']})")

    def visit(path: str, **options: Any) -> Page:
        context = browser.new_context(base_url=root, **({"locale": "en-GB"} | options))
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.on("console", complain)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


def sign_in(page: Page, email: str) -> None:
    """Fill in the English form."""
    page.get_by_label("Email").fill(email)
    page.get_by_label(re.compile(r"^Password")).fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign In", exact=True).click()
    page.wait_for_url(lambda url: "/login/" not in url)


def confirm(page: Page) -> None:
    """Answer the question for the password before something delicate."""
    page.get_by_label(re.compile(r"^Password")).fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.wait_for_url(lambda url: "/reauthenticate/" not in url)


def press(page: Page, name: str) -> None:
    """Press a button of the page itself, not of its head."""
    page.locator("main").get_by_role("button", name=name, exact=True).click()


def look(page: Page, path: str = "", without: Sequence[str] = ()) -> None:
    """Let axe judge a page, ``without`` what these selectors name.

    The page needs a context with ``bypass_csp``, since axe is a script that the policy keeps out.
    """
    if path:
        page.goto(path)
    page.wait_for_load_state()
    found = Axe().run(page, {"exclude": list(without)} if without else None)
    assert found.violations_count == 0, f"{page.url}: {found.generate_report()}"


def demand_no_sideways(page: Page, path: str = "") -> None:
    """Nothing of the page is wider than its window."""
    if path:
        page.goto(path)
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0, f"{page.url} scrolls sideways"
