"""Pages of unusual logs: long ones, many rollbacks, clocks that went backwards."""

import re
import shlex
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path

import pytest

from sprintlog.commands import CreateSprint
from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.judging.events import IterationMeasured, Metrics, Usage
from sprintlog.engine.log.event import Event
from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.times import from_milliseconds
from sprintlog.projections.facts.sprint_facts import SprintFacts
from sprintlog.projections.page.document import SECTIONS, page
from sprintlog.projections.page.limits import EVENTS
from sprintlog.projections.workspace import Workspace

from .hostile import HOSTILE, hostile_night
from .night import SPRINT

BEGIN_MS = 1_768_510_800_000
MINUTE_MS = 60_000
PLAN = {"sprint-id": "odd", "goal": "Win", "phases": []}
SIZE_MAX = 3_000_000


def workspace_with(
    folder: Path, events: Iterator[Event], *, step_ms: int = MINUTE_MS
) -> Workspace:
    """Return a workspace whose log has these events, one per minute."""
    workspace = Workspace.in_memory(folder, clock=lambda: 0, entropy=bytes)
    new = [
        new_event(event, at=from_milliseconds(BEGIN_MS + n * step_ms), actor="runtime")
        for n, event in enumerate(events)
    ]
    workspace.log.append("sprint/odd", new, expect=Expect.NONE)
    return workspace


def loop(iterations: int) -> Iterator[Event]:
    """Yield a loop that measures each of its iterations."""
    yield f.SprintCompiled(PLAN, f.Place("PROGRESS.yaml"))
    yield f.SprintStarted()
    for number in range(1, iterations + 1):
        tests = 40 + number
        yield f.IterationStarted(number)
        usage = Usage(40_000 + number, 3_000, cost_usd=0.4 + number % 7 / 10, turns=9)
        summary = f"iteration {number}: finished work, and the rest"
        yield f.AgentRan("", "completed", 0, duration_ms=240_000, usage=usage,
                         iteration=number, output=summary)  # fmt: skip
        yield f.IterationEnded(number, summary)
        metrics = Metrics(
            test_count=tests, tests_passed=tests - number % 3, error_count=number % 5,
            coverage_percentage=60 + number % 30, build_status="success",
        )  # fmt: skip
        yield IterationMeasured(number, metrics, previous=number - 1 or None)
        yield f.ActivitySeen()


def test_two_hundred_iterations_are_small(tmp_path: Path) -> None:
    """The page of 200 iterations is at most 3 MB, and has a row for each of them."""
    with workspace_with(tmp_path, loop(200)) as workspace:
        said = page(workspace, "odd")
    assert len(said.encode()) <= SIZE_MAX
    assert all(f'data-n="{number}"' in said for number in range(1, 201))


def busy_loop(iterations: int) -> Iterator[Event]:
    """Yield a loop with 49 events in each iteration, in a plan of a hundred phases."""
    phases = [
        {"id": f"phase-{n:03}", "prompt": "a long task text " * 8} for n in range(100)
    ]
    plan = {"sprint-id": "odd", "status": "in-progress", "goal": "Win", "phases": phases}
    yield f.SprintCompiled(plan, f.Place("PROGRESS.yaml"))
    yield f.SprintStarted()
    for number, (*first, last) in enumerate(_iterations(iterations), start=1):
        yield from first
        for nth in range(14):
            phase = f"phase-{(14 * number + nth) % 100:03}"
            yield f.PhaseStarted(phase)
            yield f.AgentRan(phase, "failed", 3, error="exit code 3", iteration=number)
            yield f.PhaseFailed(phase, f"exit code 3: {'the tests fail again ' * 9}")
        yield last


def _iterations(count: int) -> Iterator[list[Event]]:
    events = [*loop(count)][2:]
    size = len(events) // count
    yield from (events[at : at + size] for at in range(0, len(events), size))


@pytest.mark.long
def test_two_hundred_busy_iterations_are_small_too(tmp_path: Path) -> None:
    """However many events each has, the page stays as small, and lists omissions.

    Every iteration has its row, its bar and its point; of the rest, only the newest is
    shown.
    """
    with workspace_with(tmp_path, busy_loop(200), step_ms=1_000) as workspace:
        said = page(workspace, "odd")
        count = workspace.sprint("odd").version
    assert count >= 200 * 45
    assert len(said.encode()) <= SIZE_MAX
    assert all(f'data-n="{number}"' in said for number in range(1, 201))
    assert all(f"<title>iteration {n}, " in said for n in range(1, 201))
    assert said.count('<g class="point') == 200
    assert re.search(r"[\d,]+ earlier bars not shown", said)
    assert f"{count - EVENTS:,} earlier ones" in said


