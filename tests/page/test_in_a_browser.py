"""The page in a real browser: the functions of its script, and its isolation."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sprintlog.commands import CreateSprint
from sprintlog.projections.page.document import OVERVIEW, SECTIONS
from sprintlog.projections.page.document import page as page_of
from sprintlog.projections.workspace import Workspace

from .browsers import LOOKS, NewContext, violations
from .hostile import HOSTILE, MORE, hostile_night
from .night import SPRINT

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


@pytest.mark.parametrize("number", [4, 9])
def test_a_point_of_the_chart_opens_its_iteration(
    look: Open, night_page: Path, number: int
) -> None:
    """One click on the overview shows the answer, the figures and the commands."""
    page = look(night_page)
    page.locator(f"#quality a[href='#i{number}'] .hit").click()
    view = page.locator("#view article")
    assert view.locator("h1").inner_text().startswith(f"Iteration {number}")
    assert page.url.endswith(f"#i{number}")
    assert not page.locator("#head").is_visible()
    parts = ("Tests that changed", "Prompt", "Final answer", "Figures", "Return to it")
    assert all(part in view.inner_text() for part in parts)
    assert f"sprintlog rollback iter:{number}" in view.inner_text()


def test_keys_move_between_iterations(look: Open, night_page: Path) -> None:
    """J and K open the next and the previous one, Escape the overview, ? the keys."""
    page = look(night_page, link="#i3")
    title = page.locator("#view h1")
    for key, number in (("j", 4), ("j", 5), ("k", 4)):
        page.keyboard.press(key)
        page.wait_for_function("n => location.hash === `#i${n}`", arg=number)
        page.locator(f"#view article[data-i='{number}']").wait_for()
        assert title.inner_text().startswith(f"Iteration {number}")
    page.keyboard.press("?")
    assert "previous iteration" in page.locator("dialog").inner_text()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="hidden")
    page.keyboard.press("Escape")
    page.locator("#head").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("#view article[data-i='1']").wait_for()


def test_the_overview_is_one_screen(look: Open, night_page: Path) -> None:
    """At 1280 x 800 the result, the chart and the plan's current phase are visible."""
    page = look(night_page, viewport={"width": 1280, "height": 800})
    for part in ("#head .why", "#head .figures", "#quality svg", "#plan .box"):
        box = page.locator(part).first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 800, part
    assert page.evaluate("document.documentElement.scrollHeight") <= 800
    here, plan = (page.locator(x).bounding_box() for x in ("#plan .here", "#plan .box"))
    assert here is not None
    assert plan is not None
    assert here["y"] + here["height"] <= plan["y"] + plan["height"]
    for name in ("timeline", "iterations", "decisions", "events"):
        assert not page.locator(f"#{name}").is_visible()
        page.locator(f"nav a[href='#{name}']").click()
        page.locator(f"#{name}").wait_for()
        assert not page.locator("#quality").is_visible()


def test_times_are_local(look: Open, night_page: Path) -> None:
    """Times are those of the reader's zone; the tooltip states UTC."""
    page = look(night_page, timezone_id="Asia/Kolkata")
    shown = page.locator("#head .note time")
    assert shown.get_attribute("title") == "2026-01-16 02:24:00 UTC"
    assert shown.inner_text() == "2026-01-16 07:54:00"


def test_filter_and_densities(look: Open, night_page: Path) -> None:
    """A filter shows the rows with its words, a density only the important ones."""
    page = look(night_page, link="#events")
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


def test_iterations_are_found_by_their_texts(look: Open, night_page: Path) -> None:
    """The filter also searches the prompts, answers and files of the views."""
    page = look(night_page, link="#iterations")
    page.keyboard.press("/")
    page.keyboard.type("write the rules of coupons")
    rows = page.locator("#iterations tbody tr:visible")
    assert [row.get_attribute("data-n") for row in rows.all()] == ["5", "4"]


def test_sorting_keeps_the_unknown_last(look: Open, night_page: Path) -> None:
    """Columns sort as numbers in both directions, with unknown values at the end."""
    page = look(night_page, link="#iterations")
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
    """Two chosen rows open the figures, tests, files and prompts side by side."""
    page = look(night_page, link="#iterations")
    for number in (3, 8):
        page.get_by_label(f"choose iteration {number}", exact=True).check()
    page.get_by_role("button", name="compare 3 and 8").click()
    view = page.locator("#view article")
    row = view.locator("tr", has=page.locator("th", has_text="test count"))
    assert row.locator("td").all_inner_texts() == ["57", "78", "+21"]
    assert "sprintlog iteration diff 3 8" in view.inner_text()
    assert view.locator(".pair").count() == 4
    assert page.url.endswith("#i3..i8")


