"""Hostile texts from a real work tree, in every view of the page and as links to it."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sprintlog.projections.page.document import OVERVIEW, SECTIONS
from sprintlog.projections.page.document import page as page_of

from .browsers import NewContext, violations
from .hostile_tree import HASHES, ITERATIONS, SPRINT, TEXTS, hostile_tree

if TYPE_CHECKING:
    from playwright.sync_api import Page

VIEWS = (
    "head",
    *(name for name in SECTIONS if name not in OVERVIEW),
    *(f"i{number}" for number in range(1, ITERATIONS + 1)),
    "i1..i3",
)
ELEMENTS = "img, iframe, object, embed, form, base, xmp, plaintext, foreignObject, math"


@pytest.mark.long
def test_a_hostile_tree_changes_nothing_on_the_page(
    new_context: NewContext, tmp_path: Path
) -> None:
    """No text runs, requests, opens a dialog or widens the page on a phone."""
    file = tmp_path / "page.html"
    with hostile_tree(tmp_path) as workspace:
        file.write_text(page_of(workspace, SPRINT), encoding="utf-8")
    shown = new_context(viewport={"width": 390, "height": 800}).new_page()
    seen: list[str] = []
    shown.on("request", lambda x: seen.append(x.url.partition("#")[0]))
    shown.on("pageerror", lambda error: seen.append(f"error {error}"))
    shown.on("console", lambda x: seen.append(f"console {x.text}"))
    shown.add_init_script("window.alert = () => { window.ran = 'alert'; }")
    text = ""
    for view in VIEWS:
        shown.goto(f"{file.as_uri()}#{view}")
        shown.locator("#view article" if view[1:2].isdigit() else f"#{view}").wait_for()
        shown.evaluate("document.querySelectorAll('details').forEach(x => x.open = true)")
        for button in shown.get_by_role("button", name="side by side").all():
            button.click()
        for width in (390, 1280):
            shown.set_viewport_size({"width": width, "height": 800})
            _check(shown, view, width)
        text += shown.locator("body").inner_text()
    for link in HASHES:
        shown.goto("about:blank")
        shown.goto(f"{file.as_uri()}{link}")
        shown.locator("main:visible").first.wait_for()
        assert shown.locator("main:visible").count() == 1, link[:80]
        _check(shown, link[:80], 1280)
    assert set(seen) <= {file.as_uri(), "about:blank"}
    assert all(x[:20] in text for x in TEXTS if x.isascii() and x[:20].isprintable())
    assert not {*"\u202e\u2067\u200b\u2060\x1b\x00"} & {*text}


def _check(shown: "Page", view: str, width: int) -> None:
    """Check that nothing ran, that no text became an element, and that all fits."""
    assert shown.evaluate("window.ran") is None, view
    assert shown.locator(ELEMENTS).count() == 0, view
    assert shown.evaluate("document.documentElement.scrollWidth") <= width, (view, width)


@pytest.mark.long
@pytest.mark.parametrize("view", ["head", "i4", "i3..i8"])
def test_axe_finds_nothing_in_any_look(
    new_context: NewContext, night_page: Path, view: str
) -> None:
    """Overview, iteration and comparison pass in light and dark, on phones and screens."""
    shown = new_context().new_page()
    shown.goto(f"{night_page.as_uri()}#{view}")
    shown.locator("#view article" if view[1:2].isdigit() else f"#{view}").wait_for()
    for scheme in ("light", "dark"):
        for width in (390, 1280):
            assert violations(shown, scheme, width) == [], (scheme, width)
