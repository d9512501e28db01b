"""`doctor`: examines everything, changes nothing, and salvages intact data."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections.health import examination
from tests.faults.damage.salvaging import digest
from tests.store.test_lock_holder import HOLD

Checks = Callable[[], dict[str, dict[str, Any]]]


@pytest.fixture
def checks(run: Any) -> Checks:
    """Provide a function that returns doctor's checks by name, the last of equals."""

    def checks() -> dict[str, dict[str, Any]]:
        result = run("doctor", "--json")
        found = result.json["checks"]
        problems = [check for check in found if check["status"] == "problem"]
        assert result.code == (4 if problems else 0)
        assert all(set(c) == {"check", "status", "found", "hint"} for c in found)
        return {check["check"]: check for check in found}

    return checks


@pytest.fixture
def log(sprint: Path) -> Path:
    """Provide the folder of a log with several pages of events."""
    return sprint / ".sprintlog"


def scribble(database: Path, at: int) -> None:
    """Overwrite a page of the database by chance."""
    with database.open("r+b") as file:
        file.seek(at)
        file.write(random.Random(1).randbytes(4096))


def test_a_sound_log_has_no_problem(log: Path, checks: Checks) -> None:
    """Doctor finds no problem in a new log, and changes nothing."""
    before = digest(log)
    found = checks()
    assert {c["status"] for c in found.values()} <= {"ok", "note"}
    assert found["chain"]["status"] == found["state-file"]["status"] == "ok"
    assert digest(log) == before


def test_the_table_has_a_line_for_each_check(log: Path, done: Any) -> None:
    """As text, each check is a line, with its hint below."""
    lines = done("doctor").out.splitlines()
    assert [line.split()[1] for line in lines if not line.startswith(" ")][:2] == [
        "log",
        "git",
    ]
    assert all(line.split()[0] in ("ok", "note", "→") for line in lines)


def test_without_a_log_there_is_nothing_to_look_at(folder: Path, run: Any) -> None:
    """Without a log doctor reports this, like every command."""
    for arguments in (("doctor",), ("doctor", "--salvage", "new")):
        result = run(*arguments)
        assert (result.code, result.err.count("\n")) == (3, 2)
        assert result.err.startswith("error: there is no log")


