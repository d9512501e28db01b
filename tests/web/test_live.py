"""The live page in a real browser updates automatically, and loses nothing."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sprintlog.commands import (
    AddNote,
    CompletePhase,
    EndRun,
    MeasureIteration,
    StartIteration,
    StartPhase,
    Verdict,
)
from sprintlog.engine.judging.events import Usage
from sprintlog.engine.sprint.events import AgentRan
from sprintlog.projections.page import live_pages
from sprintlog.projections.workspace import Workspace

from ..page.browsers import LOOKS, NewContext, violations
from .conftest import TOKEN, listening

if TYPE_CHECKING:
    from playwright.sync_api import Page

LISTENED = """
window.heard = [];
const Source = window.EventSource;
window.EventSource = class extends Source {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", (one) => window.heard.push(Number(one.lastEventId)));
  }
};
"""
"""Stores the events of a page, in order."""


@pytest.fixture
def page(new_context: NewContext) -> "Page":
    """Return a page of a browser that was nowhere yet."""
    return new_context(viewport={"width": 1000, "height": 600}).new_page()


def enter(page: "Page", port: int, path: str = "/sprint?id=auth") -> list[str]:
    """Open a page with the token; return what fails in it from now on."""
    failed: list[str] = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.on("dialog", lambda dialog: failed.append(dialog.message))
    page.add_init_script(LISTENED)
    token = f"{'&' if '?' in path else '?'}token={TOKEN}"
    page.goto(f"http://127.0.0.1:{port}{path}{token}")
    page.wait_for_selector("#live.good")
    return failed


def record(folder: Path, *commands: object) -> None:
    """Record commands from elsewhere."""
    with Workspace.open(folder) as workspace:
        for command in commands:
            workspace.handle(command, sprint_id="auth")  # type: ignore[call-overload]


def shows(page: "Page", version: int) -> None:
    """Wait until the page shows a version."""
    page.wait_for_function(
        "version => document.querySelector('#head').textContent"
        ".includes(`as of version ${version},`)",
        arg=version,
    )


def test_a_page_follows_what_is_recorded(page: "Page", log: Path) -> None:
    """Head, plan and events change by themselves; the overview does, too."""
    with listening(log) as port:
        failed = enter(page, port)
        overview = page.context.new_page()
        overview.goto(f"http://127.0.0.1:{port}/")
        overview.wait_for_selector("#live.good")
        record(log, StartPhase("setup"), CompletePhase("setup", "branch made"))
        shows(page, 5)
        assert "branch made" in (page.text_content("#events") or "")
        assert "setup completed" in page.inner_text("#plan")
        overview.wait_for_selector("#sprints >> text=at build")
    assert failed == []


SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => window.shifts.push(...list.getEntries()
  .filter((one) => !one.hadRecentInput).map((one) => one.value)))
  .observe({ type: "layout-shift", buffered: true });
"""
"""Stores how far the layout of a page shifts without input."""


def test_the_layout_does_not_shift_while_live(log: Path, new_context: NewContext) -> None:
    """While a loop runs and is measured, what a person reads stays in its place."""
    with listening(log) as port:
        pages = []
        for width, height in ((1280, 800), (390, 844)):
            for path in ("/", "/sprint?id=auth"):
                shown = new_context(viewport={"width": width, "height": height}).new_page()
                shown.add_init_script(SHIFTS)
                enter(shown, port, path)
                pages.append(shown)
        record(log, StartPhase("setup"))
        for number in (1, 2, 3):
            usage = Usage(1000 * number, 100, cost_usd=0.5 * number)
            ran = AgentRan("", "completed", 0, iteration=number, usage=usage)
            for command in (
                StartIteration(),
                EndRun(ran, Verdict("completed", "part " * number)),
                MeasureIteration({"test_count": 9, "tests_passed": 9 - number % 2}),
                AddNote("a long note " * 20),
            ):
                record(log, command)
                with Workspace.open(log) as workspace:
                    position = workspace.log.head().position
                for shown in pages:
                    shown.wait_for_function(
                        "n => Number(document.body.dataset.position) >= n", arg=position
                    )
        for shown in pages:
            shown.wait_for_timeout(100)
            assert sum(shown.evaluate("window.shifts")) < 0.05, shown.url


