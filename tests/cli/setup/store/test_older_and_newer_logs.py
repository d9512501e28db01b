"""A log of an older version is read and continued; one of a newer version is refused.

`fixtures/logs/schema-1.db` is a log written when every event had its first shape. It is
never written again. `saved-states.db` is also a log; `saved-states.jsonl` has the states
that earlier code saved for its sprint, one line per format.
"""

import base64
import json
import shutil
import sqlite3
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.projections import Workspace

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
LOG = FIXTURES / "logs" / "schema-1.db"
STATE = FIXTURES / "expected" / "log-schema-1.PROGRESS.yaml"
EVENTS = 11
SAVED = FIXTURES / "logs" / "saved-states"
SAVED_STATES = [*map(json.loads, SAVED.with_suffix(".jsonl").read_text().splitlines())]
PLAN = """\
goal: Give people a way in
phases:
  - {id: setup, prompt: Make a branch}
  - id: build
    steps:
      - id: login
        prompt: Let people log in
        phases: [{id: implement, prompt: Write it}, {id: check, prompt: Try it}]
  - {id: review, prompt: Read it all}
"""
BARE = {"phases": [{"id": "only", "prompt": "Do it"}]}


class Line(msgspec.Struct):
    """The data in a line of `log --json`."""

    type: str
    schema_version: int
    salt: str
    payload_digest: str
    data: msgspec.Raw
    stored: msgspec.Raw = msgspec.Raw()


def rows(database: Path) -> list[tuple[Any, ...]]:
    """Return every stored event, each byte of it."""
    with sqlite3.connect(database) as connection:
        found = connection.execute("SELECT * FROM events ORDER BY position").fetchall()
    connection.close()
    return found


@pytest.fixture
def old(folder: Path) -> Path:
    """Return a log of the first shapes in a separate folder, with its state file."""
    database = folder / ".sprintlog" / "log.db"
    database.parent.mkdir(0o700)
    shutil.copyfile(LOG, database)
    (folder / "sprints" / "auth").mkdir(parents=True)
    shutil.copyfile(STATE, folder / "sprints" / "auth" / "PROGRESS.yaml")
    return database


@pytest.fixture(params=["sprint-compiled", "sprint-dreamt"])
def newer(old: Path, request: pytest.FixtureRequest) -> Path:
    """Return a log whose last event only a newer version can read."""
    with Workspace.open(old.parent.parent) as workspace:
        new_event = NewEvent(
            type=request.param,
            payload=b'{"document":{},"dreamt":true}',
            at="2026-05-01T10:00:00Z",
            actor="runtime",
            schema_version=3,
        )
        workspace.log.append("sprint/auth", [new_event], expect=Expect.EXISTS)
    return old


def test_older_log_is_sound_and_says_the_same(old: Path, done: Any) -> None:
    """An older log verifies, and its state files are the same as then."""
    before = rows(old)
    assert done("verify", "--json").json["events"] == len(before) == EVENTS
    assert done("show", "progress", "--sprint", "auth").out == STATE.read_text()
    assert done("rebuild", "--check", "--sprint", "auth").code == 0
    assert rows(old) == before


@pytest.mark.parametrize("saved", SAVED_STATES, ids=lambda saved: str(saved["commit"]))
def test_state_saved_by_other_code_is_not_read(
    folder: Path, done: Any, saved: dict[str, Any]
) -> None:
    """States saved by other code are ignored: the log is intact and answers as before."""
    database = folder / ".sprintlog" / "log.db"
    database.parent.mkdir(0o700)
    shutil.copyfile(SAVED.with_suffix(".db"), database)
    done("rebuild")
    before = done("show", "progress", "--sprint", "auth").out
    with sqlite3.connect(database) as connection:
        row = (saved["stream"], saved["version"], saved["format"])
        state = base64.b64decode(saved["state"])
        connection.execute("REPLACE INTO checkpoints VALUES (?, ?, ?, ?)", (*row, state))
    connection.close()
    assert done("verify").code == 0
    assert done("show", "progress", "--sprint", "auth").out == before