def test_words_of_a_megabyte_are_cut(tmp_path: Path) -> None:
    """Whatever agents write, in every text field, a page stays small and inert."""
    with hostile_night(tmp_path) as workspace:
        said = page(workspace, SPRINT)
    assert max(len(word) for word in HOSTILE) == 1_000_000
    assert len(said.encode()) <= SIZE_MAX
    read = _Read()
    read.feed(said)
    assert {name for name, _ in read.tags} <= _TAGS
    assert [x for _, given in read.tags for x in given if x.startswith("on")] == []
    scripts = [given for name, given in read.tags if name == "script"]
    assert scripts == [{}]
    assert "\u202e" not in said


class _Read(HTMLParser):
    """Reads a page as a browser does: elements with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append((tag, dict(attrs)))


_TAGS = {
    *("html", "head", "meta", "title", "style", "body", "nav", "main", "header", "section"),
    *("h1", "h2", "h3", "p", "a", "b", "strong", "small", "span", "code", "div", "time"),
    *("ul", "ol", "li", "dl", "dt", "dd", "details", "summary", "figure", "figcaption"),
    *("table", "thead", "tbody", "tr", "th", "td", "script", "wbr"),
    *("template", "noscript", "article", "pre", "ins", "del"),
    *("svg", "g", "rect", "line", "circle", "path", "polyline", "text", "pattern", "defs"),
}
"""Every element that a page may have."""


def test_a_sprint_with_any_name_is_named_on_command_lines(tmp_path: Path) -> None:
    """With two in a log each command on the page names its sprint, quoted for a shell."""
    name = 'it\'s "mine" <b>'
    with workspace_with(tmp_path, loop(2)) as workspace:
        workspace.handle(CreateSprint(plan={"mode": "ralph", "goal": "x"}), sprint_id="b")
        facts = SprintFacts(workspace, "odd", at="version:3")
        facts.sprint.id = name
        words = shlex.split(f"sprintlog log{facts.named}")
    assert words == ["sprintlog", "log", "--sprint", name]


def test_one_event_is_a_page(tmp_path: Path) -> None:
    """The page of the smallest log has every section, and never shows "0 of 0"."""
    with workspace_with(tmp_path, islice(loop(1), 1)) as workspace:
        said = page(workspace, "odd")
    assert all(f'id="{name}"' in said for name in SECTIONS)
    assert "There is no iteration yet." in said
    assert "$0.00" not in said
    assert "<dt>tokens of the sprint</dt><dd>\N{EN DASH}" in said


def test_no_log_has_no_page(tmp_path: Path) -> None:
    """For a sprint without events one line reports this."""
    with (
        Workspace.in_memory(tmp_path, clock=lambda: 0, entropy=bytes) as workspace,
        pytest.raises(NotFoundError),
    ):
        page(workspace, "odd")


def test_a_long_log_is_bounded(tmp_path: Path) -> None:
    """Of many events the newest are shown, with the number of the others."""

    def events() -> Iterator[Event]:
        yield from loop(2)
        yield from (f.ActivitySeen() for _ in range(9_000))

    with workspace_with(tmp_path, events(), step_ms=1_000) as workspace:
        said = page(workspace, "odd")
        count = workspace.sprint("odd").version
    assert f"{count - EVENTS:,} earlier ones" in said
    assert len(said.encode()) <= SIZE_MAX


def test_clocks_that_went_backwards(tmp_path: Path) -> None:
    """Whatever the clocks were, there is a page without negative values."""
    with workspace_with(tmp_path, loop(5), step_ms=-MINUTE_MS) as workspace:
        said = page(workspace, "odd")
    assert 'width="-' not in said
    assert 'x="-' not in said


def test_two_hundred_rollbacks(tmp_path: Path) -> None:
    """Each is an arrow, and its discarded events are marked."""

    def events() -> Iterator[Event]:
        yield f.SprintCompiled(PLAN, f.Place("PROGRESS.yaml"))
        yield f.SprintStarted()
        for number in range(1, 201):
            yield f.IterationStarted(number)
            yield f.RolledBack(2, f"try {number} was no good")

    with workspace_with(tmp_path, events()) as workspace:
        said = page(workspace, "odd")
    assert said.count('class="arrow"') == 200
    assert len(said.encode()) <= SIZE_MAX


def test_unknown_is_never_zero(tmp_path: Path) -> None:
    """An iteration without measurements shows dashes, and no cost of $0.00."""

    def events() -> Iterator[Event]:
        yield f.SprintCompiled(PLAN, f.Place("PROGRESS.yaml"))
        yield f.SprintStarted()
        yield f.IterationStarted(1)
        yield f.AgentRan("", "completed", 0, iteration=1)
        yield f.IterationEnded(1)

    with workspace_with(tmp_path, events()) as workspace:
        said = page(workspace, "odd")
    assert "$0.00" not in said
    assert "<dt>cost of the sprint</dt><dd>\N{EN DASH}" in said
