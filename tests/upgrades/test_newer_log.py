"""An older program opens a log that a newer one has written: finished work waits."""

import json
import os
import shlex
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sprintlog.engine.log.stores.sqlite.schema import MIGRATIONS
from tests.adapters.trees import git
from tests.architecture.tree import PACKAGE_PATH

from .conftest import Installed

FUTURE = """
from pathlib import Path
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.projections.workspace import Workspace
with Workspace.open(Path.cwd()) as workspace:
    event = NewEvent("sprint-dreamt", b"{}", "2026-05-01T10:00:00Z", "runtime", 3)
    workspace.log.append("sprint/s", [event], expect=Expect.EXISTS)
"""
TOKEN = f"ghp_{'a1B2' * 9}"
SAID = json.dumps(
    {"type": "result", "subtype": "success", "is_error": False, "result": f"done {TOKEN}"}
)


@pytest.fixture
def checkout(tmp_path: Path) -> Installed:
    """Return the checkout's code as an installed copy, with a log."""
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "-q")
    git(tree, "commit", "-q", "--allow-empty", "-m", "i")
    clean = {n: v for n, v in os.environ.items() if not n.startswith("SPRINTLOG_")}
    given = {"PYTHONPATH": str(PACKAGE_PATH), "HOME": str(tmp_path)}
    installed = Installed(PACKAGE_PATH, tree, clean | given)
    installed.run("init", "--here")
    return installed


def set_schema(tree: Path, version: int, statement: str) -> None:
    """Change the schema of a log, and its version."""
    with closing(sqlite3.connect(tree / ".sprintlog" / "log.db")) as log:
        log.execute(statement)
        log.execute(f"PRAGMA user_version = {version}")
        log.commit()


def waiting(tree: Path) -> list[Path]:
    """Return the runs spooled next to a log."""
    return [*(tree / ".sprintlog" / "spool").glob("*.run")]


def test_wrapped_run_waits_for_a_newer_version(checkout: Installed) -> None:
    """The command runs, its record waits masked, and the next version records it."""
    tree = checkout.tree
    set_schema(tree, len(MIGRATIONS) + 1, "CREATE TABLE more (a)")
    command = ("--sprint", "s", "--", "sh", "-c", f"echo {shlex.quote(SAID)}; exit 3")
    done = checkout.run("wrap", *command)
    assert (done.returncode, done.stdout) == (3, f"{SAID}\n")
    assert "supports only versions up to" in done.stderr
    (held,) = waiting(tree)
    assert TOKEN not in held.read_text()
    assert held.stat().st_mode & 0o777 == 0o600
    set_schema(tree, len(MIGRATIONS), "DROP TABLE more")
    assert checkout.run("wrap", "--sprint", "s", "--", "true").returncode == 0
    assert not waiting(tree)
    first, second = (event["data"] for event in checkout.events("agent-ran"))
    assert (first["exit_code"], first["iteration"]) == (3, 1)
    assert first["output"].startswith('{"type"')
    assert second["iteration"] == 2
    assert checkout.run("verify").returncode == 0


def test_run_of_a_loop_waits_for_a_newer_version(checkout: Installed) -> None:
    """A loop whose log becomes newer midway ends with 4, and the agent's run is spooled."""
    tree = checkout.tree
    plan = "phases: [{id: a, prompt: A}, {id: b, prompt: B}]\n"
    (tree / "plan.yaml").write_text(plan)
    checkout.run("sprint", "create", "s", "--plan", "plan.yaml")
    writes = shlex.join([sys.executable, "-c", FUTURE])
    future = f"cat > /dev/null; {writes}; echo well done"
    done = checkout.run("run", "--", "sh", "-c", future)
    assert done.returncode == 4, done.stderr
    assert "sprint-dreamt version 3 is not supported: a newer" in done.stderr
    (held,) = waiting(tree)
    said = json.loads(held.read_text())
    assert (said["sprint_id"], said["exit_code"]) == ("s", 0)
    assert said["output"] == "well done\n"
