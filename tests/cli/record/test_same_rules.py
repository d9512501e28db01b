"""The same rules around every action: by a command, by the library, and by the loop."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from sprintlog.engine.adapters.processes.loop_lock import hold
from sprintlog.engine.adapters.processes.signals import Signals
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.service.driver.agent import Driver, RunSettings
from sprintlog.engine.service.driver.gate import run_gate
from sprintlog.engine.service.driver.runner import Runner
from sprintlog.engine.sprint.phases.leaves import CompletePhase, StartPhase
from sprintlog.engine.sprint.phases.lifecycle import StartSprint
from sprintlog.projections.workspace import Workspace

from ..conftest import Gated, Run
from ..restores import cut_short, files

TOKEN = "ghp_" + "a1" * 18
WHY = ("--reasoning", "So")


class Way(Protocol):
    """One entry point to the service, whose refusals are `RefusedError`."""

    def start(self, sprint: str) -> None:
        """Start a sprint."""

    def finish(self, phase: str, summary: str) -> None:
        """Finish a phase with a summary."""

    def check(self) -> None:
        """Run the gate that is due."""


class Command:
    """The command line."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def start(self, sprint: str) -> None:
        """Start a sprint."""
        self._call("sprint", "start", "--sprint", sprint)

    def finish(self, phase: str, summary: str) -> None:
        """Finish a phase with a summary."""
        self._call("phase", "start", phase)
        self._call("phase", "complete", phase, "--summary", summary)

    def check(self) -> None:
        """Run the gate that is due."""
        self._call("gate", "run")

    def _call(self, *words: str) -> None:
        result = self._run(*words)
        if result.code:
            raise RefusedError(result.err)


class Library:
    """A workspace that a program has opened."""

    def start(self, sprint: str) -> None:
        """Start a sprint."""
        with _opened() as workspace:
            workspace.handle(StartSprint(), sprint_id=sprint)

    def finish(self, phase: str, summary: str) -> None:
        """Finish a phase with a summary."""
        with _opened() as workspace:
            workspace.handle(StartPhase(phase), sprint_id="auth")
            workspace.handle(CompletePhase(phase, summary), sprint_id="auth")

    def check(self) -> None:
        """Run the gate that is due."""
        with _opened() as workspace:
            run_gate(workspace, "auth", environment=os.environ)


class Loop:
    """The loop, whose agent answers every prompt with the summary."""

    def start(self, sprint: str) -> None:
        """Run the sprint."""
        self._go(sprint, "done")

    def finish(self, phase: str, summary: str) -> None:
        """Run the remaining work."""
        self._go("auth", summary)

    def check(self) -> None:
        """Do the work that is due."""
        self._go("auth", "done")

    def _go(self, sprint: str, answer: str) -> None:
        says = f"import sys; sys.stdin.read(); print({answer!r})"
        means = RunSettings([sys.executable, "-c", says], os.environ, 60.0, waits=False)
        with (
            _opened() as workspace,
            Signals() as signals,
            hold(workspace.location.folder, sprint, now=workspace.now()) as (lock, _),
        ):
            Runner(
                Driver(
                    workspace, sprint, means=means, signals=signals, lock=lock, tell=_heard
                )
            ).run()


def _opened() -> Workspace:
    workspace = Workspace.open(Path.cwd())
    workspace.environment = os.environ
    return workspace


def _heard(line: str) -> None:
    """Ignore the output of a loop."""


@pytest.fixture(params=["command", "library", "loop"])
def way(request: pytest.FixtureRequest, run: Run) -> Way:
    """Provide every entry point."""
    ways: dict[str, Callable[[], Way]] = {
        "command": lambda: Command(run),
        "library": Library,
        "loop": Loop,
    }
    return ways[request.param]()


def types(done: Run, *more: str) -> list[str]:
    """Return the types of events, in order."""
    return [event["type"] for event in done("log", "--json", *more).lines]


