"""The settings determine a snapshot's content, whichever command or program takes it."""

import ast
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import sprintlog
from sprintlog.cli.wrapping.frames import WrapRequest, result
from sprintlog.cli.wrapping.recorder import record
from sprintlog.engine.service.work_tree.snapshot import take_and_record

from ...adapters.trees import put
from ...architecture.tree import ROOMS, modules, parse, relative
from ..conftest import Run

SETTINGS = '[snapshot]\nfile-max = 1\ninclude-ignored = [".env"]\n'


def _wrapped(run: Run) -> None:
    asked = WrapRequest(("true",), snapshot=True)
    frames = io.BytesIO(result(0, 5))
    record(
        asked,
        frames,
        lambda said: None,
        key="k",
        began=1_800_000_000_000,
        before=lambda: None,
    )


def _library(run: Run) -> None:
    known = {"snapshot.file-max": 1, "snapshot.include-ignored": [".env"]}
    with sprintlog.open() as workspace:
        workspace.environment, workspace.setting = os.environ, known.get
        take_and_record(workspace, "auth", envelope={})


def _restored(run: Run) -> None:
    assert run("iteration", "snapshot").code == 0
    put(Path("a"), b"later\n")
    assert run("rollback", "iter:1", "--files", "--yes").code == 0


AGENT = ("--", "sh", "-c", "cat >/dev/null; echo done")
DOORS: dict[str, Callable[[Run], object]] = {
    "iteration snapshot": lambda run: run("iteration", "snapshot"),
    "iteration end": lambda run: run("iteration", "end", "--snapshot"),
    "measure by rules": lambda run: run("iteration", "measure", "--by-rules"),
    "run": lambda run: run("run", "--snapshot", *AGENT),
    "wrap": _wrapped,
    "a restore": _restored,
    "the library": _library,
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_honours_the_settings(sprint: Path, run: Run, door: str) -> None:
    """A file over `file-max` is omitted and named; a requested ignored file is included."""
    assert run("iteration rules set", "--measure", "echo 3/4", "--snapshot").code == 0
    assert run("iteration", "start").code == 0
    put(sprint / ".gitignore", b".env\nother\n")
    put(sprint / ".env", b"x")
    put(sprint / "other", b"x")
    put(sprint / "a", b"x")
    put(sprint / "big", b"x" * (1024 * 1024 + 1))
    put(sprint / "sprintlog.toml", SETTINGS.encode())
    if door == "measure by rules":
        assert run("iteration", "end").code == 0
    DOORS[door](run)
    taken = run("log", "--type", "snapshot-taken", "--json").lines
    taken = [e for e in taken if e["data"].get("purpose") != "instruments"]
    assert taken
    for event in taken:
        (left,) = event["data"]["left_out"]
        assert left == {"path": "big", "reason": "larger than 1048576 bytes"}
        number = f"snapshot:{event['data']['snapshot']}"
        out = Path(f"../{event['data']['snapshot']}-{sprint.name}")
        assert run("restore", number, "--into", out).code == 0
        assert {".env", "a"} <= {path.name for path in out.iterdir()}
        assert not (out / "other").exists()


def test_limits_are_made_in_one_place() -> None:
    """Only `limits_of` creates a snapshot's limits; no other code calls `Limits`."""
    found = {
        relative(path)
        for path in modules(*ROOMS)
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Limits"
    }
    assert found == {"engine/service/work_tree/snapshot.py"}


def test_paths_that_are_left_out_are_named_everywhere(
    sprint: Path, run: Run, done: Run, folder: Path
) -> None:
    """`wrap`, `status`, `report` and the page name them with their count and reasons."""
    for number in range(5):
        put(sprint / f"big{number}", b"x" * (1024 * 1024 + 1))
    put(sprint / "sprintlog.toml", SETTINGS.encode())
    told: list[str] = []
    asked = WrapRequest(("true",), sprint_id="auth", snapshot=True)
    frames = io.BytesIO(result(0, 5))
    record(
        asked, frames, told.append, key="k", began=1_800_000_000_000, before=lambda: None
    )
    named = ", ".join(f"big{number} (larger than 1048576 bytes)" for number in range(3))
    said = f"5 paths are not in the snapshot: {named} and 2 more"
    assert told == [said]
    assert said in " ".join(done("status").out.split())
    assert said in done("report").out
    done("report", "--html", "../page.html")
    assert said in (folder / "../page.html").read_text()
    for command in ("status", "report"):
        answer = done(command, "--json").json["left_out"]
        assert (answer["count"], len(answer["paths"])) == (5, 5)
    assert "big4" in done("show", "iteration", "1", "--files").out
    (sprint / "sprintlog.toml").unlink()
    done("iteration", "start")
    assert done("iteration", "end", "--snapshot").err == "6 files kept\n"
    assert "left_out" not in done("status", "--json").json
