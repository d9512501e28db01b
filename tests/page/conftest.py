"""A real browser, where there is one; without it the suite says why it is skipped."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .night import SPRINT, night

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Return a browser that is started once for all tests."""
    api: Any = pytest.importorskip(
        "playwright.sync_api", reason="playwright is missing: install the dev extra"
    )
    named = os.environ.get("SPRINTLOG_TEST_BROWSER")
    path = named or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"there is no browser: none of {', '.join(BROWSERS)}")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=[*QUIET])
        yield started
        started.close()


@pytest.fixture(scope="session")
def night_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the page of a night."""
    from sprintlog.projections.page.document import page

    folder = tmp_path_factory.mktemp("night")
    file = folder / "night.html"
    with night(folder) as workspace:
        file.write_text(page(workspace, SPRINT), encoding="utf-8")
    return file
