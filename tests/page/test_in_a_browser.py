"""The page in a real browser: the functions of its script, and its isolation."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sprintlog.commands import CreateSprint
from sprintlog.projections.facts.file_history import FollowedFile
from sprintlog.projections.page.document import page as page_of
from sprintlog.projections.workspace import Workspace

from .browsers import LOOKS, NewContext, violations
from .hostile import HOSTILE, hostile_night
from .night import SPRINT, night

if TYPE_CHECKING:
    from playwright.sync_api import Page

Open = Callable[..., "Page"]


class _Seen:
    """The actions of a page while it was open."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.dialogs: list[str] = []

    def take_dialog(self, box: Any) -> None:
        """Record the text of a dialog, and close it."""
        self.dialogs.append(box.message)
        box.dismiss()


@pytest.fixture
def seen() -> _Seen:
    """Return the actions of the pages of a test."""
    return _Seen()


@pytest.fixture
def look(new_context: NewContext, seen: _Seen) -> Open:
    """Return a function that opens a file as a page, watched for requests and errors."""

    def open_(file: Path, *, link: str = "", **options: Any) -> "Page":
        shown = new_context(**options).new_page()
        shown.on("request", lambda asked: seen.requests.append(asked.url))
        shown.on("pageerror", lambda error: seen.errors.append(str(error)))
        shown.on("console", lambda said: seen.errors.append(said.text))
        shown.on("dialog", seen.take_dialog)
        shown.goto(f"{file.as_uri()}{link}")
        return shown

    return open_


def shown_version(page: "Page") -> int:
    """Return the version that the slider shows."""
    found = re.match(r"version (\d+)", page.locator("#state output").inner_text())
    assert found is not None
    return int(found[1])


@pytest.mark.long
def test_the_slider_shows_each_version(
    look: Open, night_page: Path, tmp_path: Path
) -> None:
    """At every version the lines and their setters are those of the log."""
    page = look(night_page)
    with night(tmp_path) as workspace:
        sprint = workspace.sprint(SPRINT)
        history = FollowedFile().follow(workspace, sprint)
        for version in (1, 2, 31, 38, 40, sprint.version):
            page.evaluate("version => window.sprintlogPage.show(version)", version)
            rows = page.evaluate(
                "[...document.querySelectorAll('table.file tbody tr')].map("
                "row => [row.cells[1].textContent, row.cells[2].textContent])"
            )
            expected = [[x.text, f"v{x.changed}"] for x in history.lines_at(version)]
            assert rows == expected, version
            new = page.locator("table.file tr.new").count()
            assert new == sum(x.changed == version for x in history.lines_at(version))


def test_keys_and_links_move_the_slider(look: Open, night_page: Path) -> None:
    """A link opens its version, arrow keys move on from there, and the address follows."""
    page = look(night_page, link="#v=41")
    assert shown_version(page) == 41
    page.keyboard.press("ArrowLeft")
    assert shown_version(page) == 40
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert shown_version(page) == 42
    assert page.url.endswith("#v=42")
    page.locator("#events a", has_text="v7").last.click()
    assert shown_version(page) == 7


def test_filter_and_densities(look: Open, night_page: Path) -> None:
    """A filter shows the rows with its words, a density only the important ones."""
    page = look(night_page)
    rows = page.locator("#events tbody tr:visible")
    whole = rows.count()
    page.keyboard.press("/")
    page.keyboard.type("gate-checked payment")
    assert rows.count() == 2
    page.locator("#events input").fill("")
    page.get_by_role("button", name="what matters").click()
    assert 0 < rows.count() < whole
    page.get_by_role("button", name="with data").click()
    assert rows.count() == whole
    assert '"phase":"receipt"' in page.locator("#events tbody").inner_text()


def test_sorting_keeps_the_unknown_last(look: Open, night_page: Path) -> None:
    """Columns sort as numbers in both directions, with unknown values at the end."""
    page = look(night_page)
    button = page.locator("#iterations thead button", has_text="cost")
    index = page.evaluate(
        "[...document.querySelectorAll('#iterations thead th')].findIndex("
        "x => x.textContent === 'cost')"
    )
    for first in ("$0.38", "$1.58"):
        button.click()
        cells = page.evaluate(
            "index => [...document.querySelectorAll('#iterations tbody tr')].map("
            "row => row.cells[index].textContent)",
            index,
        )
        assert cells[0] == first
        assert cells[-2:] == ["\N{EN DASH}", "\N{EN DASH}"]


