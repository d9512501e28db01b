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
SHOWN = (
    ("night.png", "", 1280, 800, False),
    ("night-iteration.png", "#i7", 1280, 800, False),
    ("night-phone.png", "", 390, 800, True),
)
"""The pictures: file, address within the page, width, height, and whether it is whole."""


def main() -> None:
    """Write each picture."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        file = Path(name) / "night.html"
        with night(Path(name)) as workspace:
            file.write_text(page_of(workspace, SPRINT), encoding="utf-8")
        started = playwright.chromium.launch(executable_path=found(), args=[*QUIET])
        PICTURES.mkdir(exist_ok=True)
        for picture, address, width, height, is_whole in SHOWN:
            shown = started.new_page(
                viewport={"width": width, "height": height}, color_scheme="light"
            )
            shown.goto(f"{file.as_uri()}{address}")
            shown.screenshot(path=PICTURES / picture, full_page=is_whole)
        started.close()


if __name__ == "__main__":
    main()
