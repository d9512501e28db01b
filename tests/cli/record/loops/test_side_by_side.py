"""Two sprints in two work trees of one log, each with a separate loop."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from ...conftest import Run, read_state

pytestmark = pytest.mark.long

AGENT = """\
import os, sys, time
sprint, phase = os.environ["SPRINTLOG_SPRINT"], os.environ["PHASE_ID"]
with open("said.txt", "a") as said:
    said.write(f"{sprint} {phase} {f'Do {phase}' in sys.stdin.read()}\\n")
# The first phase of each ends only after that of the other began.
mine, theirs = (os.path.join(%r, f"{name}.began") for name in (sprint, %r))
open(mine, "w").close()
while not os.path.exists(theirs):
    time.sleep(0.01)
open(f"{phase}.done", "w").close()
print(f"{sprint} did {phase}")
"""
PHASES = ["a", "b", "c"]


@pytest.fixture
def trees(folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Provide two work trees of a repository, each with a sprint and an agent."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder / "one")]
    (folder / "one").mkdir()
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-qm", "c", "--allow-empty"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(folder / "two")], check=True)
    phases = [
        {"id": x, "prompt": f"Do {x}", "gate": {"script": f"test -e {x}.done"}}
        for x in PHASES
    ]
    found = {name: folder / name for name in ("one", "two")}
    for name, other in (("one", "two"), ("two", "one")):
        monkeypatch.chdir(found[name])
        (found[name] / "plan.yaml").write_text(json.dumps({"phases": phases}))
        (found[name] / "agent.py").write_text(AGENT % (str(folder), other))
        if name == "one":
            done("init")
        done("sprint", "create", name, "--plan", "plan.yaml")
    return found


def loop(tree: Path, sprint: str) -> "subprocess.Popen[str]":
    """Start the loop of a sprint in a work tree."""
    command = [sys.executable, "-m", "sprintlog.cli", "run", "--sprint", sprint]
    return subprocess.Popen(
        [*command, "--", sys.executable, "agent.py"],
        cwd=tree,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_both_come_to_their_ends(trees: dict[str, Path], done: Run) -> None:
    """Each does its own work in its own tree, in order; the log is intact."""
    loops = {name: loop(tree, name) for name, tree in trees.items()}
    for name, one in loops.items():
        out, errors = one.communicate(timeout=300)
        assert (one.returncode, out) == (0, f"{name}: done\n"), errors
    for name, tree in trees.items():
        document = read_state(tree)
        assert (document["sprint-id"], document["status"]) == (name, "completed")
        summaries = [phase["summary"] for phase in document["phases"]]
        assert summaries == [f"{name} did {phase}" for phase in PHASES]
        said = (tree / "said.txt").read_text().splitlines()
        assert said == [f"{name} {phase} True" for phase in PHASES]
    events = done("log", "--all", "--json").lines
    assert [event["position"] for event in events] == [*range(1, len(events) + 1)]
    for name in trees:
        own = [event for event in events if event["stream"] == f"sprint/{name}"]
        assert [event["version"] for event in own] == [*range(1, len(own) + 1)]
    # The loops really ran concurrently.
    streams = [event["stream"] for event in events]
    changes = sum(a != b for a, b in pairwise(streams))
    assert changes > len(trees)
    done("verify")


def test_going_back_in_one_leaves_the_other(
    trees: dict[str, Path], done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rollback in one tree changes neither the plan nor the file of the other."""
    for one in [loop(tree, name) for name, tree in trees.items()]:
        one.communicate(timeout=300)
    before = (trees["two"] / "PROGRESS.yaml").read_bytes()
    monkeypatch.chdir(trees["one"])
    done("rollback", "start", "--sprint", "one", "--yes")
    assert read_state(trees["one"])["status"] == "not-started"
    assert (trees["two"] / "PROGRESS.yaml").read_bytes() == before
    done("rebuild", "--check", "--sprint", "two")


def test_one_sprint_has_one_loop(trees: dict[str, Path], run: Run, done: Run) -> None:
    """The loop of a sprint that runs already is refused, from whichever work tree."""
    first = loop(trees["one"], "one")
    while not (trees["one"] / "said.txt").exists():
        assert first.poll() is None
    for tree in trees.values():
        second = loop(tree, "one")
        _, errors = second.communicate(timeout=300)
        assert second.returncode == 5
        assert "sprint one is being run by process" in errors
    (trees["one"].parent / "two.began").touch()
    first.communicate(timeout=300)
    assert first.returncode == 0
