"""A real browser, shared by all tests that view a page as a user does."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests import needs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PATIENCE_MS = 20_000

LOOKS = (("light", 1280), ("dark", 320))
"""Light and dark differ in colours alone, and a phone from a screen in places.

So each is tested once.
"""

NewContext = Callable[..., "BrowserContext"]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Browser"]:
    """Return a browser that is started once for all tests of a run, in any folder."""
    api: Any = needs.package("playwright.sync_api", "playwright")
    if (path := found()) is None:
        needs.skip("a browser", "apt install chromium")
    with api.sync_playwright() as playwright:
        # It caches fonts in HOME.
        own = {**os.environ, "HOME": str(tmp_path_factory.mktemp("browser"))}
        started = playwright.chromium.launch(executable_path=path, args=[*QUIET], env=own)
        yield started
        started.close()


def found() -> str | None:
    """Return the path of a browser of this machine, or None."""
    named = os.environ.get("SPRINTLOG_TEST_BROWSER")
    return named or next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture
def new_context(browser: "Browser") -> Iterator[NewContext]:
    """Return a function that opens an isolated browser context.

    It does not wait for animations, because a page that scrolls smoothly is slow to test.
    """
    opened: list[BrowserContext] = []

    def open_(**options: Any) -> "BrowserContext":
        context = browser.new_context(reduced_motion="reduce", **options)
        context.set_default_timeout(PATIENCE_MS)
        opened.append(context)
        return context

    yield open_
    for context in opened:
        context.close()


def violations(page: "Page", scheme: str, width: int) -> list[tuple[str, list[str]]]:
    """Return the findings of axe on a page with a colour scheme and a width."""
    axe: Any = needs.package(
        "axe_playwright_python.sync_playwright", "axe-playwright-python"
    ).Axe()
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 800})
    found = axe.run(page, options={"resultTypes": ["violations"]}).response
    return [(x["id"], [node["html"][:120] for node in x["nodes"][:3]])
            for x in found["violations"]]  # fmt: skip