@pytest.mark.sampled(1)
def test_an_unfinished_restore_is_finished_first(
    tree: Path, way: Way, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files left by a killed restore are restored before anything is recorded."""
    cut_short(done, monkeypatch)
    before = len(types(done))
    way.finish("build/login/implement", "done")
    assert files(tree)["src/login"] == b"good\n"
    assert types(done)[before] == "files-restored"


def test_an_edit_that_is_refused_stops_all(sprint: Path, way: Way, done: Run) -> None:
    """If edits are refused, nothing is recorded, and the edit remains."""
    done("iteration rules set", "--progress-edits", "refuse")
    edited = (sprint / "PROGRESS.yaml").read_text().replace("in-progress", "completed")
    (sprint / "PROGRESS.yaml").write_text(edited)
    before = types(done)
    with pytest.raises(RefusedError, match="nothing is recorded until it is resolved"):
        way.finish("setup", "done")
    assert types(done) == before
    assert (sprint / "PROGRESS.yaml").read_text() == edited


def test_a_token_is_masked(sprint: Path, way: Way, done: Run) -> None:
    """An agent's text appears in neither the log nor a state file with its token."""
    way.finish("setup", f"use {TOKEN}")
    assert "use [masked: github-token 3e74e065]" in done("log", "--json").out
    assert TOKEN not in done("log", "--json").out
    assert TOKEN not in (sprint / "PROGRESS.yaml").read_text()


def test_a_token_that_is_said_again_is_nothing_new(sprint: Path, done: Run) -> None:
    """A command is masked before the decision, so that it equals the recorded one."""
    way = Library()
    way.finish("setup", f"use {TOKEN}")
    before = types(done)
    with _opened() as workspace:
        outcome = workspace.handle(CompletePhase("setup", f"use {TOKEN}"), sprint_id="auth")
    assert not outcome.events
    assert types(done) == before


def test_a_deferred_request_returns(sprint: Path, way: Way, done: Run) -> None:
    """At the end of a phase, deferred requests are open again, in one append."""
    done("queue", "add", "one", "--id", "one", "--priority", "low", "--type", "docs")
    done("queue", "defer", "one", *WHY, "--until", "end-of-phase")
    way.finish("setup", "done")
    events = done("log", "--json").lines
    (end,) = [
        e for e in events if e["data"].get("phase") == "setup" and "complete" in e["type"]
    ]
    (back,) = [event for event in events if event["type"] == "request-returned"]
    assert back["position"] > end["position"]
    assert back["at"] == end["at"]


def test_a_fork_carries_nothing_over_twice(sprint: Path, way: Way, done: Run) -> None:
    """A request deferred by a sprint and its fork is taken over once."""
    done("queue", "add", "one", "--id", "one", "--priority", "low", "--type", "docs")
    done("queue", "defer", "one", *WHY, "--until", "next-sprint")
    done("fork", "again", "--sprint", "auth", "--from", "version:4")
    done("sprint", "create", "b", "--plan", "plan.yaml", "--sprint-dir", "b")
    way.start("b")
    (request,) = done("queue", "list", "--sprint", "b", "--json").json
    assert request["taken_over_from"]["request"] == "one"
    queued = types(done, "--sprint", "b")
    assert queued.index("request-queued") == queued.index("sprint-started") - 1


def test_no_gate_runs_in_another_work_tree(
    gated: Gated, folder: Path, way: Way, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gate would check other files there, so nothing is run or recorded."""
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run([*git, "init", "-q", "."], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    gated("touch ran")
    subprocess.run([*git, "worktree", "add", "-q", "other"], check=True)
    before = types(done)
    monkeypatch.chdir(folder / "other")
    monkeypatch.setenv("SPRINTLOG_SPRINT", "auth")
    with pytest.raises(RefusedError, match=f"sprint auth works in {folder}, "):
        way.check()
    assert types(done) == before
    assert not (folder / "other/ran").exists()
