"""A file of many iterations: each opens, and the table, chart and plan stay short."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sprintlog.commands import CreateSprint, EndRun, StartIteration, StartSprint, Verdict
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.work_tree.snapshot import take_and_record
from sprintlog.engine.sprint import events as f
from sprintlog.facts import sprint_facts
from sprintlog.projections.page import limits
from sprintlog.projections.page.document import page as page_of
from sprintlog.projections.page.plan import plan
from sprintlog.projections.page.quality import Scored, shown_for
from sprintlog.projections.workspace import Workspace

from .browsers import NewContext, violations
from .test_odd_logs import loop, workspace_with

if TYPE_CHECKING:
    from playwright.sync_api import Page

COUNT = 450
BRIEF_BYTES_MAX = 2_000
Look = Callable[..., "Page"]


@pytest.fixture(scope="session")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a sprint with more iterations than have whole views."""
    folder = tmp_path_factory.mktemp("long")
    with workspace_with(folder, loop(COUNT)) as workspace:
        (folder / "long.html").write_text(page_of(workspace, "odd"), encoding="utf-8")
    return folder / "long.html"


@pytest.fixture
def look(new_context: NewContext, long_page: Path) -> Look:
    """Return a function that opens a view of the file."""

    def open_(link: str = "", width: int = 1280, **options: bool) -> "Page":
        size = {"width": width, "height": 800}
        shown = new_context(viewport=size, **options).new_page()
        shown.goto(f"{long_page.as_uri()}{link}")
        return shown

    return open_


def test_each_iteration_has_a_view(long_page: Path) -> None:
    """The newest are whole; the others take few bytes, and the chart few points."""
    said = long_page.read_text(encoding="utf-8")
    brief = re.findall(r'<script type="text/html" id="i(\d+)">(.*?)</script>', said)
    whole = re.findall(r'<template id="i(\d+)">', said)
    assert {int(n) for n in [*whole, *dict(brief)]} == {*range(1, COUNT + 1)}
    assert sum(len(view) for _, view in brief) / len(brief) <= BRIEF_BYTES_MAX
    assert said.count('<g class="column">') <= limits.ITERATIONS


def test_any_iteration_opens(look: Look) -> None:
    """A link to an old iteration shows its figures, and its commands; so do J and K."""
    page = look("#i4")
    for number, key in ((4, "j"), (5, "k"), (4, "k"), (3, "")):
        view = page.locator(f"#view article[data-i='{number}']")
        view.wait_for()
        row = view.locator("tr", has=page.locator("th", has_text="test count"))
        assert row.locator("td").all_inner_texts() == [str(40 + number), "+1"]
        assert f"sprintlog report {number}" in view.inner_text()
        assert f"sprintlog rollback iter:{number}" in view.inner_text()
        page.keyboard.press(key or "Escape")
    page.evaluate("location.hash = 'i4..i440'")
    row = page.locator("#view tr", has=page.locator("th", has_text="test count"))
    assert row.locator("td").all_inner_texts() == ["44", "480", "+436"]


def test_the_best_or_the_worst_is_plotted() -> None:
    """A point for several is the best, the worst regression or the last measured one."""
    several = [
        Scored(1, 0.5, "good", "a"),
        Scored(2, 0.4, "bad", "b"),
        Scored(3, 0.3, "bad", "c"),
        Scored(4, 0.9, "good", "d", is_best=True),
        Scored(5, 0.8, "good", "e"),
        Scored(6, None, "steady", "f"),
    ]
    assert shown_for(several).number == 4
    assert shown_for(several[:3]).number == 3
    assert shown_for(several[4:]).number == 5
    assert shown_for(several[5:]) == several[5]
    assert shown_for(several).about == "iterations 1 to 6; shown: d"


def test_a_point_of_the_chart_stands_for_several(look: Look) -> None:
    """It opens one of its iterations, from which the others are a key away."""
    page = look()
    points = page.locator("#quality a")
    assert "iterations 1 to 3" in (points.first.get_attribute("aria-label") or "")
    points.first.locator(".hit").click()
    page.locator("#view article").wait_for()
    assert page.url.rpartition("#")[2] in ("i1", "i2", "i3")