def test_older_log_takes_further_events(old: Path, folder: Path, done: Any) -> None:
    """New records continue the chain; the older rows stay byte for byte."""
    before = rows(old)
    done("phase", "complete", "--sprint", "auth", "--summary", "done")
    (folder / "more.yaml").write_text(PLAN)
    done("sprint", "create", "more", "--plan", "more.yaml", "--sprint-dir", "sprints")
    done("rollback", "--sprint", "auth", "start")
    done("undo", "--sprint", "auth")
    after = rows(old)
    assert after[:EVENTS] == before
    assert [row[5] for row in after if row[4] == "sprint-compiled"] == [1, 1, 1, 2]
    assert done("verify", "--json").json["events"] == EVENTS + 4
    assert done("verify", "--determinism").code == 0


def test_new_plan_is_recorded_with_its_file(folder: Path, done: Any) -> None:
    """`sprint create` records the plan's path in the work tree and its digest."""
    (folder / "plans").mkdir()
    (folder / "plans" / "auth.yaml").write_text(PLAN)
    done("init")
    done("sprint", "create", "auth", "--plan", "plans/auth.yaml", "--sprint-dir", ".")
    digest = sha256(PLAN.encode()).hexdigest()
    (event,) = done("log", "--json").lines
    assert event["data"]["sources"] == [{"path": "plans/auth.yaml", "sha256": digest}]
    assert "sources plans/auth.yaml" in done("log", "--oneline").out


def test_plan_from_elsewhere_has_its_whole_path(folder: Path, done: Any) -> None:
    """A plan outside the work tree is recorded by its absolute path."""
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "tree").mkdir()
    done("init", "--here")
    shutil.move(folder / ".sprintlog", folder / "tree")
    plan, tree = folder / "plan.yaml", folder / "tree"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tree)
        done("sprint", "create", "auth", "--plan", "../plan.yaml", "--sprint-dir", ".")
        (event,) = done("log", "--json").lines
    assert event["data"]["sources"][0]["path"] == plan.resolve().as_posix()


def test_older_event_shows_today_and_what_is_stored(old: Path, done: Any) -> None:
    """`log --json` has the current shape as data, and the bytes of the digest."""
    found = done("log", "--all", "--json").out.splitlines()
    lines = [msgspec.json.decode(line, type=Line) for line in found]
    assert [line.type for line in lines if bytes(line.stored)] == ["sprint-compiled"] * 3
    assert {line.schema_version for line in lines} == {1}
    first = json.loads(found[0])
    assert first["data"]["sources"] == [{"path": "plan.yaml"}]
    assert first["stored"]["source"] == "plan.yaml"
    for line in lines:
        exact = bytes.fromhex(line.salt) + (bytes(line.stored) or bytes(line.data))
        assert sha256(exact).hexdigest() == line.payload_digest
    assert json.loads(done("show", "event", 1, "--json").out) == first


def test_older_event_reads_as_today(old: Path, done: Any) -> None:
    """Older events are printed with current words."""
    assert "sources plan.yaml" in done("log", "--oneline", "--sprint", "auth").out
    shown = done("show", "event", 8).out
    assert '"sources":[{"path":"plans/told.yaml"}]' in shown
    assert '"source":"plans/told.yaml"' in shown.partition("\nstored ")[2]


def test_key_of_an_older_event_answers_again(old: Path, folder: Path, done: Any) -> None:
    """A command recorded by an older version under a key is known again."""
    (folder / "sprints" / "auth" / "plan.yaml").write_text(PLAN)
    create = ("sprint", "create", "auth", "--plan", "sprints/auth/plan.yaml")
    again = done(*create, "--key", "made-auth", "--json").json
    assert (again["position"], again["duplicate"]) == (1, True)
    data = json.dumps({"document": BARE})
    compiled = ("append", "sprint-compiled", "--stream", "sprint/bare", "--data", data)
    again = done(*compiled, "--key", "made-bare", "--json").json
    assert (again["position"], again["duplicate"]) == (7, True)


