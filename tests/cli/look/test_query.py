"""`query`: SQL about the record, which only reads."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sprintlog.projections.sql import query
from sprintlog.projections.sql.query import ask
from sprintlog.projections.sql.schema import TABLES
from sprintlog.projections.workspace import Workspace

from ..conftest import Run

COMMAND = [sys.executable, "-m", "sprintlog.cli"]


@pytest.fixture
def history(sprint: Path, done: Any) -> Path:
    """Return a folder with two sprints, one of which was rolled back."""
    for line in (
        ["iteration", "start"],
        ["phase", "start"],
        ["phase", "complete", "--summary", "=HYPERLINK(1)"],
        ["iteration", "start"],
        ["phase", "start", "--actor", "agent:coder"],
        ["note", 'a "note", with\n\x1b[2J lines'],
        ["rollback", "iter:1", "--reason", "wrong"],
        ["phase", "skip", "build/login/implement", "--reason", "+1"],
        ["iteration", "start"],
    ):
        done(*line)
    done("sprint", "create", "two", "--plan", "plan.yaml", "--sprint-dir", "two")
    return sprint


def rows(done: Any, sql: str, *options: str) -> list[list[Any]]:
    """Return the rows that a question is answered with."""
    return [list(row.values()) for row in done("query", sql, "--json", *options).lines]


def test_every_table_has_what_it_says(history: Path, done: Any) -> None:
    """Every documented table and column exists, in that order."""
    for name, table in TABLES.items():
        header = done("query", f"SELECT * FROM {name}", "--csv").out.split("\n")[0]
        assert header == ",".join(f'"{column.name}"' for column in table.columns)
    listed = done("query", "--tables").out
    assert [line.split(":")[0] for line in listed.splitlines() if line[0] != " "] == list(
        TABLES
    )


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        ("SELECT count(*), max(position) FROM v_events", [[12, 12]]),
        ("SELECT version FROM v_events WHERE in_force = 0", [[6], [7]]),
        (
            "SELECT iteration, count(*) FROM v_events WHERE sprint = 'auth' GROUP BY 1",
            [[None, 2], [0, 2], [1, 3], [2, 3], [3, 1]],
        ),
        ("SELECT number, events, last_version, in_force FROM v_iterations",
         [[1, 3, 5, 1], [2, 3, 8, 0], [3, 1, 11, 1]]),
        ("SELECT json_extract(data, '$.to') FROM v_events WHERE type = 'rolled-back'",
         [[5]]),
        ("SELECT sprint, status, total_phases, path FROM v_sprints", [
            ["auth", "in-progress", 3, "PROGRESS.yaml"],
            ["two", "not-started", 3, "two/PROGRESS.yaml"],
        ]),
        ("SELECT address, level, status, is_leaf, is_current FROM v_phases"
         " WHERE sprint = 'auth' ORDER BY number", [
            ["setup", 1, "completed", 1, 0],
            ["build", 1, "in-progress", 0, 0],
            ["build/login", 2, "in-progress", 0, 0],
            ["build/login/implement", 3, "skipped", 1, 0],
            ["build/login/check", 3, "pending", 1, 1],
            ["review", 1, "pending", 1, 0],
        ]),
        ("SELECT version, kind, in_force FROM v_decisions WHERE sprint = 'auth'",
         [[1, "plan", 1], [9, "rollback", 1], [10, "skip", 1]]),
        ("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3)"
         " SELECT i FROM n", [[1], [2], [3]]),
        ("SELECT 1 AS a, 2 AS a, x'00ff', NULL, 1.5", [[1, 2, "00ff", None, 1.5]]),
        ("SELECT 1 WHERE 0", []),
    ],
)  # fmt: skip
def test_answers_about_the_log_as_it_is(
    history: Path, done: Any, sql: str, answer: list[list[Any]]
) -> None:
    """Tables have the contents of the log, discarded or not."""
    assert rows(done, sql) == answer


def test_gates_are_checks(gated: Any, done: Any, run: Any) -> None:
    """Every check of a gate is a row, passed or not."""
    gated("test -f ok", retries=2)
    run("gate", "run")
    Path("ok").touch()
    run("gate", "run")
    sql = "SELECT phase, attempt, passed, exit_code, timed_out FROM v_gates"
    assert rows(done, sql) == [["build", 1, 0, 1, 0], ["build", 2, 1, 0, 0]]
    assert rows(
        done, "SELECT gate_status, gate_attempts FROM v_phases WHERE level = 1"
    ) == [["passed", 2], [None, None]]


def test_answers_follow_the_log(history: Path, done: Any) -> None:
    """The next answer includes later records; --fresh returns the same."""
    sql = "SELECT count(*) FROM v_events"
    assert rows(done, sql) == [[12]]
    done("note", "more", "--sprint", "two")
    assert rows(done, sql) == [[13]]
    assert rows(done, sql, "--fresh") == [[13]]


REFUSED = [
    "DELETE FROM v_events",
    "UPDATE v_events SET actor = 'x'",
    "INSERT INTO v_events SELECT * FROM v_events",
    "DROP TABLE v_events",
    "CREATE TABLE x (a)",
    "CREATE TEMP TABLE x (a)",
    "CREATE TEMP VIEW x AS SELECT 1",
    "ATTACH 'other.db' AS other",
    "ATTACH '' AS other",
    "DETACH main",
    "VACUUM INTO 'copy.db'",
    "PRAGMA query_only = OFF",
    "PRAGMA writable_schema = ON",
    "PRAGMA user_version",
    "SELECT * FROM pragma_table_info('v_events')",
    "SELECT load_extension('x')",
    "SELECT writefile('x', 'y')",
    "SELECT readfile('plan.yaml')",
    "BEGIN",
    "SAVEPOINT a",
    "ANALYZE",
    "REINDEX",
    "SELECT 1; DELETE FROM v_events",
    "SELECT zeroblob(1000000000)",
    "SELECT * FROM nothing",
    "SELEC 1",
    "--",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_nothing_but_reading(sprint: Path, run: Any, done: Any, sql: str) -> None:
    """Statements other than SELECT are refused in one line, and change nothing."""
    done("query", "SELECT 1")
    file = sprint / ".sprintlog" / "query.db"
    before = file.read_bytes(), sorted(os.listdir())
    result = run("query", "--", sql)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("error: ")
    assert (file.read_bytes(), sorted(os.listdir())) == before


ENDLESS = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n)"


def test_time_is_bounded(sprint: Path, run: Any) -> None:
    """An endless query is aborted, whatever was printed before."""
    result = run("query", f"{ENDLESS} SELECT count(*) FROM n", "--timeout", "0.2")
    assert result.code == 1
    assert "took longer than 0.2 seconds" in result.err
    result = run("query", f"{ENDLESS} SELECT i FROM n WHERE i < 4", "--timeout", "0.2")
    assert result.code == 1


@pytest.mark.parametrize("form", [(), ("--csv",), ("--json",)], ids=str)
def test_a_cut_answer_says_so_itself(sprint: Path, run: Any, form: tuple[str, ...]) -> None:
    """The last line of an incomplete answer is an error, in each format."""
    sql = f"{ENDLESS} SELECT i, 'x' AS word FROM n WHERE i < 400"
    result = run("query", sql, "--timeout", "0.3", *form)
    *rows, last = result.out.splitlines()
    assert result.code == 1
    assert len(rows) >= 256
    assert "error" in last
    assert "took longer than 0.3 seconds" in last
    if "--csv" in form:
        assert last.count(",") == rows[0].count(",") + 1


def test_time_of_the_reader_is_not_counted(sprint: Path) -> None:
    """The time of a slow reader does not count."""
    sql = (
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
        " SELECT i FROM n"
    )
    with Workspace.open(sprint) as workspace, ask(workspace, sql, seconds_max=1.0) as found:
        first = next(found.pages)
        time.sleep(1.5)
        assert len(first) + sum(map(len, found.pages)) == 2000


HEAPS = {
    "sorted": "SELECT count(*) FROM (SELECT i FROM n ORDER BY 1)",
    "given out": "SELECT i FROM n",
    "side by side": f"SELECT {', '.join(['i'] * 150)} FROM n",
}


@pytest.mark.long
@pytest.mark.parametrize("heap", HEAPS)
def test_memory_is_bounded(sprint: Path, heap: str) -> None:
    """A question that heaps up values is broken off, or answered, in bounded memory."""
    many = (
        "WITH RECURSIVE n(i) AS (VALUES (zeroblob(16000000)) UNION ALL SELECT i FROM n"
        f" LIMIT 40) {HEAPS[heap]}"
    )
    line = [*COMMAND, "query", many, "--timeout", "60"]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read().decode()
    process.stderr.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert used.ru_maxrss < 1024 * 1024
    if heap == "given out":
        assert process.returncode == 0
    else:
        assert (process.returncode, said) == (1, "error: the query needs too much memory\n")


def test_options_that_exclude_each_other(sprint: Path, run: Any) -> None:
    """A query and the list, and the formats, exclude each other."""
    for line in ([], ["SELECT 1", "--tables"], ["SELECT 1", "--csv", "--json"]):
        assert run("query", *line).code == 2


def test_csv_is_no_formula(history: Path, done: Any) -> None:
    """Values that a spreadsheet would execute get an apostrophe; quotes are safe."""
    sql = (
        "SELECT json_extract(data, '$.text'), json_extract(data, '$.summary'),"
        " json_extract(data, '$.reason'), -1, NULL"
        " FROM v_events WHERE sprint = 'auth' AND version IN (5, 8, 10) ORDER BY version"
    )
    assert done("query", sql, "--csv").out.split("\n")[1:] == [
        ',"\'=HYPERLINK(1)",,-1,',
        '"a ""note"", with\\x0a\\x1b[2J lines",,,-1,',
        ',,"\'+1",-1,',
        "",
    ]


def content(text: bytes) -> Callable[[Path], None]:
    """Return a function that changes the file's content."""

    def change(file: Path) -> None:
        file.write_bytes(text)

    return change


