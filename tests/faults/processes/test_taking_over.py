"""Deferred requests are taken over exactly once, whoever starts or dies."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.sprint.events import RequestQueued
from sprintlog.engine.sprint.phases.lifecycle import StartSprint
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.queue.decisions import DeferRequest
from sprintlog.engine.sprint.queue.requests import QueueRequests, SubmittedRequest
from sprintlog.projections import Workspace

from ..children import Herd, command_line
from ..ledger import PLAN

REQUESTS, SPRINTS = ("one", "two", "three"), 6


def make(root: Path) -> None:
    """Create a log whose first sprint deferred requests, and sprints to be started."""
    root.mkdir()
    with Workspace.init(root, here=True) as workspace:
        for name in ("first", *(f"s{number}" for number in range(SPRINTS))):
            workspace.handle(CreateSprint(plan=PLAN), sprint_id=name)
        workspace.handle(StartSprint(), sprint_id="first")
        asked = [SubmittedRequest(name, "low", "docs", request=name) for name in REQUESTS]
        workspace.handle(QueueRequests(asked), sprint_id="first")
        for name in REQUESTS:
            later = DeferRequest(name, "x", "next-sprint")
            workspace.handle(later, sprint_id="first")


def taken(root: Path) -> Counter[str]:
    """Return how often each request was taken over, over all sprints."""
    with Workspace.open(root) as workspace:
        events = [
            event
            for sprint in workspace.sprints()
            for event in workspace.repository.events(sprint, RequestQueued)
        ]
    return Counter(event.origin.request for event in events if event.origin is not None)


def test_racing_starts_take_over_once(tmp_path: Path) -> None:
    """However many sprints start at once, each request goes to exactly one of them."""
    root = tmp_path / "log"
    make(root)
    with Herd(root=root, errors=tmp_path / "errors", seconds=60) as herd:
        for number in range(SPRINTS):
            line = ["sprint", "start", "--sprint", f"s{number}"]
            herd.start(partial(command_line, line))
        codes = [code for code, _ in herd.hear()]
    assert codes == [0] * SPRINTS, (tmp_path / "errors").read_text()
    assert taken(root) == Counter(REQUESTS)


def dying(append: Callable[..., Any], *, at: int, before: bool) -> Callable[..., Any]:
    """Return an append that ends its process right before or after one of its calls."""
    calls = 0

    def whole(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at and before:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = append(*given, **named)
        if calls == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    return whole


@pytest.mark.sampled(3)
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("at", range(1, len(REQUESTS) + 2))
def test_killed_starts_take_over_once(tmp_path: Path, at: int, before: bool) -> None:
    """A start killed around any of its appends is completed when repeated."""
    root = tmp_path / "log"
    make(root)
    line = ["sprint", "start", "--sprint", "s0"]

    def body() -> int:
        SqliteLog.append = dying(  # type: ignore[method-assign]
            SqliteLog.append, at=at, before=before
        )
        return command_line(line)

    with Herd(root=root, errors=tmp_path / "errors", seconds=60) as herd:
        herd.start(body)
        ((code, _),) = herd.hear()
        assert code == -signal.SIGKILL
        herd.start(partial(command_line, line))
        ((code, _),) = herd.hear()
        assert code == 0, (tmp_path / "errors").read_text()
        herd.start(partial(command_line, ["sprint", "start", "--sprint", "s1"]))
        herd.hear()
    assert taken(root) == Counter(REQUESTS)
    with Workspace.open(root) as workspace:
        assert workspace.sprint("s0").is_running
        assert len(workspace.sprint("s0").queue) == len(REQUESTS)