def test_zoom_widens_the_timeline(look: Open, night_page: Path) -> None:
    """The drawing becomes wider in its box, but the page does not."""
    page = look(night_page, link="#timeline")
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
    """Drawings and tables need no JavaScript; a command prints the iterations."""
    page = look(night_page, java_script_enabled=False)
    assert page.locator("svg.gantt .bar").count() > 9
    assert page.locator("#iterations tbody tr").count() == 10
    assert "sprintlog report N" in page.locator("body").inner_text()
    assert page.locator(".tools").count() == 0


def test_a_section_is_replaced_as_it_was_used(look: Open, night_page: Path) -> None:
    """A new section keeps its filter and its tools, and stays the one that is shown."""
    page = look(night_page, link="#events")
    page.locator("#events input").fill("gate-checked")
    for name in ("events", "iterations"):
        page.evaluate(
            "name => { const old = document.getElementById(name).cloneNode(true);"
            "old.querySelectorAll('.tools').forEach(x => x.remove());"
            "window.sprintlogPage.replace(name, old.outerHTML); }",
            name,
        )
    assert page.locator("#events tbody tr:visible").count() == 2
    assert page.locator("#events .tools").count() == 1
    assert not page.locator("#iterations").is_visible()


def test_hostile_texts_are_inert(look: Open, seen: _Seen, tmp_path: Path) -> None:
    """All text from agents stays text: nothing runs or is requested, all is shown."""
    file = tmp_path / "hostile.html"
    with hostile_night(tmp_path) as workspace:
        file.write_text(page_of(workspace, SPRINT), encoding="utf-8")
    page = look(file, link="#events")
    for density in ("what matters", "all", "with data"):
        page.locator("#events").get_by_role("button", name=density, exact=True).click()
    page.wait_for_timeout(100)
    assert page.evaluate("window.ran") is None
    assert (seen.dialogs, seen.errors) == ([], [])
    assert {x.partition("#")[0] for x in seen.requests} == {file.as_uri()}
    assert page.locator("img, iframe, object, main script:not([type])").count() == 0
    views = ["head", *(x for x in SECTIONS if x not in OVERVIEW)]
    views += [f"i{number}" for number in range(1, len(HOSTILE))] + ["i1..i2"]
    shown = ""
    for view in views:
        page.evaluate("view => { location.hash = view; }", view)
        page.locator("#view article" if view[1:2].isdigit() else f"#{view}").wait_for()
        shown += page.locator("main:visible").inner_text()
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, (view, width)
    assert page.evaluate("window.ran") is None
    assert (seen.dialogs, seen.errors) == ([], [])
    assert all(said[:20] in shown for said in MORE if said.isprintable())
    assert all(said[:20] in shown for said in HOSTILE if said.isprintable())
    assert "\u202e" not in shown


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
    for view in ("head", "timeline", "iterations", "events", "i4", "i3..i8"):
        page.evaluate("view => { location.hash = view; }", view)
        page.locator("#view article" if view[1:2].isdigit() else f"#{view}").wait_for()
        for scheme, width in LOOKS:
            assert violations(page, scheme, width) == [], (view, scheme, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_log_of_one_event(look: Open, seen: _Seen, tmp_path: Path) -> None:
    """The page of the smallest log causes no script errors."""
    with Workspace.in_memory(tmp_path, clock=lambda: 0, entropy=bytes) as workspace:
        plan = {"phases": [{"id": "a", "prompt": "Do a"}]}
        workspace.handle(CreateSprint(plan=plan), sprint_id="one")
        file = tmp_path / "one.html"
        file.write_text(page_of(workspace, "one"), encoding="utf-8")
    page = look(file)
    page.keyboard.press("j")
    assert seen.errors == []
    assert page.locator("#events tbody tr").count() == 1


QUESTIONS = {
    "the result": ((), "71 of 79 tests pass in iteration 9; use iteration 8"),
    "where did quality fall": ((), "Coverage dropped 83.5%"),
    "why did it fall there": (
        ("#head a[href='#i9']",),
        "Previously passing tests now failing",
    ),
    "what did it cost": ((), "$7.91"),
    "what changed in iteration 4": (
        ("#quality a[href='#i4'] .hit",),
        "Test count decreased",
    ),
    "how do I get the best back": ((), "sprintlog rollback iter:8"),
}
"""The questions of a morning: the clicks from the overview, and words of the answer."""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_of_the_morning_takes_one_click_at_most(
    look: Open, night_page: Path, question: str, width: int
) -> None:
    """Each is answered by visible text, on a screen and on a phone."""
    page = look(night_page, viewport={"width": width, "height": 800})
    clicks, answer = QUESTIONS[question]
    for place in clicks:
        page.locator(place).first.click()
        page.locator("#view article").wait_for()
    assert answer in page.locator("main:visible").inner_text()
