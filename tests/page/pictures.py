"""Generate the pictures of the documentation: `python -m tests.page.pictures`.

They show the program's output in a real browser, so they are generated again when the page
changes. They show the night of the page's tests.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from sprintlog.projections.page.document import page as page_of

from .browsers import QUIET, found
from .night import SPRINT, night

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
WIDTH, HEIGHT = 1040, 880


def main() -> None:
    """Write each picture."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        file = Path(name) / "night.html"
        with night(Path(name)) as workspace:
            file.write_text(page_of(workspace, SPRINT), encoding="utf-8")
        started = playwright.chromium.launch(executable_path=found(), args=[*QUIET])
        shown = started.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light"
        )
        shown.goto(file.as_uri())
        PICTURES.mkdir(exist_ok=True)
        shown.screenshot(path=PICTURES / "night.png")
        started.close()


if __name__ == "__main__":
    main()