def statement(sql: str) -> Callable[[Path], None]:
    """Return a function that runs a statement on the tables as any tool can."""

    def change(file: Path) -> None:
        with sqlite3.connect(file) as connection:
            connection.execute(sql)
        connection.close()

    return change


SPOILT: dict[str, Callable[[Path], None]] = {
    "garbage": content(b"no database" * 1000),
    "empty": content(b""),
    "cut": lambda file: os.truncate(file, 5000),
    "a trigger": statement(
        "CREATE TRIGGER t AFTER INSERT ON v_events BEGIN SELECT load_extension('x'); END"
    ),
    "a table": statement("CREATE TABLE more (a)"),
    "another version": statement("PRAGMA user_version = 99"),
    "another owner": statement("PRAGMA application_id = 1"),
    "another log": statement("UPDATE upto SET hash = x'00'"),
    "a later log": statement("UPDATE upto SET position = 99"),
    "an event that was there": statement("UPDATE upto SET position = 2"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_spoilt_tables_are_made_anew(sprint: Path, done: Any, name: str) -> None:
    """Whatever happened to the file, the answer is that of the log."""
    done("phase", "start")
    whole = rows(done, "SELECT * FROM v_events")
    SPOILT[name](sprint / ".sprintlog" / "query.db")
    done("note", "one more")
    assert rows(done, "SELECT * FROM v_events")[:-1] == whole
    assert rows(done, "SELECT count(*) FROM v_phases") == [[6]]


def everything(folder: Path) -> list[Any]:
    """Return every row of every table, as questions are answered."""
    answers = []
    with Workspace.open(folder) as workspace:
        for name in TABLES:
            with ask(workspace, f"SELECT * FROM {name}", seconds_max=60) as found:
                answers.append([row for page in found.pages for row in page])
    return answers


@pytest.mark.long
def test_no_flipped_bit_is_answered(history: Path) -> None:
    """Whichever bit of the file is flipped, the answers are those of the log."""
    whole = everything(history)
    file = history / ".sprintlog" / "query.db"
    chance = Random(7)
    for _ in range(30):
        content = bytearray(file.read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.write_bytes(content)
        assert everything(history) == whole


@pytest.mark.long
def test_no_half_written_file_is_answered(history: Path, done: Any) -> None:
    """Whichever pages were lost in a power failure, the answers are the log's."""
    everything(history)
    file = history / ".sprintlog" / "query.db"
    before = file.read_bytes()
    done("note", "more", "--sprint", "two")
    done("phase", "start", "--sprint", "auth")
    whole, after = everything(history), file.read_bytes()
    for at in range(0, len(after), 4096):
        older = before[at : at + 4096] or bytes(4096)
        file.write_bytes(after[:at] + older + after[at + 4096 :])
        assert everything(history) == whole


def test_what_others_wrote_into_the_file_is_no_answer(history: Path, done: Any) -> None:
    """A changed value is detected by the next query."""
    sql = "SELECT count(*) FROM v_events WHERE actor = 'nobody'"
    assert rows(done, sql) == [[0]]
    statement("UPDATE v_events SET actor = 'nobody'")(history / ".sprintlog" / "query.db")
    assert rows(done, sql) == [[0]]


def test_a_folder_that_cannot_be_written(history: Path, done: Any) -> None:
    """If the file cannot be created the question is answered nevertheless."""
    (history / ".sprintlog" / "query.lock").mkdir()
    assert rows(done, "SELECT count(*) FROM v_events") == [[12]]
    assert not (history / ".sprintlog" / "query.db").exists()


def test_any_tool_can_open_the_file(history: Path, done: Any) -> None:
    """The file that --file names is a plain SQLite database, and private."""
    file = Path(done("query", "--file").out.strip())
    assert file == history / ".sprintlog" / "query.db"
    assert file.stat().st_mode & 0o777 == 0o600
    connection = sqlite3.connect(file)
    assert connection.execute("SELECT count(*) FROM v_events").fetchone() == (12,)
    connection.close()


@pytest.mark.long
def test_many_may_ask_while_others_record(sprint: Path) -> None:
    """Concurrent queries during appends are each answered from a consistent table."""
    sql = "SELECT count(*) = max(position) FROM v_events"
    loop = f"for n in 1 2 3 4; do {' '.join(COMMAND)} query --csv '{sql}'; done"
    note = f"for n in 1 2 3 4; do {' '.join(COMMAND)} note x > /dev/null; done"
    asking = [
        subprocess.Popen(["bash", "-c", line], stdout=subprocess.PIPE, text=True)
        for line in (loop, loop, note, note)
    ]
    answers = "".join(process.communicate(timeout=120)[0] for process in asking)
    assert answers.count("\n1\n") == 8
    assert [process.returncode for process in asking] == [0, 0, 0, 0]


def test_a_row_that_is_too_large_is_refused(
    history: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that would fill the memory ends the query with an error, not with the row."""
    monkeypatch.setattr(query, "ROW_BYTES_MAX", 1000)
    assert run("query", "SELECT hex(zeroblob(400))").code == 0
    refused = run("query", "SELECT hex(zeroblob(600))")
    assert refused.code == 1
    assert "needs too much memory" in refused.out + refused.err
    assert "0000" not in refused.out
