"""Rows about the page of a sprint: its cost in addition to fold and blame of the log."""

import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sprintlog.commands import CreateSprint, EndRun, StartIteration, StartSprint, Verdict
from sprintlog.engine.judging.events import IterationMeasured, Metrics, Usage
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.work_tree.snapshot import take_and_record
from sprintlog.engine.sprint.events import AgentRan, IterationEnded, IterationStarted
from sprintlog.projections.history.blame_lines import blame_lines
from sprintlog.projections.page.document import page
from sprintlog.projections.page.live_pages import LivePages
from sprintlog.projections.workspace import Workspace
from tests.page.browsers import QUIET, found

from ..logs import Bench, append_all, make_sprint
from ..measure import OURS, Figure, Skip, duration, side_by_side
from ..samples import PHASES, SPRINT, loop, new_events

ITERATIONS = 200
OPENED, PATCHED = 100, 110
"""The iterations of a page that is opened, and the lines that each one replaces."""
MANY = 5_000
"""The iterations of a long page."""


def page_of_200(bench: Bench) -> Figure:
    """Measure the page of 200 iterations against fold and blame of the same log."""
    folder = bench.new_folder("page")
    with make_sprint(folder, PHASES) as workspace:
        append_all(workspace.log, new_events(_measured()), version=1)
    with Workspace.open(folder) as ours, Workspace.open(folder) as theirs:
        sides = side_by_side(
            partial(page, ours, SPRINT),
            partial(_fold_and_blame, theirs),
            rounds=bench.sizes.rounds,
        )
        size = len(page(ours, SPRINT).encode())
    found = duration(sides, f"{OURS}fold and blame of the same log")
    return found._replace(note=f"{size:,} bytes")


def opened(bench: Bench) -> Figure:
    """Measure how long a browser takes to open the file of 100 iterations with patches."""
    folder = bench.new_folder("opened")
    with Workspace.init(folder, here=True) as workspace:
        workspace.handle(CreateSprint({"mode": "ralph", "goal": "Win"}), sprint_id=SPRINT)
        workspace.handle(StartSprint(), sprint_id=SPRINT)
        take_and_record(workspace, SPRINT, envelope={})
        for number in range(1, OPENED + 1):
            lines = (f"value_{n} = {n * number} * 1_000_000\n" for n in range(PATCHED))
            (folder / f"part_{number % 9}.py").write_text("".join(lines))
            ran = AgentRan("", "completed", 0, output="did it\n" * 20, iteration=number)
            ended = EndRun(ran, Verdict("completed", f"part {number}"))
            for command in (StartIteration(), ended):
                workspace.handle(command, sprint_id=SPRINT)
            take_and_record(workspace, SPRINT, envelope={})
        said = page(workspace, SPRINT)
    found_ = _in_a_browser(folder, said, f"#i{OPENED}")
    return found_._replace(note=f"{found_.note}, {said.count('<template')} views")


def opened_long(bench: Bench) -> Figure:
    """Measure the file of 5,000 iterations: open it, then an early one, and go back."""
    folder, count = bench.new_folder("long"), min(MANY, bench.sizes.iterations)
    with make_sprint(folder, PHASES) as workspace:
        append_all(workspace.log, new_events(_measured(count)), version=1)
        said = page(workspace, SPRINT)
    return _in_a_browser(folder, said, "", f"#i{count * 4 // 5}", "#head")


def first_overview(bench: Bench) -> Figure:
    """Measure a server's first answer about 5,000 iterations against the whole page."""
    folder, count = bench.new_folder("first"), min(MANY, bench.sizes.iterations)
    with make_sprint(folder, PHASES) as workspace:
        append_all(workspace.log, new_events(_measured(count)), version=1)
    with Workspace.open(folder) as ours, Workspace.open(folder) as theirs:
        sides = side_by_side(
            lambda: LivePages({}).page(ours, SPRINT),
            partial(page, theirs, SPRINT),
            rounds=min(bench.sizes.rounds, 3),
        )
    return duration(sides, f"{OURS}the whole page")


def _in_a_browser(folder: Path, said: str, *links: str) -> Figure:
    """Measure how long a browser takes to open a page and its views, one after another."""
    if (program := found()) is None or find_spec("playwright") is None:
        raise Skip("no browser is installed, or no driver for it")
    file, blank = folder / "page.html", folder / "blank.html"
    file.write_text(said, encoding="utf-8")
    blank.write_text("<title>blank</title>")
    pages = ((file.as_uri(), links), (blank.as_uri(), ()))
    with ThreadPoolExecutor(1) as thread:  # the tests have a browser in this one
        ours, theirs = thread.submit(_least, program, folder, pages).result()
    return Figure(ours, theirs, "s", "an empty page", ours, f"{len(said.encode()):,} bytes")


def _least(
    program: str, home: Path, pages: Iterable[tuple[str, tuple[str, ...]]]
) -> list[float]:
    with import_module("playwright.sync_api").sync_playwright() as playwright:
        given = {"args": [*QUIET], "env": {**os.environ, "HOME": str(home)}}
        browser = playwright.chromium.launch(executable_path=program, **given)
        shown = browser.new_page()
        found_ = [min(_opened(shown, *each) for _ in range(5)) for each in pages]
        browser.close()
        return found_


def _opened(shown: Any, address: str, links: tuple[str, ...]) -> float:
    shown.goto("about:blank")
    began = time.perf_counter()
    shown.goto(address if not links else f"{address}{links[0]}")
    for link in links:
        shown.evaluate("link => { location.hash = link; }", link)
        shown.wait_for_selector("#view .facts" if link.startswith("#i") else "#quality svg")
    return time.perf_counter() - began


def _measured(iterations: int = ITERATIONS) -> Iterator[Event]:
    """Yield a loop whose iterations are run by an agent and measured."""
    number = 0
    for event in loop():
        if isinstance(event, IterationStarted):
            if number:
                usage = Usage(40_000 + number, 3_000, cost_usd=0.5)
                yield AgentRan("", "completed", 0, usage=usage, iteration=number)
                yield IterationEnded(number, "the work of it")
                passed = 40 + number - number % 3
                metrics = Metrics(test_count=40 + number, tests_passed=passed)
                yield IterationMeasured(number, metrics, previous=number - 1 or None)
            if number == iterations:
                return
            number = event.number
        yield event


def _fold_and_blame(workspace: Workspace) -> None:
    sprint = workspace.repository.from_nothing(SPRINT)
    assert sum(1 for _ in blame_lines(workspace, sprint))
