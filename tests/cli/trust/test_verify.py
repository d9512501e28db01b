"""`verify`: sound, damaged, drifted."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.upkeep import verify
from sprintlog.engine.log.stores.sqlite.schema import EVENTS
from sprintlog.engine.sprint.events import NoteAdded
from sprintlog.projections import Workspace
from sprintlog.projections.health.verify import QUICK_EVENTS


def test_finds_a_sound_log_sound(sprint: Path, done: Any) -> None:
    """An untouched log is sound, with its events counted."""
    report = done("verify", "--json").json
    assert (report["sound"], report["events"], report["findings"]) == (True, 2, [])


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET payload = '{}' WHERE position = 1",
        "UPDATE events SET actor = 'operator:eve' WHERE position = 2",
        "UPDATE events SET at = '2020-01-01T00:00:00Z' WHERE position = 1",
        "DELETE FROM events WHERE position = 1",
        "DELETE FROM events WHERE position = 2",
    ],
)
def test_finds_what_was_tampered_with(sprint: Path, run: Any, change: str) -> None:
    """A changed or missing event is damage, exit code 4."""
    database = sqlite3.connect(sprint / ".sprintlog" / "log.db")
    triggers = database.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    ).fetchall()
    for name, _ in triggers:
        database.execute(f"DROP TRIGGER {name}")
    database.execute(change)
    for _, sql in triggers:
        database.execute(sql)
    database.commit()
    database.close()
    assert run("verify").code == 4


def test_tells_drift_from_damage(sprint: Path, run: Any) -> None:
    """An edited state file is drift, with status 4; the log itself is intact."""
    (sprint / "PROGRESS.yaml").write_text("status: completed\n")
    result = run("verify", "--json")
    assert result.code == 4
    assert [f["severity"] for f in result.json["findings"]] == ["drift"]


def test_remarks_on_imported_contradictions(folder: Path, done: Any) -> None:
    """An imported document's contradictions are remarks, not damage."""
    done("init")
    (folder / "p.yaml").write_text(
        "sprint-id: x\nstatus: in-progress\nphases: [{id: a, status: completed}]\n"
        "current: {phase: 0, step: null, sub-phase: null}\nstats: {total-phases: 4}\n"
    )
    done("import", "progress", "p.yaml")
    findings = done("verify", "--json").json["findings"]
    assert {f["severity"] for f in findings} == {"remark"}


def test_reports_a_lost_end(sprint: Path, run: Any) -> None:
    """A log restored from before its last event is damage, with a complete report."""
    log = sprint / ".sprintlog" / "log.db"
    before = log.read_bytes()
    run("phase", "start")
    log.write_bytes(before)
    result = run("verify", "--json")
    assert result.code == 4
    assert any(f["where"] == "head" for f in result.json["findings"])
    assert run("phase", "complete").code == 4


def test_holds_a_head_written_down_elsewhere(sprint: Path, run: Any) -> None:
    """An earlier head must still be in the log; a rewritten log is detected."""
    noted = run("verify", "--json").json
    head = f"{noted['position']}:{noted['head']}"
    run("phase", "start")
    assert run("verify", "--expect-head", head).code == 0
    assert run("verify", "--expect-head", f"1:{noted['head']}").code == 4
    assert run("verify", "--expect-head", f"99:{noted['head']}").code == 4
    assert run("verify", "--expect-head", "head").code == 2


def test_finds_a_wrong_checkpoint(sprint: Path, run: Any) -> None:
    """A saved state that differs from its events is drift, and `rebuild` repairs it."""
    run("rebuild")
    run("phase", "start")
    database = sqlite3.connect(sprint / ".sprintlog" / "log.db")
    database.execute("UPDATE checkpoints SET version = version + 1")
    database.commit()
    database.close()
    assert "checkpoint" in run("verify").out
    run("rebuild")
    assert run("verify").code == 0


def change(sprint: Path, statement: str) -> None:
    """Run a statement on the caches of a log, as no one should."""
    database = sqlite3.connect(sprint / ".sprintlog" / "log.db")
    database.execute(statement)
    database.commit()
    database.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM written",
        "UPDATE written SET digest = zeroblob(32) WHERE version = 2",
        "UPDATE written SET path = 'elsewhere' WHERE version = 2",
        "UPDATE written SET version = 1 WHERE version = 2",
        "UPDATE written SET version = 99 WHERE version = 2",
        "INSERT INTO statuses VALUES ('sprint/auth', 2, 'completed')",
    ],
)
def test_finds_a_cache_that_would_change_an_answer(
    sprint: Path, run: Any, statement: str
) -> None:
    """A wrong stored digest or status is drift, and `rebuild` repairs it."""
    change(sprint, statement)
    result = run("verify", "--json")
    assert result.code == 4
    assert [f["severity"] for f in result.json["findings"]] == ["drift"]
    run("rebuild")
    assert run("verify").code == 0
    assert "edit-observed" not in run("log").out


def test_a_digest_of_an_older_file_changes_nothing(sprint: Path, run: Any) -> None:
    """Digests of older files matter only if such a file is restored."""
    change(sprint, "DELETE FROM written WHERE version = 1")
    assert run("verify").code == 0


def test_a_file_that_is_right_is_no_edit(sprint: Path, run: Any) -> None:
    """A file with the expected bytes is accepted as ours, whoever wrote it."""
    change(sprint, "DELETE FROM written")
    run("rebuild")
    run("phase", "start")
    assert "edit-observed" not in run("log").out


def test_quick_finds_the_event_missing_where_it_begins(sprint: Path, run: Any) -> None:
    """`--quick` also works if its first event is missing."""
    with Workspace.open(sprint) as workspace:
        notes = [NoteAdded(str(number)) for number in range(QUICK_EVENTS)]
        workspace.handle_with("auth", lambda sprint, at: list(notes))
    change(sprint, "DROP TRIGGER events_never_go")
    change(sprint, "DELETE FROM events WHERE position = 2")
    change(sprint, next(text for text in EVENTS if "TRIGGER events_never_go" in text))
    assert run("verify", "--quick").code == 4


def test_computes_the_same_in_other_environments(sprint: Path, run: Any) -> None:
    """With --determinism the files are computed again in other processes."""
    result = run("verify", "--determinism", "--quick")
    assert (result.code, "differs" in result.out) == (0, False)


def test_a_file_that_differs_elsewhere_is_damage(
    sprint: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that another environment computes differently is damage in each of them."""
    monkeypatch.setattr(verify, "render", lambda document: b"other: true\n")
    monkeypatch.setattr(verify, "ENVIRONMENTS", ({"TZ": "Asia/Tokyo"}, {"TZ": "UTC"}))
    result = run("verify", "--determinism", "--quick")
    assert result.code == 4
    assert result.out.count("damage  auth: its file differs with TZ=") == 2


def test_an_environment_that_does_not_start_is_no_damage(
    sprint: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If Python cannot start in an environment, the comparison is reported as skipped."""
    monkeypatch.setattr(verify, "ENVIRONMENTS", ({"PYTHONHOME": "/nonexistent"},))
    result = run("verify", "--determinism", "--quick")
    assert result.code == 0
    assert "remark  auth: not compared with PYTHONHOME=/nonexistent: " in result.out
