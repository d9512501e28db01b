"""State files: lost and rebuilt, edited by others and stored, never torn."""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.sprint.phases import leaves
from sprintlog.projections.state_files.yaml.reader import load
from sprintlog.projections.workspace import Workspace

PROGRESS = "PROGRESS.yaml"


def edit(path: Path, old: str, new: str) -> bytes:
    """Change a file by hand and return its new bytes."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path.read_bytes()


def test_an_edit_is_told_in_words(sprint: Path, done: Any) -> None:
    """Log and audit name the first fields like `diff`, and the command to adopt them."""
    file = sprint / "PROGRESS.yaml"
    text = file.read_text().replace("prompt: Read it all", "prompt: Read it twice")
    file.write_text(text)
    done("note", "one")
    (event,) = done("log", "--type", "edit-observed", "--json").lines
    assert event["data"]["fields"] == ["phases[review].prompt"]
    said = "PROGRESS.yaml was edited by hand: phases[review].prompt (1 change), "
    said += "not adopted; run `sprintlog adopt` to adopt the edit"
    line = done("log", "--type", "edit-observed").out
    assert f"edit-observed  {said}; kept PROGRESS-" in line
    told = done("audit", "--kind", "edit").out
    assert f"edit-observed: {said}\n" in told
    assert f"on    the file of version {event['data']['since']}\n" in told
    file.write_text(text.replace("status: pending", "status: skipped"))
    done("note", "two")
    (*_, event) = done("log", "--type", "edit-observed", "--json").lines
    count = len(event["data"]["changes"])
    line = done("log", "--type", "edit-observed", "--last", "1").out
    assert f" and {count - 2} more ({count} changes), " in line
    file.write_text("torn: [")
    done("note", "three")
    line = done("log", "--type", "edit-observed", "--last", "1").out
    assert "PROGRESS.yaml was edited by hand: " in line
    assert "adopt" not in line


def test_comes_back_byte_for_byte(sprint: Path, done: Any) -> None:
    """`rebuild` recreates a deleted state file with the same bytes."""
    done("phase", "start")
    before = (sprint / PROGRESS).read_bytes()
    (sprint / PROGRESS).unlink()
    done("rebuild")
    assert (sprint / PROGRESS).read_bytes() == before


def test_comes_back_with_the_next_recording(sprint: Path, done: Any) -> None:
    """A deleted state file is written by the next recording; that is not an edit."""
    (sprint / PROGRESS).unlink()
    done("phase", "start")
    assert (sprint / PROGRESS).exists()
    assert done("log", "--type", "edit-observed").out == "no events\n"


def test_keeps_an_edit_and_records_it(sprint: Path, done: Any) -> None:
    """An edit is stored completely and recorded by field, but does not take effect."""
    theirs = edit(sprint / PROGRESS, "status: in-progress", "status: completed")
    result = done("phase", "start")
    assert "was edited by others" in result.err
    event = done("log", "--type", "edit-observed", "--json").json["data"]
    assert event["digest"] == sha256(theirs).hexdigest()
    assert event["changes"] == [{"op": "replace", "path": "/status", "value": "completed"}]
    assert (sprint / ".sprintlog" / "edits" / event["kept"]).read_bytes() == theirs
    assert load((sprint / PROGRESS).read_bytes())["status"] == "in-progress"


def test_compares_an_edit_with_the_version_it_was_made_on(sprint: Path, done: Any) -> None:
    """The recorded changes are only the edit's, not the log's since then."""
    old = (sprint / PROGRESS).read_bytes()
    done("phase", "start", "--at", "2026-01-15T09:01:00Z")
    edit(sprint / PROGRESS, "prompt: Make a branch", "prompt: Make two")
    done("phase", "complete", "--at", "2026-01-15T09:02:00Z")
    event = done("log", "--type", "edit-observed", "--json").json["data"]
    assert [c["path"] for c in event["changes"]] == ["/phases/0/prompt"]
    assert old != (sprint / PROGRESS).read_bytes()


def test_records_one_edit_once(sprint: Path, done: Any) -> None:
    """After an edit was stored and our file written, nothing more is observed."""
    edit(sprint / PROGRESS, "Make a branch", "Make two")
    done("sprint", "heartbeat")
    done("sprint", "heartbeat")
    assert len(done("log", "--type", "edit-observed", "--json").lines) == 1


def test_keeps_a_file_that_is_not_yaml(sprint: Path, done: Any) -> None:
    """A torn or foreign file is also stored, with the reason why it has no changes."""
    (sprint / PROGRESS).write_bytes(b"status: [torn")
    done("sprint", "heartbeat")
    event = done("log", "--type", "edit-observed", "--json").json["data"]
    assert "changes" not in event
    assert "PROGRESS.yaml" in event["problem"]
    assert (
        sprint / ".sprintlog" / "edits" / event["kept"]
    ).read_bytes() == b"status: [torn"


def test_takes_an_older_version_of_ours_as_stale(sprint: Path, done: Any) -> None:
    """A file with bytes we once wrote is merely stale: no edit is recorded."""
    old = (sprint / PROGRESS).read_bytes()
    done("phase", "start")
    new = (sprint / PROGRESS).read_bytes()
    (sprint / PROGRESS).write_bytes(old)
    done("rebuild")
    assert (sprint / PROGRESS).read_bytes() == new
    assert done("log", "--type", "edit-observed").out == "no events\n"


@pytest.mark.parametrize(
    ("spoil", "state"),
    [
        (lambda path: path.unlink(), "missing"),
        (lambda path: path.write_text("edited: true\n"), "edited"),
    ],
)
def test_check_tells_and_writes_nothing(
    sprint: Path, run: Any, spoil: Callable[[Path], Any], state: str
) -> None:
    """`rebuild --check` ends with 4 when a file differs, and changes nothing."""
    assert run("rebuild", "--check").code == 0
    spoil(sprint / PROGRESS)
    before = (sprint / PROGRESS).read_bytes() if (sprint / PROGRESS).exists() else None
    result = run("rebuild", "--check", "--json")
    assert (result.code, result.json["state"]) == (4, state)
    after = (sprint / PROGRESS).read_bytes() if (sprint / PROGRESS).exists() else None
    assert before == after


def test_maintains_a_checksum_where_one_exists(sprint: Path, done: Any) -> None:
    """A `.checksum` next to the file follows it; none is created without one."""
    side = sprint / (PROGRESS + ".checksum")
    done("phase", "start")
    assert not side.exists()
    side.write_text("old")
    done("phase", "complete")
    assert side.read_text() == sha256((sprint / PROGRESS).read_bytes()).hexdigest()


def test_leaves_unchanged_bytes_alone(sprint: Path, done: Any) -> None:
    """A file whose bytes would not change is not written again."""
    before = os.stat(sprint / PROGRESS)
    done("note", "nothing to see")
    done("rebuild")
    after = os.stat(sprint / PROGRESS)
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_is_readable_by_others(sprint: Path) -> None:
    """State files follow the umask; the log's folder is only for its owner."""
    os.umask(umask := os.umask(0))
    assert (sprint / PROGRESS).stat().st_mode & 0o777 == 0o666 & ~umask
    for path in (sprint / ".sprintlog").rglob("*"):
        if path.name != ".gitignore":
            assert path.stat().st_mode & 0o077 == 0, path


