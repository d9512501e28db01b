"""`sprintlog redact`: the text is nowhere afterwards, and everything else works."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

import sprintlog
from sprintlog.commands import AddNote
from sprintlog.engine.service.streams.catalogue import EVERY

from ....adapters.trees import put
from ...conftest import Run
from .redacting import LOG, SECRET, holding, tell


@pytest.fixture
def told(folder: Path, done: Run) -> Path:
    """Return a tree with a secret in events, snapshots, edits, reports and copies."""
    return tell(folder, done)


def redact(done: Run, *more: str) -> dict[str, object]:
    """Erase the secret."""
    found: dict[str, object] = done(
        "redact", "--text", SECRET, "--reason", "leaked", "--yes", "--json", *more
    ).json
    return found


def test_the_text_is_nowhere(told: Path, done: Run) -> None:
    """A search that found it in many files finds it in none, and all is sound."""
    assert len(holding(told, SECRET)) > 5
    answer = redact(done)
    assert holding(told, SECRET) == []
    assert answer["erased"] == EVERY + 4
    assert answer["unreached"] == []
    assert done("verify", "--full", "--json").json["sound"]
    assert done("rebuild", "--check").out
    assert b"summary: '[erased]'" in (told / "PROGRESS.yaml").read_bytes()
    assert b'"summary": "[erased]"' in (told / ".ralph/progress.json").read_bytes()


def test_a_second_time_changes_nothing(told: Path, done: Run) -> None:
    """An erased event is not erased again, and no second erasure is recorded."""
    redact(done)
    head = done("verify", "--json").json["head"]
    assert redact(done) == {"events": [], "places": [], "unreached": []}
    assert done("verify", "--json").json["head"] == head


def test_only_shown_nothing_is_changed(told: Path, done: Run) -> None:
    """--dry-run names events and places, and changes nothing."""
    before = holding(told, SECRET)
    shown = done(
        "redact", "--text", SECRET, "--reason", "leaked", "--dry-run", "--json"
    ).json
    assert len(shown["events"]) == EVERY + 4
    kinds = {place["kind"] for place in shown["places"]}
    assert {"snapshots", "kept edits", "kept reports", "state files"} <= kinds
    assert holding(told, SECRET) == before


def test_where_nobody_can_be_asked_nothing_is_erased(told: Path, run: Run) -> None:
    """Without --yes a script gets the required command, and nothing is changed."""
    refused = run("redact", "--text", SECRET, "--reason", "leaked")
    assert (refused.code, "--yes" in refused.err) == (1, True)
    assert holding(told, SECRET)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "no events to erase were specified"),
        (("--text", "abc"), "at least 4 characters"),
        (("--pattern", "a*"), "matches everything"),
        (("--pattern", "("), "is not a valid pattern"),
        (("0",), "must be a position"),
        (("9999",), "there is no position 9999"),
        (("--stream", "sprint/none"), "there is no stream"),
        (("1",), "--whole-sprint"),
        (("--text", "leaked"), "the reason contains the text"),
        (("--stream", "erasures"), "cannot be erased"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    told: Path, run: Run, given: tuple[str, ...], said: str
) -> None:
    """A selector that is empty, or means all or a plan, erases nothing."""
    refused = run("redact", *given, "--reason", "leaked", "--yes")
    assert refused.code in (1, 2, 3)
    assert said in refused.err
    assert holding(told, SECRET)


@pytest.mark.long
def test_a_snapshot_is_made_anew_and_restores_follow(told: Path, done: Run) -> None:
    """Files are restored without the text, by the old name and after a rollback."""
    answer = redact(done)
    ((old, new),) = answer["snapshots"].items()  # type: ignore[attr-defined]
    files = done("show", "iteration", "1", "--files", "--json").json
    assert files["snapshot"] == new
    for name in ("said", "said.gz", "other"):
        put(told / name, b"later")
    done("rollback", "iter:1", "--files", "--yes")
    assert (told / "said").read_bytes() == b"it is [erased]\n"
    assert gzip.decompress((told / "said.gz").read_bytes()) == b"[erased]"
    assert (told / "other").read_bytes() == b"nothing"
    (said,) = (
        line["data"]
        for line in done("log", "--json").lines
        if line["type"] == "snapshot-rewritten"
    )
    assert (said["snapshot"], said["into"], said["reason"]) == (old, new, "leaked")
    assert done("verify", "--full", "--json").json["sound"]
    with sprintlog.open(told) as workspace:
        from sprintlog.engine.service.work_tree.snapshot import store_of

        assert store_of(workspace).read(old).commit == new


@pytest.mark.long
def test_all_that_asks_about_the_past_goes_on(told: Path, done: Run) -> None:
    """Blame, diff, replay, audit, query, fork, undo and points before it work."""
    redact(done)
    done("rollback", "version:4", "--yes")
    assert done("undo", "--yes").code == 0
    done("why", "--all")
    done("diff", "version:3", "version:9")
    done("replay", "--json")
    done("audit")
    texts = done("query", "SELECT data FROM v_events", "--json").out
    assert "opensesame" not in texts
    assert "[erased]" in texts
    done("show", "progress", "--at", "version:7")
    done("fork", "again", "--from", "version:6", "--sprint-dir", "again")
    assert holding(told, SECRET) == []
    assert done("verify", "--json").json["sound"]


@pytest.mark.long
def test_it_goes_out_and_comes_in_with_the_gap(
    told: Path, done: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export with the gap can be imported, but not with a changed remainder."""
    redact(done)
    file = tmp_path.with_name(f"{tmp_path.name}.jsonl")
    done("store export", "--out", str(file))
    done("store backup", str(tmp_path.with_name(f"{tmp_path.name}.db")))
    changed = file.read_bytes().replace(b"[erased]", b"[ERASED]", 1)
    for name, content, code in (("a", file.read_bytes(), 0), ("b", changed, 2)):
        tree = tmp_path.with_name(f"{tmp_path.name}-{name}")
        tree.mkdir()
        put(tree / "log.jsonl", content)
        monkeypatch.chdir(tree)
        done("init", "--here")
        result = subprocess.run(
            [sys.executable, "-m", "sprintlog.cli", "store", "import", "log.jsonl"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (result.returncode == 0) == (code == 0), result.stderr
        if code:
            assert "its payload is a different one" in result.stderr


def test_a_changed_remainder_is_damage(told: Path, done: Run, run: Run) -> None:
    """The erased text cannot be replaced with different text."""
    import sqlite3

    redact(done)
    raw = sqlite3.connect(told / LOG / "log.db")
    (trigger,) = raw.execute(
        "SELECT sql FROM sqlite_master WHERE name = 'events_never_change'"
    ).fetchone()
    raw.execute("DROP TRIGGER events_never_change")
    raw.execute(
        "UPDATE events SET payload = replace(payload, '[erased]', 'all was well')"
        " WHERE type = 'phase-completed'"
    )
    raw.execute(trigger)
    raw.commit()
    raw.close()
    result = run("verify", "--json")
    assert result.code == 4
    assert "its payload is a different one, and no event records an erasure" in result.out


@pytest.mark.long
def test_a_process_that_stays_forgets_too(told: Path, done: Run) -> None:
    """A process with the log open and states in memory writes none of it again."""
    with sprintlog.open(told) as workspace:
        workspace.handle(AddNote("first"), sprint_id="auth")
        redact(done)
        for number in range(EVERY):
            workspace.handle(AddNote(str(number)), sprint_id="auth")
        workspace.refresh("auth")
    assert holding(told, SECRET) == []


@pytest.mark.long
def test_a_position_takes_its_words_along(told: Path, done: Run) -> None:
    """Long lines of an erased event are erased elsewhere, and its twins are named."""
    (found, *_) = (e for e in done("log", "--json").lines if e["type"] == "phase-completed")
    answer = done(
        "redact", str(found["position"]), "--reason", "leaked", "--yes", "--json"
    ).json
    assert answer["erased"] == 1
    # The state files still contain the text, because other events do.
    assert {one["why"] for one in answer["unreached"]} == {
        "it contains the text but was not selected",
        "it is computed from the events",
    }
    (first, *_) = answer["unreached"]
    assert done(*first["command"].split()[1:-1], "leaked", "--yes").code == 0


def test_a_whole_sprint(told: Path, done: Run) -> None:
    """A plan is erased with all text of its sprint; ids and statuses stay."""
    answer = done(
        "redact", "1", "--whole-sprint", "--reason", "asked for", "--yes", "--json"
    ).json
    assert answer["erased"] > EVERY
    content = (told / "PROGRESS.yaml").read_text()
    assert "Build it" not in content
    assert "id: build" in content
    assert done("verify", "--json").json["sound"]


def test_a_pattern(told: Path, done: Run) -> None:
    """All matches are erased, wherever they are."""
    done("redact", "--pattern", 'open[a-z]+" \\d{4}', "--reason", "leaked", "--yes")
    assert holding(told, 'opensesame" 4711') == []


def test_names_stay_and_are_told(folder: Path, done: Run) -> None:
    """A text that is an id, or in a header, is reported as not reached."""
    put(folder / "plan.yaml", b"phases:\n  - {id: hunter2, prompt: x}\n")
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("sprint", "start")
    done("phase", "start", "hunter2", "--actor", "agent:hunter2")
    answer = done(
        "redact", "--text", "hunter2", "--reason", "x", "--whole-sprint", "--yes", "--json"
    ).json
    said = {one["where"]: one["why"] for one in answer["unreached"]}
    assert (
        said["position 3"]
        == "the text is part of an id or a name that other events refer to"
    )
    assert "its actor cannot be changed" in said["position 3, actor"]