@pytest.mark.parametrize("where", [b"SQLite format 3", b"sprint-started"])
def test_a_damaged_log_is_a_problem(log: Path, checks: Checks, where: bytes) -> None:
    """Damage ends with 4 and names the remedy; the log is unchanged."""
    scribble(log / "log.db", (log / "log.db").read_bytes().rindex(where) // 4096 * 4096)
    before = digest(log)
    found = checks()
    assert found["chain"]["status"] == "problem"
    assert "--salvage" in found["chain"]["hint"]
    assert digest(log) == before


def test_a_live_log_is_read_with_its_journal(
    log: Path, sprint: Path, run: Any, checks: Checks
) -> None:
    """Events only in the write-ahead log are examined, and stay there."""
    aside = sprint / "aside"
    connection = sqlite3.connect(log / "log.db")
    connection.execute("SELECT count(*) FROM events").fetchall()
    run("note", "in the journal")
    shutil.copytree(log, aside)
    connection.close()
    shutil.rmtree(log)
    aside.rename(log)
    before = digest(log)
    found = checks()
    assert "position 3" in found["head-file"]["found"]
    assert found["chain"]["status"] == "ok"
    assert digest(log) == before


def test_a_locked_log_is_looked_at_at_once(log: Path, checks: Checks) -> None:
    """The holder of the log is named, without waiting."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    words = [sys.executable, "-c", HOLD, str(log / "log.db")]
    with subprocess.Popen(words, **pipes) as holder:  # type: ignore[call-overload]
        assert holder.stdout.readline() == b"held\n"
        found = checks()
        holder.stdin.close()
    assert found["chain"]["status"] == "ok"
    if Path("/proc/locks").exists():
        assert found["lock"]["hint"] == f"`ps -fp {holder.pid}`"


def test_an_end_that_is_lost_is_counted(log: Path, run: Any, checks: Checks) -> None:
    """The head file reveals the number of missing acknowledged events."""
    before = (log / "log.db").read_bytes()
    for number in range(3):
        run("note", f"note {number}")
    (log / "log.db").write_bytes(before)
    found = checks()
    assert found["head-file"]["status"] == "problem"
    assert "3 missing" in found["head-file"]["found"]


def test_permissions_and_second_names_are_told(log: Path, checks: Checks) -> None:
    """Files readable by others, and a database with two names, get a command."""
    (log / "log.db-head").chmod(0o644)
    os.link(log / "log.db", log.parent / "second")
    found = checks()
    assert found["permissions"]["hint"] == f"`chmod -R go= {log}`"
    assert found["hard-links"]["status"] == "problem"


def test_drift_is_told_and_nothing_is_repaired(
    log: Path, sprint: Path, checks: Checks
) -> None:
    """An edited state file is a problem, and is unchanged."""
    (sprint / "PROGRESS.yaml").write_text("status: completed\n")
    assert checks()["state-file"]["status"] == "problem"
    assert (sprint / "PROGRESS.yaml").read_text() == "status: completed\n"


def test_a_log_that_git_would_take_is_told(log: Path, sprint: Path, checks: Checks) -> None:
    """In a work tree a log must be ignored, and never be tracked."""
    git = ("git", "-c", "safe.directory=*")
    subprocess.run([*git, "init", "-q", "."], check=True, cwd=sprint)
    assert checks()["git"]["status"] == "ok"
    (log / ".gitignore").unlink()
    assert "does not ignore" in checks()["git"]["found"]
    subprocess.run([*git, "add", "."], check=True, cwd=sprint)
    assert "tracks" in checks()["git"]["found"]


def test_what_a_killed_process_left_is_told(
    log: Path, sprint: Path, checks: Checks
) -> None:
    """Drafts may be deleted; a file moved by a write is saved by the next command."""
    (sprint / ".PROGRESS.yaml.sprintlog-new").write_text("half")
    assert checks()["left-over"]["status"] == "note"
    (sprint / ".PROGRESS.yaml.sprintlog-new").unlink()
    (sprint / ".PROGRESS.yaml.sprintlog-old").write_text("theirs")
    assert checks()["left-over"]["status"] == "warning"


def test_without_room_for_a_copy_the_rest_is_told(
    log: Path, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no copy can be made, doctor reports this, and checks everything else."""

    def full(*names: object) -> None:
        raise OSError(28, "No space left on device", "copy")

    monkeypatch.setattr(shutil, "copyfile", full)
    found = checks()
    assert found["chain"]["status"] == "warning"
    assert "No space left" in found["chain"]["found"]


def test_a_log_that_is_written_to_is_no_false_alarm(
    log: Path, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Concurrent writes are reported, and not mistaken for drift."""
    monkeypatch.setattr(examination, "_rested", lambda stamps: False)
    (log.parent / "PROGRESS.yaml").write_text("newer than the copy\n")
    found = checks()
    assert found["others"]["status"] == found["state-file"]["status"] == "note"


def test_salvage_makes_a_log_that_takes_the_old_ones_place(
    log: Path, sprint: Path, run: Any, done: Any
) -> None:
    """The printed steps lead to a log that continues where the intact part ends."""
    for number in range(3):
        done("note", f"note {number}")
    content = (log / "log.db").read_bytes()
    (log / "log.db").write_bytes(content.replace(b"note 1", b"note X"))
    before = digest(log)
    result = run("doctor", "--salvage", "new")
    assert result.code == 4
    assert "3 events saved" in result.out
    assert digest(log) == before
    lines = (sprint / "new" / "lost.jsonl").read_text().splitlines()
    lost = [(e["position"], e["data"]["text"]) for e in map(json.loads, lines)]
    assert lost == [(4, "note X"), (5, "note 2")]
    log.rename(sprint / "damaged")
    (sprint / "new").rename(log)
    assert done("verify", "--json").json["position"] == 3
    done("phase", "start")


def test_salvage_of_a_sound_log_is_whole(sprint: Path, done: Any) -> None:
    """Everything is saved, the state file is recognized as ours, and the status is 0."""
    head = done("verify", "--json").json["head"]
    answer = done("doctor", "--salvage", "new", "--json").json
    assert answer["whole"] is True
    assert answer["head"] == head
    assert answer["lost"] is None
    assert answer["ranges"] == [{"first": 1, "last": 2, "state": "saved"}]
    new = sprint / "new"
    assert new.stat().st_mode & 0o777 == 0o700
    assert {p.name for p in new.iterdir()} == {".gitignore", "log.db", "log.db-head"}
    shutil.rmtree(sprint / ".sprintlog")
    new.rename(sprint / ".sprintlog")
    done("verify")
    done("phase", "start")
    assert "edit-observed" not in done("log").out


def test_kept_edits_are_taken_along(log: Path, sprint: Path, done: Any) -> None:
    """Stored edits by other people are also copied to the new folder."""
    (sprint / "PROGRESS.yaml").write_text("status: completed\n")
    done("rebuild")
    done("doctor", "--salvage", "new")
    (kept,) = (log / "edits").iterdir()
    (copy,) = (sprint / "new" / "edits").iterdir()
    assert (copy.name, copy.read_bytes()) == (kept.name, kept.read_bytes())
    assert copy.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("target", [".", ".sprintlog/new", "nowhere/new"])
def test_salvage_writes_over_nothing(sprint: Path, run: Any, target: str) -> None:
    """An existing path, the old log's own, and an impossible one are refused."""
    before = sorted(sprint.rglob("*"))
    result = run("doctor", "--salvage", target)
    assert (result.code, result.err.count("error: ")) == (1, 1)
    assert sorted(sprint.rglob("*")) == before


def test_nothing_is_left_where_nothing_can_be_saved(
    log: Path, sprint: Path, run: Any
) -> None:
    """A database without an event causes one error, and no new folder."""
    (log / "log.db").write_bytes(bytes(9000))
    result = run("doctor", "--salvage", "new")
    assert result.code == 4
    assert result.err.startswith("error: nothing can be saved")
    assert not [path for path in sprint.iterdir() if "new" in path.name]
