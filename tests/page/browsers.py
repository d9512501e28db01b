"""Debian's Chromium, for tests that look at a page as a person does."""

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PATIENCE_MS = 20_000


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Return a browser; skip where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is missing")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is missing")
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield made
        made.close()
