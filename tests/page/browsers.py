"""Debian's Chromium, for tests that look at a page as a person does."""

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

PATIENCE_MS = 20_000
Looking = Callable[[Any, Path], None]


def in_browser(test: Looking) -> Callable[[Path], None]:
    """Run a test with a page of a browser; skip it where there is none.

    It has a thread of its own: in ours a browser of other tests may be open.
    """

    def run(log: Path) -> None:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(_look, test, log).result()

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def _look(test: Looking, log: Path) -> None:
    sync_api: Any = pytest.importorskip("playwright.sync_api", reason="no playwright")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is missing")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1000, "height": 600})
        context.set_default_timeout(PATIENCE_MS)
        test(context.new_page(), log)
        browser.close()
