"""Importing the files of AIWG loops: state, analytics and measurements."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures" / "loops" / "aiwg"
LOOP = "aiwg-5f2c1f0e-7a53-4c1e-9a0c-0d6b3f6f2a11"
MEASURED = "aiwg-ralph-dates-1a2b3c4d"


@pytest.fixture
def loop(folder: Path, done: Run) -> Path:
    """Return the `.aiwg` folder of two loops, next to an empty log."""
    shutil.copytree(FIXTURES, folder / ".aiwg")
    done("init")
    return folder / ".aiwg"


def events(done: Run, sprint: str) -> list[tuple[str, Any]]:
    """Return the record of a sprint."""
    lines = done("log", "--json", "--sprint", sprint).lines
    return [(line["type"], line["data"]) for line in lines]


def of(done: Run, sprint: str, kind: str) -> list[Any]:
    """Return the data of the events of one type."""
    return [data for name, data in events(done, sprint) if name == kind]


def changed(file: Path, **values: Any) -> None:
    """Change some fields of a JSON file."""
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def test_each_iteration_has_its_run_and_its_score(loop: Path, done: Run) -> None:
    """Outcome and duration come from the state, score and cost from the analytics."""
    done("import", "aiwg")
    ran = of(done, LOOP, "agent-ran")
    assert [(r["status"], r.get("exit_code"), r.get("duration_ms")) for r in ran] == [
        ("completed", 0, 600_000),
        ("failed", None, 0),
        ("completed", 0, 900_000),
    ]
    assert ran[0]["tool_calls"] == 14
    measured = of(done, LOOP, "iteration-measured")
    assert [(m["number"], m["score"]) for m in measured] == [(1, 0.625), (3, 0.91)]
    assert "cost_usd" not in measured[0]["usage"]
    assert measured[1]["usage"]["cost_usd"] == 0.31


def test_times_are_those_that_the_source_has(loop: Path, done: Run) -> None:
    """Analytics state when an iteration ended; without them, durations are added up."""
    done("import", "aiwg")
    lines = done("log", "--json", "--sprint", LOOP).lines
    began = [one["at"] for one in lines if one["type"] == "iteration-started"]
    assert began == ["2026-06-02T08:02:00Z", "2026-06-02T08:12:00Z", "2026-06-02T08:15:00Z"]
    shutil.rmtree(loop / "ralph-external" / "analytics")
    done("import", "aiwg", loop / "ralph-external", "--sprint", "again")
    lines = done("log", "--json", "--sprint", "again").lines
    ended = [one["at"] for one in lines if one["type"] == "iteration-ended"]
    assert ended == ["2026-06-02T08:10:00Z", "2026-06-02T08:10:00Z", "2026-06-02T08:25:00Z"]


def test_measurements_are_taken_with_their_own_score(loop: Path, done: Run) -> None:
    """The document of iteration 0 is the baseline; metrics are unchanged."""
    done("import", "aiwg")
    (baseline,) = of(done, MEASURED, "baseline-captured")
    assert baseline["metrics"]["tests_failed"] == 3
    (measured,) = of(done, MEASURED, "iteration-measured")
    assert (measured["score"], measured["metrics"]["tests_passed"]) == (0.82, 9)
    best = done("iteration best", "--sprint", MEASURED, "--json").json["best"]
    assert (best["iteration"], best["score"]) == (1, 0.82)


def test_what_has_no_field_is_a_note(loop: Path, done: Run) -> None:
    """Learnings, files and the loop's own choice are stored verbatim, once each."""
    done("import", "aiwg")
    notes = [data["text"] for data in of(done, LOOP, "note-added")]
    assert notes.count("learned: The parser drops the last line") == 1
    assert "files modified: src/parser.py, tests/test_parser.py" in notes
    assert notes[-1].startswith("the loop selected iteration 3: Highest quality")


@pytest.mark.parametrize(
    ("said", "status", "note"),
    [
        ("completed", "completed", None),
        ("running", "in-progress", None),
        ("paused", "in-progress", None),
        ("aborted", "in-progress", "the loop ended: aborted"),
        ("failed", "in-progress", "the loop ended: failed"),
    ],
)
def test_the_sprint_is_completed_when_the_state_says_so(
    loop: Path, done: Run, said: str, status: str, note: str | None
) -> None:
    """Only a loop that reached its aim completes its sprint."""
    changed(loop / "ralph-external" / "session-state.json", status=said)
    done("import", "aiwg")
    shown = done("show", "progress", "--sprint", LOOP, "--json").json
    assert shown["status"] == status
    assert shown["goal"] == "Make the importer work"
    assert shown["completion-criteria"] == "make test passes"
    assert shown["stats"]["max-iterations"] == 10
    notes = [data["text"] for data in of(done, LOOP, "note-added")]
    assert [one for one in notes if one.startswith("the loop ended")] == (
        [note] if note else []
    )


def test_a_loop_that_grew_is_the_loop_taken_in_at_once(loop: Path, done: Run) -> None:
    """Importing after each iteration gives the same result as one import at the end."""
    file = loop / "ralph-external" / "session-state.json"
    whole = json.loads(file.read_text())
    for number in range(1, 4):
        done_so_far = whole["iterations"][: number - 1]
        changed(file, iterations=done_so_far, currentIteration=number, status="running")
        done("import", "aiwg", file, "--sprint", "night")
    changed(file, **whole)
    done("import", "aiwg", file, "--sprint", "night")
    done("import", "aiwg", file, "--sprint", "at-once")
    assert events(done, "night")[1:] == events(done, "at-once")[1:]
    answer = done("import", "aiwg", file, "--sprint", "night", "--json").json
    assert answer["recorded"] == 0


