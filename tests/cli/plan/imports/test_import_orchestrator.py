"""Importing the history and the events of ralph-orchestrator."""

import shutil
from pathlib import Path

import pytest

from ...conftest import Run

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures" / "loops" / "orchestrator"


@pytest.fixture
def loop(folder: Path, done: Run) -> Path:
    """Return the `.ralph` folder of such a loop, next to an empty log."""
    shutil.copytree(FIXTURES, folder / ".ralph")
    done("init")
    return folder / ".ralph"


def test_each_iteration_is_recorded_at_its_own_time(loop: Path, done: Run) -> None:
    """A restarted loop continues the numbers; durations follow from stated times."""
    answer = done("import", "orchestrator", "--sprint", "night", "--json").json
    assert answer["found"] == {"iteration": 3, "line": 9, "event": 3}
    events = done("log", "--json", "--sprint", "night").lines
    began = [
        (e["data"]["number"], e["at"]) for e in events if e["type"] == "iteration-started"
    ]
    assert began == [
        (1, "2026-06-02T08:00:01Z"),
        (2, "2026-06-02T08:04:32Z"),
        (3, "2026-06-03T06:00:01Z"),
    ]
    ran = [e["data"] for e in events if e["type"] == "agent-ran"]
    assert [(r["status"], r["duration_ms"], r["iteration"]) for r in ran] == [
        ("completed", 270_000, 1),
        ("failed", 90_000, 2),
        ("completed", 540_000, 3),
    ]
    assert {e["observed"] for e in events[1:]} == {True}
    assert {e["actor"] for e in events} == {"import:.ralph"}


def test_what_was_said_is_a_note(loop: Path, done: Run) -> None:
    """Each event is a note at its time, with its author."""
    done("import", "orchestrator", "--sprint", "night")
    events = done("log", "--json", "--sprint", "night").lines
    notes = [e["data"]["text"] for e in events if e["type"] == "note-added"]
    assert 'planner: plan.ready: {"steps":3}' in notes
    assert "the loop began: Once more" in notes


def test_lines_that_say_nothing_known_are_kept(loop: Path, done: Run) -> None:
    """An unknown kind and a truncated line are counted, and stored with the problem."""
    answer = done("import", "orchestrator", "--sprint", "night", "--json").json
    assert answer["unread"] == 2
    kept = Path(answer["kept"]).read_text()
    assert "'quiet_hours' is unknown" in kept
    assert "not a JSON object" in kept


def test_the_same_again_records_nothing_and_more_only_what_is_new(
    loop: Path, done: Run
) -> None:
    """A longer history adds only its new lines; its iteration is found again."""
    whole = (loop / "history.jsonl").read_bytes().split(b"\n")
    (loop / "history.jsonl").write_bytes(b"\n".join(whole[:4]) + b"\n")
    done("import", "orchestrator", "--sprint", "night")
    (loop / "history.jsonl").write_bytes(b"\n".join(whole))
    answer = done("import", "orchestrator", "--sprint", "night", "--json").json
    assert answer["recorded"] > 0
    events = done("log", "--json", "--sprint", "night").lines
    ended = [e["data"]["number"] for e in events if e["type"] == "iteration-ended"]
    assert ended == [1, 2, 3]
    again = done("import", "orchestrator", "--sprint", "night", "--json").json
    assert again["recorded"] == 0


def test_the_loop_says_itself_when_it_is_over(loop: Path, done: Run) -> None:
    """The loop's end completes the sprint; if it continues, the sprint is reopened."""
    whole = (loop / "history.jsonl").read_bytes().split(b"\n")
    seen = []
    for end in (4, 6, len(whole)):
        (loop / "history.jsonl").write_bytes(b"\n".join(whole[:end]) + b"\n")
        done("import", "orchestrator", "--sprint", "night")
        seen.append(done("show", "progress", "--sprint", "night", "--json").json["status"])
    assert seen == ["in-progress", "completed", "in-progress"]
    done("import", "orchestrator", "--sprint", "at-once")
    kept, at_once = (
        [(e["type"], e["data"]) for e in done("log", "--json", "--sprint", name).lines][1:]
        for name in ("night", "at-once")
    )
    # Notes about the adjacent events were part of the first import.
    assert sorted(map(str, kept)) == sorted(map(str, at_once))


def test_a_loop_that_was_terminated_stays_open(loop: Path, done: Run) -> None:
    """A signal is not an end of the work; the event is a note."""
    history = loop / "history.jsonl"
    text = history.read_text().replace(
        '"loop_completed","reason":"completion_promise"',
        '"loop_terminated","signal":"SIGTERM"',
    )
    history.write_text(text)
    done("import", "orchestrator", "--sprint", "night")
    events = done("log", "--json", "--sprint", "night").lines
    assert "sprint-completed" not in {e["type"] for e in events}
    notes = [e["data"]["text"] for e in events if e["type"] == "note-added"]
    assert "the loop was ended by SIGTERM" in notes


def test_no_link_is_followed_that_nobody_named(loop: Path, run: Run) -> None:
    """A link in the folder that is read is refused."""
    (loop / "history.jsonl").rename(loop.parent / "elsewhere")
    (loop / "history.jsonl").symlink_to(loop.parent / "elsewhere")
    result = run("import", "orchestrator", "--sprint", "night")
    assert result.code == 1
    assert "history.jsonl: is a symbolic link, which is not followed" in result.err


def test_the_source_stays_as_it_is(loop: Path, done: Run) -> None:
    """An import writes nothing into the folder that it reads."""
    before = {file: file.read_bytes() for file in loop.iterdir()}
    done("import", "orchestrator", "--sprint", "night")
    assert {file: file.read_bytes() for file in loop.iterdir()} == before
    done("verify")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b'{"ts":"2026-06-02T08:00:00Z","type":{"ki', ":1: not a JSON object"),
        (b"\x00\xff\n", ":1: not a JSON object"),
        (
            b'{"ts":7,"type":{"kind":"loop_resumed"}}\n',
            ":1: ts: is missing or not a string",
        ),
        (b'{"ts":"today","type":{"kind":"loop_resumed"}}\n', ":1: ts: "),
        (
            b'{"ts":"2026-06-02T08:00:00Z","type":"loop"}\n',
            ":1: type: must be an object with a kind",
        ),
        (
            b'{"ts":"2026-06-02T08:00:00Z","type":{"kind":"iteration_started","iteration":"1"}}',
            ":1: type.iteration: must be an iteration number",
        ),
        (b" " * (64 * 2**20 + 1), "is longer than 64 MiB"),
    ],
)
def test_a_damaged_history_is_refused_in_one_line(
    loop: Path, run: Run, content: bytes, said: str
) -> None:
    """If no line is valid, file, line and field are named, and nothing is recorded."""
    (loop / "history.jsonl").write_bytes(content)
    result = run("import", "orchestrator", "--sprint", "night")
    first = result.err.splitlines()[0]
    assert result.code != 0
    assert "history.jsonl" in first
    assert said in first
    assert run("verify", "--json").json["events"] == 0