def test_the_table_shows_some_rows_at_a_time(look: Look) -> None:
    """On a phone, too, the keyboard and the filter reach every row."""
    page = look("#iterations", 390)
    rows = page.locator("#iterations tbody tr:visible")
    assert rows.count() == 20
    assert page.evaluate("document.documentElement.scrollHeight") < 6_000
    page.get_by_label("next rows").press("Enter")
    assert rows.first.get_attribute("data-n") == "430"
    page.get_by_label("rows", exact=True).select_option("22")
    assert rows.last.get_attribute("data-n") == "1"
    assert violations(page, "dark", 390) == []
    page.get_by_label("filter iterations").fill("iteration 217:")
    assert [x.get_attribute("data-n") for x in rows.all()] == ["217"]


def test_a_live_page_keeps_its_old_rows(look: Look) -> None:
    """A live page replaces the table without losing old rows or the selected page."""
    page = look()
    served = page.locator("#iterations").evaluate("section => section.outerHTML")
    replace = (
        "text => { sprintlogPage.replace('iterations', text); sprintlogPage.update(); }"
    )
    page.evaluate(replace, served)
    page.evaluate("location.hash = 'iterations'")
    page.get_by_label("rows", exact=True).select_option("8")
    rows = page.locator("#iterations tbody tr:visible")
    assert rows.last.get_attribute("data-n") == "1"
    page.evaluate(replace, served)
    assert rows.last.get_attribute("data-n") == "1"
    rows.last.locator("a").click()
    assert "41" in page.locator("#view article .facts").inner_text()


def test_old_rows_need_no_script(look: Look) -> None:
    """Without JavaScript they are in a closed group, which opens."""
    page = look(java_script_enabled=False)
    group = page.locator("#iterations noscript details, #iterations details")
    assert group.locator("summary").inner_text() == "250 earlier iterations"
    group.locator("summary").click()
    assert group.locator("tbody tr:visible").count() == COUNT - limits.ITERATIONS


def test_a_brief_view_counts_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its patch, each text file has its numbers of added and removed lines."""
    monkeypatch.setattr(limits, "VIEWS_BYTES", 0)
    with Workspace.init(tmp_path, here=True) as workspace:
        goal = {"mode": "ralph", "goal": "Win"}
        workspace.handle(CreateSprint(goal), sprint_id="one")
        workspace.handle(StartSprint(), sprint_id="one")
        (tmp_path / "a b.py").write_text("1\n2\n3\n")
        take_and_record(workspace, "one", envelope={})
        workspace.handle(StartIteration(), sprint_id="one")
        (tmp_path / "a b.py").write_text("1\n4\n")
        (tmp_path / "picture").write_bytes(b"\0\1")
        ran = f.AgentRan("", "completed", 0, iteration=1)
        workspace.handle(EndRun(ran, Verdict("completed", "x")), sprint_id="one")
        take_and_record(workspace, "one", envelope={})
        said = page_of(workspace, "one")
    files = [re.sub("<[^>]+>", "", x) for x in re.findall('<p class="file">.*?</p>', said)]
    assert [" ".join(x.split()) for x in files] == [
        "M a b.py +1 \N{MINUS SIGN}2 agent or outside",
        "A picture agent or outside",
    ]
    assert "sprintlog iteration diff 1 --patch" in said


def test_the_current_phase_is_shown_first(tmp_path: Path) -> None:
    """Completed phases before it are folded, even if the plan exceeds its limit."""
    phases = [{"id": f"phase-{n}", "status": "pending"} for n in range(2 * limits.NODES)]

    document = {"sprint-id": "odd", "status": "in-progress", "phases": phases}

    def events() -> Iterator[Event]:
        yield f.SprintCompiled(document, f.Place("PROGRESS.yaml"))
        yield f.SprintStarted()
        for n in range(limits.NODES + 50):
            yield f.PhaseStarted(f"phase-{n}")
            yield f.PhaseCompleted(f"phase-{n}")
        yield f.PhaseStarted(f"phase-{limits.NODES + 50}")

    with workspace_with(tmp_path, events(), step_ms=1_000) as workspace:
        said = str(plan(sprint_facts(workspace, "odd")))
    folded, _, rest = said.partition("</details>")
    assert "449 completed: phase-0, phase-1" in folded
    assert rest.count("<b>phase-") == 2 * limits.NODES - 449
    assert re.search(r"<b>phase-450</b>.*?here", rest)
    assert "400 more: `sprintlog show progress` has all" in said