def test_the_source_stays_as_it_is(loop: Path, done: Run) -> None:
    """An import writes nothing into the folder that it reads, nor do state files."""
    before = {f: f.read_bytes() for f in loop.rglob("*") if f.is_file()}
    done("import", "aiwg")
    done("rebuild", "--sprint", MEASURED)
    assert {f: f.read_bytes() for f in loop.rglob("*") if f.is_file()} == before


def test_what_is_not_understood_is_counted_and_kept(loop: Path, done: Run) -> None:
    """An unknown status, a duplicate iteration, and an unrelated file are reported."""
    file = loop / "ralph-external" / "session-state.json"
    state = json.loads(file.read_text())
    state["iterations"][1]["status"] = "odd"
    state["iterations"].append(state["iterations"][0])
    changed(file, iterations=state["iterations"], status="dreaming")
    (loop / "ralph-external" / "analytics" / "other.json").write_text('{"who": "knows"}')
    answer = done("import", "aiwg", loop / "ralph-external", "--json").json
    kept = Path(answer["kept"]).read_text()
    assert answer["unread"] == 4
    for said in ("'odd' is unknown", "'dreaming'", "occurs twice", "other.json"):
        assert said in kept


def test_measurements_of_our_own_are_not_taken_in_again(loop: Path, run: Run) -> None:
    """Files written by a sprint of this log contain nothing new."""
    run("goal", "set", "Dates", "--sprint", "ralph-dates-1a2b3c4d")
    run("sprint", "create", "ralph-dates-1a2b3c4d", "--goal", "Dates")
    before = run("verify", "--json").json["events"]
    result = run("import", "aiwg")
    assert result.code == 1
    assert "already belong to sprint ralph-dates-1a2b3c4d" in result.err
    assert run("verify", "--json").json["events"] == before


def test_several_loops_are_no_one_sprint(loop: Path, run: Run) -> None:
    """Nothing is guessed: the refusal names a command."""
    result = run("import", "aiwg", "--sprint", "night")
    assert result.code == 1
    assert "2 sprints cannot be imported as the single sprint night" in result.err


STATE = '{"loopId": "x", "objective": "y", '
ANALYTICS = '{"loop_id": "x", "iterations": [{'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "contains no YAML document"),
        (b'{"loopId": "x", "iter', "not JSON"),
        (b"\x00\xff\x10", "state.json"),
        (b"[]", "is not a state, analytics or measurement"),
        (b'{"loopId": 7}', "is not a state, analytics or measurement"),
        (f'{STATE}"maxIterations": "ten"}}', "maxIterations: "),
        (f'{STATE}"startTime": "today"}}', "startTime: 'today' is not a time"),
        (f'{STATE}"iterations": {{}}}}', "iterations: "),
        (f'{STATE}"iterations": [{{"number": 0}}]}}', "iterations[0].number: "),
        (
            f'{STATE}"iterations": [{{"number": 1, "duration": "long"}}]}}',
            "iterations[0].duration: ",
        ),
        (f'{STATE}"currentIteration": 1000000}}', "currentIteration: "),
        (
            f'{ANALYTICS}"iteration_number": 1, "quality_score": 101}}]}}',
            "iterations[0].quality_score: ",
        ),
        (
            f'{ANALYTICS}"iteration_number": 1, "timestamp": "soon"}}]}}',
            "iterations[0].timestamp: ",
        ),
        (b'{"iteration_metrics": {"iteration": -1}}', "iteration_metrics.iteration: "),
        (
            b'{"iteration_metrics": {"iteration": 1, "testing": '
            b'{"test_count": 1, "tests_passed": 2}}}',
            "iteration_metrics: the metrics contradict",
        ),
        (b" " * (64 * 2**20 + 1), "is longer than 64 MiB"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(
    loop: Path, run: Run, content: bytes | str, said: str
) -> None:
    """File and field are named, and nothing is recorded, even from other files."""
    file = loop / "ralph-external" / "session-state.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run("import", "aiwg", file)
    first = result.err.splitlines()[0]
    assert result.code == 1
    assert "session-state.json" in first
    assert said in first
    assert run("verify", "--json").json["events"] == 0


@pytest.mark.parametrize("name", ["session-state.json", "analytics"])
def test_no_link_is_followed_that_nobody_named(loop: Path, run: Run, name: str) -> None:
    """A link within the folder that is read is refused, to a file or to a folder."""
    inner = loop / "ralph-external" / name
    inner.rename(loop.parent / "elsewhere")
    inner.symlink_to(loop.parent / "elsewhere")
    result = run("import", "aiwg")
    assert result.code == 1
    assert "is a symbolic link, which is not followed" in result.err
    assert run("verify", "--json").json["events"] == 0


def test_a_folder_without_a_loop_is_not_found(folder: Path, run: Run) -> None:
    """The path is named."""
    run("init")
    (folder / "empty").mkdir()
    assert run("import", "aiwg", "empty").code == 3