def test_the_overview_of_a_long_sprint_comes_first(
    page: "Page", log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first page has only the overview, and then requests the rest."""
    monkeypatch.setattr(live_pages, "LONG_EVENTS", 2)
    made = live_pages.LivePages({})
    with Workspace.open(log) as workspace:
        first, second = (made.page(workspace, "auth") for _ in range(2))
        assert "The events are being read." in first
        assert "The events are being read." not in second
    with listening(log) as port:
        failed = enter(page, port)
        page.wait_for_selector("#events tbody tr", state="attached")
        assert "being read" not in (page.text_content("main") or "")
    assert failed == []


def test_what_a_person_does_meanwhile_stays(page: "Page", log: Path) -> None:
    """Scroll, focus, typed text, filters and opened parts survive a change."""
    with listening(log, writes=True) as port:
        failed = enter(page, port)
        page.set_viewport_size({"width": 1280, "height": 300})
        page.click("#act summary >> text=Pause")
        page.fill("#act input[name=reason]", "half a sent")
        page.evaluate("location.hash = 'events'")
        page.fill("#events input[type=search]", "sprint")
        page.evaluate("location.hash = 'head'")
        page.focus("#act input[name=reason]")
        page.locator("#act input[name=reason]").first.scroll_into_view_if_needed()
        scrolled = page.evaluate("window.scrollY")
        record(log, AddNote("one"), StartPhase("setup"))
        shows(page, 5)
        page.keyboard.press("End")
        page.keyboard.type("ence")
        assert page.input_value("#act input[name=reason]") == "half a sentence"
        assert page.input_value("#events input[type=search]") == "sprint"
        assert page.is_visible("#act input[name=reason]")
        assert page.evaluate("window.scrollY") == scrolled > 0
        page.evaluate("location.hash = 'events'")
        rows = page.locator("#events tbody tr:visible").all_inner_texts()
        assert rows
        assert all("sprint" in row for row in rows)
    assert failed == []


def test_the_view_of_an_iteration_follows_too(page: "Page", log: Path) -> None:
    """It is fetched, shows new events automatically, and keeps the opened parts."""
    record(log, StartIteration())
    with listening(log) as port:
        failed = enter(page, port)
        page.evaluate("location.hash = 'i1'")
        page.wait_for_selector("#view article[data-i='1']")
        ran = AgentRan("", "failed", 1, output="never seen before", iteration=1)
        record(log, EndRun(ran, Verdict("failed", error="no")))
        page.wait_for_selector("#view pre >> text=never seen before")
        assert not page.is_visible("#head")
    assert failed == []


def test_a_restart_of_the_server_loses_and_doubles_nothing(page: "Page", log: Path) -> None:
    """The page waits for the server and receives each missed event exactly once."""
    with listening(log) as port:
        failed = enter(page, port)
        record(log, AddNote("before"))
        shows(page, 4)
    page.wait_for_selector("body.lost #live >> text=waiting for the server; as of")
    record(log, AddNote("while nobody served"), StartPhase("setup"))
    with listening(log, port=port):
        shows(page, 6)
        record(log, AddNote("after"))
        shows(page, 7)
        assert page.inner_text("body:not(.lost) #live") == "live"
        assert page.evaluate("window.heard") == [4, 5, 6, 7]
    assert failed == []


def test_a_person_decides_from_the_page(page: "Page", log: Path) -> None:
    """The request of a form is previewed, then recorded, and the page reports it."""
    with listening(log, writes=True) as port:
        failed = enter(page, port)
        page.click("#act summary >> text=Request req-1")
        form = page.locator("form[action='act?do=queue+approve']")
        form.locator("input[name=reasoning]").fill("people cannot log in")
        form.locator("button").click()
        page.wait_for_selector("text=It would record")
        page.click("button >> text=Approve")
        page.wait_for_selector("#live.good")
        assert "approve" in (page.text_content("#decisions") or "")
        assert "people cannot log in" in (page.text_content("#decisions") or "")
        page.click("#act summary >> text=Pause")
        page.click("form[action='act?do=sprint+pause'] button")
        page.click("button >> text=Pause")
        page.wait_for_selector("#head >> text=paused")
    assert failed == []


def test_nothing_recorded_runs_and_no_request_leaves(page: "Page", log: Path) -> None:
    """Markup in a note is text, even in live updates; only this server is contacted."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with listening(log) as port:
        failed = enter(page, port)
        hostile = (
            "<img src=http://evil.example/x onerror=alert(1)><script>alert(2)</script>"
        )
        record(log, AddNote(hostile), StartPhase("setup"), CompletePhase("setup", hostile))
        shows(page, 6)
        assert hostile in (page.text_content("#events") or "")
        here = f"http://127.0.0.1:{port}/"
        assert [url for url in asked if not url.startswith((here, "data:"))] == []
    assert failed == []


@pytest.mark.long
def test_anybody_can_read_what_is_served(page: "Page", log: Path) -> None:
    """Axe finds nothing in the overview, a search, a sprint with forms, and previews."""
    with listening(log, writes=True) as port:
        enter(page, port)
        here = f"http://127.0.0.1:{port}"
        shown = page.url
        for url in (f"{here}/", f"{here}/?q=set", shown, None):
            if url is None:
                page.goto(shown)
                page.click("#act summary >> text=Pause")
                page.click("form[action='act?do=sprint+pause'] button")
            else:
                page.goto(url)
            page.evaluate(
                "document.querySelectorAll('details').forEach(x => x.open = true)"
            )
            for scheme, width in LOOKS:
                assert violations(page, scheme, width) == [], (page.url, scheme, width)
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, (page.url, scheme)