def test_refuses_a_folder_outside_the_work_tree(
    sprint: Path, run: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """State files are written only below the work tree."""
    outside = tmp_path_factory.mktemp("outside")
    result = run(
        "sprint", "create", "far", "--plan", "plan.yaml", "--sprint-dir", str(outside)
    )
    assert result.code == 1
    assert not list(outside.iterdir())


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_says_what_was_recorded_however_it_ended(
    sprint: Path, error: type[BaseException]
) -> None:
    """However a workspace is closed, the state file has its recorded events."""

    def use() -> None:
        with Workspace.open(sprint) as workspace:
            workspace.handle_with(
                "auth", lambda state, at: leaves.StartPhase().decide(state, at)
            )
            raise error

    with pytest.raises(error):
        use()
    assert load((sprint / PROGRESS).read_bytes())["phases"][0]["status"] == "in-progress"


def test_tells_of_edits_on_the_way_out(sprint: Path) -> None:
    """An edit found when a workspace is closed is reported and stored."""
    edit(sprint / PROGRESS, "status: in-progress", "status: completed")
    told: list[str] = []
    with Workspace.open(sprint) as workspace:
        workspace.tell = told.append
        workspace.handle_with(
            "auth", lambda state, at: leaves.StartPhase().decide(state, at)
        )
    assert "was edited by others" in told[0]


def test_ends_as_it_ended_where_the_file_cannot_be_written(sprint: Path) -> None:
    """The error that ended a workspace's use takes precedence over an unwritable file."""
    told: list[str] = []

    def use() -> None:
        with Workspace.open(sprint) as workspace:
            workspace.tell = told.append
            workspace.handle_with(
                "auth", lambda state, at: leaves.StartPhase().decide(state, at)
            )
            (sprint / PROGRESS).unlink()
            (sprint / PROGRESS).mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use()
    assert told[0].startswith("PROGRESS.yaml")
