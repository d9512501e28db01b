"""Two work trees on one log: records in a tree belong to its sprint."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintlog.projections import Workspace

from ... import needs
from ...adapters.trees import git
from ..conftest import Run

PLAN = """\
phases:
- {id: build, prompt: x, gate: {script: "true"}}
- {id: test, prompt: y}
"""
RPC = [sys.executable, "-P", "-m", "sprintlog.cli", "rpc"]
Door = Callable[[Run], object]


@pytest.fixture
def linked(folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a linked work tree whose sprint is `one`; that of the main tree is `main`."""
    main = folder / "main"
    for name, tree in (("main", main), ("one", folder / "one")):
        if name == "main":
            main.mkdir()
            git(main, "init", "-q")
            git(main, "commit", "-qm", "i", "--allow-empty")
        else:
            git(main, "worktree", "add", "-q", str(tree))
        monkeypatch.chdir(tree)
        (tree / "plan.yaml").write_text(PLAN)
        if name == "main":
            done("init")
        done("sprint", "create", name, "--plan", "plan.yaml")
        done("sprint", "start")
    return folder / "one"


def rpc(run: Run) -> None:
    """Record a note through the protocol for programs."""
    params = {"words": ["note", "x"]}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "call", "params": params}
    done = subprocess.run(
        RPC, input=json.dumps(asked).encode() + b"\n", capture_output=True, check=True
    )
    assert "result" in json.loads(done.stdout.splitlines()[-1]), done.stdout


def mcp(run: Run) -> None:
    """Record a request through the tools for agents."""
    needs.package("mcp", "mcp>=2.3")
    from ...mcp.conftest import Agent

    Agent().ask("request", title="x", why="y", priority="low", kind="bug")


def hooked(run: Run) -> None:
    """Let an agent's hooks report a turn."""
    for event in ("SessionStart", "UserPromptSubmit", "Stop"):
        call = {"session_id": "s", "hook_event_name": event, "cwd": os.getcwd()}
        command = [*RPC[:-1], "hook", "claude"]
        subprocess.run(command, input=json.dumps(call).encode(), check=True)


def all_of(*commands: str) -> Door:
    """Return a function that runs commands, one after another."""

    def go(run: Run) -> None:
        for command in commands:
            result = run(*command.split())
            assert result.code == 0, result

    return go


def wrapped(run: Run) -> None:
    """Wrap a command of a custom loop."""
    subprocess.run([*RPC[:-1], "wrap", "--", "true"], check=True)


QUEUED = "queue add x --priority low --type bug"
DOORS: dict[str, Door] = {
    "gate": all_of("phase start", "gate run"),
    "queue": all_of(QUEUED, "queue defer req-1 --until next-sprint --reasoning y"),
    "iteration": all_of("iteration start", "iteration end"),
    "way back": all_of("phase start", "rollback version:2", "undo"),
    "run": all_of("run -- echo x"),
    "wrap": wrapped,
    "rpc": rpc,
    "mcp": mcp,
    "hooks": hooked,
}


def events(of: Path) -> Counter[str]:
    """Return how many events each stream has."""
    with Workspace.open(of) as workspace:
        return Counter(recorded.stream for recorded in workspace.log.read())


@pytest.mark.parametrize("door", DOORS)
def test_what_is_recorded_in_a_tree_is_of_its_sprint(
    linked: Path, run: Run, door: str
) -> None:
    """Without a name no door records anything in the sprint of another tree."""
    before = events(linked)
    DOORS[door](run)
    added = events(linked) - before
    assert "sprint/main" not in added
    assert door == "hooks" or "sprint/one" in added, added
    assert sum(added.values()) > 0


def test_a_fork_is_of_the_tree_it_is_made_in(linked: Path, run: Run, done: Run) -> None:
    """The fork of another tree's sprint is this tree's, and that sprint does not change."""
    before = events(linked)
    done("fork", "k", "--from", "version:2", "--sprint", "main")
    for phase in ("build", "test"):
        done("phase", "skip", phase, "--reason", "x", "--sprint", "one")
    done("sprint", "complete", "--sprint", "one")
    noted = events(linked)
    done("note", "x")
    assert events(linked) - noted == {"sprint/k": 1}
    assert noted["sprint/main"] == before["sprint/main"]