def test_any_two_are_compared(look: Open, night_page: Path) -> None:
    """The figures of two chosen versions, their changes, and the lines of the state."""
    page = look(night_page)
    page.get_by_label("first iteration").select_option("3")
    page.get_by_label("second iteration").select_option("8")
    table = page.locator("#compare table")
    row = table.locator("tr", has=page.locator("th", has_text="test count"))
    assert row.locator("td").all_inner_texts() == ["57", "78", "+21"]
    assert "- " in page.locator("#compare pre").inner_text()
    assert "sprintlog iteration diff 3 8" in page.locator("#compare").inner_text()


def test_zoom_widens_the_timeline(look: Open, night_page: Path) -> None:
    """The drawing becomes wider in its box, but the page does not."""
    page = look(night_page)
    drawing = page.locator("svg.gantt")
    before = drawing.bounding_box()
    page.get_by_label("zoom in").click()
    after = drawing.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] == pytest.approx(2 * before["width"], rel=0.02)
    overflow = "document.documentElement.scrollWidth > window.innerWidth"
    assert page.evaluate(overflow) is False


def test_without_a_script_all_is_there(look: Open, night_page: Path) -> None:
    """Drawings, tables and the state file need no JavaScript."""
    page = look(night_page, java_script_enabled=False)
    assert page.locator("svg.gantt .bar").count() > 9
    assert page.locator("#iterations tbody tr").count() == 10
    assert "sprint-id: checkout" in page.locator("#state").inner_text()
    assert page.locator(".tools").count() == 0


def test_a_section_is_replaced_as_it_was_used(look: Open, night_page: Path) -> None:
    """A new section keeps the filter, the density, and the position of the slider."""
    page = look(night_page, link="#v=12")
    page.locator("#events input").fill("gate-checked")
    for name in ("events", "state"):
        page.evaluate(
            "name => { const old = document.getElementById(name).cloneNode(true);"
            "old.querySelectorAll('.tools').forEach(x => x.remove());"
            "window.sprintlogPage.replace(name, old.outerHTML); }",
            name,
        )
    assert page.locator("#events tbody tr:visible").count() == 2
    assert page.locator("#events .tools").count() == 1
    assert shown_version(page) == 12


def test_hostile_texts_are_inert(look: Open, seen: _Seen, tmp_path: Path) -> None:
    """All text from agents stays text: nothing runs or is requested, all is shown."""
    file = tmp_path / "hostile.html"
    with hostile_night(tmp_path) as workspace:
        file.write_text(page_of(workspace, SPRINT), encoding="utf-8")
    page = look(file, link="#v=3")
    for density in ("what matters", "all", "with data"):
        page.locator("#events").get_by_role("button", name=density, exact=True).click()
    page.wait_for_timeout(100)
    assert page.evaluate("window.ran") is None
    assert (seen.dialogs, seen.errors) == ([], [])
    assert seen.requests == [f"{file.as_uri()}#v=3"] or seen.requests == [file.as_uri()]
    assert page.locator("img, iframe, object, main script:not([type])").count() == 0
    shown = page.locator("main").inner_text()
    assert all(said[:20] in shown for said in HOSTILE if said.isprintable())
    assert "\u202e" not in shown
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_no_request_leaves_the_page(look: Open, seen: _Seen, night_page: Path) -> None:
    """The file is self-contained, and its policy refuses everything else."""
    page = look(night_page)
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p>made</p>')")
    assert seen.requests == [night_page.as_uri()]
    assert seen.errors == []
    page.evaluate(
        "const made = document.createElement('script');"
        "made.textContent = 'window.ran = 1'; document.body.append(made)"
    )
    assert page.evaluate("window.ran") is None


# The rows of a long table are similar, but axe is slow for each of them.
SHORTER = """
for (const more of ["tbody tr:nth-child(n+4)", "figure:nth-of-type(n+3)"])
  document.querySelectorAll(more).forEach((one) => one.remove());
"""


def test_anybody_can_read_it(look: Open, night_page: Path) -> None:
    """In light and dark mode, on phones and screens, axe and overflow checks pass."""
    page = look(night_page)
    page.evaluate(SHORTER)
    for scheme, width in LOOKS:
        assert violations(page, scheme, width) == [], (scheme, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_log_of_one_event(look: Open, seen: _Seen, tmp_path: Path) -> None:
    """The page of the smallest log causes no script errors."""
    with Workspace.in_memory(tmp_path, clock=lambda: 0, entropy=bytes) as workspace:
        plan = {"phases": [{"id": "a", "prompt": "Do a"}]}
        workspace.handle(CreateSprint(plan=plan), sprint_id="one")
        file = tmp_path / "one.html"
        file.write_text(page_of(workspace, "one"), encoding="utf-8")
    page = look(file)
    page.keyboard.press("ArrowLeft")
    assert seen.errors == []
    assert page.locator("#events tbody tr").count() == 1