def test_event_handed_in_has_todays_shape(old: Path, run: Any) -> None:
    """Only stored events are converted; a caller gets an error with current fields."""
    data = json.dumps({"document": BARE, "source": "x"})
    answer = run("append", "sprint-compiled", "--stream", "sprint/new", "--data", data)
    assert answer.code == 1
    assert "data.source: sprint-compiled has no such field" in answer.err
    assert "sources" in answer.err


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("log",),
        ("log", "--json"),
        ("show", "progress"),
        ("replay",),
        ("rebuild",),
        ("rebuild", "--check"),
        ("note", "hello"),
        ("phase", "complete"),
        ("sprint", "pause"),
        ("iteration", "start"),
        ("rollback", "start"),
        ("undo",),
        ("append", "activity-seen"),
    ],
    ids=" ".join,
)
def test_newer_event_is_refused_not_skipped(
    newer: Path, folder: Path, run: Any, command: tuple[str, ...]
) -> None:
    """Commands that must read an event of a newer version report it and do nothing."""
    before = rows(newer)
    answer = run(*command, "--sprint", "auth")
    assert answer.code == 4
    lines = [json.loads(answer.err)["message"]] if "--json" in command else [answer.err]
    assert f"position {EVENTS + 1}: {before[-1][4]} version 3 is not supported" in lines[0]
    assert "upgrade sprintlog" in answer.err
    assert rows(newer) == before
    state = folder / "sprints" / "auth" / "PROGRESS.yaml"
    assert state.read_bytes() == STATE.read_bytes()


def change(database: Path, *statements: str) -> None:
    """Run statements on a log as another program can."""
    with sqlite3.connect(database) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_tables_of_litestream_are_let_be(old: Path, run: Any, done: Any) -> None:
    """Litestream's tables in a database are not a reason to refuse it."""
    done("rebuild")
    change(
        old,
        "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)",
        "CREATE TABLE _litestream_lock (id INTEGER)",
    )
    done("note", "more", "--sprint", "auth")
    assert done("verify").code == 0
    found = next(
        line
        for line in run("doctor", "--json").json["checks"]
        if line["check"] == "litestream"
    )
    assert found["status"] == "note"
    assert "_litestream_lock, _litestream_seq" in found["found"]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE TABLE more (a)", "more is not ours"),
        ("DROP TRIGGER events_never_go", "events_never_go is missing"),
        ("CREATE VIRTUAL TABLE _litestream_seq USING fts5(a)", "_litestream_seq is not"),
        ("CREATE TRIGGER t AFTER INSERT ON events BEGIN SELECT 1; END", "t is not ours"),
        ("DROP INDEX events_key", "events_key is missing"),
    ],
)
def test_other_tables_are_named(old: Path, run: Any, statement: str, said: str) -> None:
    """A foreign schema is refused with the difference, and both reasons."""
    change(old, statement)
    answer = run("status")
    assert answer.code == 4
    assert said in answer.err
    assert "another version of sprintlog" in answer.err


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["PRAGMA application_id = 1"], "the header of the log's database is damaged"),
        (["PRAGMA user_version = 9"], "the header of the log's database is damaged"),
        (["PRAGMA user_version = 0"], "the header of the log's database is damaged"),
        (["PRAGMA application_id = 1", "DROP TABLE events"], "another program"),
    ],
)
def test_a_damaged_header_is_no_other_program(
    old: Path, run: Any, statements: list[str], said: str
) -> None:
    """Damage is distinguished from files that never were a log."""
    change(old, *statements)
    answer = run("status")
    assert answer.code == 4
    assert said in answer.err
    assert "--salvage" in answer.err


def test_an_empty_database_is_a_lost_log(old: Path, run: Any) -> None:
    """A completely lost log is not reported as a wrong path."""
    old.write_bytes(b"")
    answer = run("status")
    assert answer.code == 4
    assert "is empty" in answer.err
    assert "restore a backup" in answer.err


def test_newer_event_is_shown_to_nobody(newer: Path, run: Any) -> None:
    """`show event` also refuses it, and `verify` names it."""
    assert run("show", "event", EVENTS + 1).code == 4
    checked = run("verify")
    assert checked.code == 4
    assert f"position {EVENTS + 1}: {rows(newer)[-1][4]} version 3 is not" in checked.out
