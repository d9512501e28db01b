"""Import the stories of a prd.json or feature_list.json, and the text next to them."""

import json
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run
from .test_import_progress import git

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures" / "loops" / "ralph"


@pytest.fixture
def loop(folder: Path, done: Run) -> Path:
    """Return a folder with the files of such a loop, next to an empty log."""
    for file in FIXTURES.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    done("init")
    return folder


def changed(file: Path, change: Any) -> None:
    """Change a file of JSON as its loop would."""
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


def statuses(done: Run, *more: str) -> dict[str, str]:
    """Return the status of each phase."""
    phases = done("show", "progress", "--json", *more).json["phases"]
    return {phase["id"]: phase["status"] for phase in phases}


def test_each_story_becomes_a_phase(loop: Path, done: Run) -> None:
    """Stories are in order of priority; passing ones are completed, and all keys remain."""
    answer = done("import", "prd", "prd.json", "--json").json
    assert answer["found"] == {"story": 3, "passed": 1, "entry": 1}
    assert (answer["sprint"], answer["unread"]) == ("task-priority", 1)
    assert list(statuses(done).items()) == [
        ("US-001", "completed"),
        ("US-002", "pending"),
        ("US-003", "pending"),
    ]
    first = done("show", "progress", "--json").json["phases"][0]
    assert first["notes"] == "Migration 12"
    assert first["acceptanceCriteria"] == ["The column is there", "Typecheck passes"]
    assert first["prompt"].endswith("- The column is there\n- Typecheck passes")


def test_the_loop_goes_on_where_it_was(loop: Path, done: Run) -> None:
    """The next action after an import is the first story that does not pass."""
    done("import", "prd", "prd.json")
    assert done("next", "--json").json["phase"] == "US-002"


def test_the_text_beside_it_goes_to_the_journal(loop: Path, done: Run) -> None:
    """Entries, learnings and patterns are recorded; unknown headings are stored."""
    answer = done("import", "prd", "prd.json", "--json").json
    assert [e["summary"] for e in done("journal entry list", "--json").json] == [
        "Added the column"
    ]
    (line,) = Path(answer["kept"]).read_text().splitlines()
    assert json.loads(line)["text"] == "Something else"


def test_the_same_again_records_nothing(loop: Path, done: Run) -> None:
    """An unchanged source adds nothing, although work has continued here."""
    done("import", "prd", "prd.json")
    done("phase", "start", "US-002")
    before = done("log", "--json").out
    assert done("import", "prd", "prd.json", "--json").json["recorded"] == 0
    assert done("log", "--json").out == before


def test_a_later_version_brings_what_changed(loop: Path, done: Run) -> None:
    """A story that passes now is completed by the next import."""
    done("import", "prd", "prd.json")
    changed(loop / "prd.json", lambda data: data["userStories"][0].update(passes=True))
    done("import", "prd", "prd.json")
    assert statuses(done)["US-002"] == "completed"


def test_what_was_rolled_back_comes_again(loop: Path, done: Run) -> None:
    """An import after a rollback brings the file at hand once more."""
    done("import", "prd", "prd.json")
    changed(loop / "prd.json", lambda data: data["userStories"][0].update(passes=True))
    done("import", "prd", "prd.json")
    before = statuses(done)
    done("rollback", "version:1", "--yes")
    assert statuses(done) != before
    done("import", "prd", "prd.json")
    assert statuses(done) == before
    assert done("import", "prd", "prd.json", "--json").json["recorded"] == 0


def test_git_says_when_each_story_passed(loop: Path, done: Run) -> None:
    """With --git every version is recorded with its time, oldest first, and only once."""
    git(loop, "init", "-q", "-b", "main")
    for day, number in ((3, 1), (5, 0), (8, 2)):
        date = f"2026-02-{day:02}T12:00:00+00:00"
        changed(
            loop / "prd.json",
            lambda data, at=number: data["userStories"][at].update(passes=True),
        )
        git(loop, "add", "prd.json", date=date)
        git(loop, "commit", "-qm", "feat: a story", "--allow-empty", date=date)
    answer = done("import", "prd", "--git", "prd.json", "--json").json
    assert answer["found"]["version"] == 3
    assert statuses(done)["US-003"] == "completed"
    then = statuses(done, "--at", "2026-02-06T00:00:00Z")
    assert (then["US-002"], then["US-003"]) == ("completed", "pending")
    assert done("import", "prd", "--git", "prd.json", "--json").json["recorded"] == 0


def test_git_follows_a_file_that_was_renamed(loop: Path, done: Run) -> None:
    """Versions under earlier names are the same stories; other projects' files are not."""
    git(loop, "init", "-q", "-b", "main")
    (loop / "scripts" / "ralph").mkdir(parents=True)
    moves = ("prd.json", "stories.json", "scripts/ralph/prd.json")
    for number, (old, new) in enumerate(zip(("prd.json", *moves), moves, strict=False)):
        date = f"2026-02-0{number + 3}T12:00:00+00:00"
        if old != new:
            git(loop, "mv", old, new)
        changed(
            loop / new, lambda data, at=number: data["userStories"][at].update(passes=True)
        )
        git(loop, "add", "-A", ".", ":!.sprintlog", date=date)
        git(loop, "commit", "-qm", "feat: a story", date=date)
    answer = done("import", "prd", "--git", moves[-1], "--json").json
    assert answer["found"]["version"] == 3
    then = statuses(done, "--at", "2026-02-04T00:00:00Z")
    assert list(then.values()).count("completed") == 2
    assert set(statuses(done).values()) == {"completed"}


def test_features_without_ids_are_called_by_their_place(loop: Path, done: Run) -> None:
    """A feature_list.json is imported in the same way; its steps are in the prompt."""
    answer = done("import", "prd", "feature_list.json", "--sprint", "chat", "--json").json
    assert answer["found"]["feature"] == 2
    assert statuses(done, "--sprint", "chat") == {
        "feature-001": "completed",
        "feature-002": "pending",
    }


def test_an_id_that_occurs_twice_is_numbered(loop: Path, done: Run) -> None:
    """Both items are imported, and the second one's id is reported."""
    twice = [{"id": "a", "passes": True}, {"id": "a", "passes": False}]
    (loop / "prd.json").write_text(json.dumps(twice))
    (loop / "progress.txt").unlink()
    answer = done("import", "prd", "prd.json", "--json").json
    assert answer["unread"] == 1
    assert statuses(done) == {"a": "completed", "a-2": "pending"}


def test_a_status_word_is_read_unless_a_flag_decides(loop: Path, done: Run) -> None:
    """An unknown status is pending and reported; `passes` decides completion."""
    said = [
        *(
            {"title": str(n), "status": word}
            for n, word in enumerate(("Done", "In Progress"))
        ),
        {"title": "x", "status": "splendid"},
        {"title": "y", "status": "done", "passes": False},
        {"title": "z", "status": "blocked", "passes": True, "model": 1, "steps": ["a"]},
    ]
    (loop / "list.json").write_text(json.dumps({"goal": "all", "tasks": said}))
    answer = done("import", "prd", "list.json", "--sprint", "x", "--json").json
    assert (answer["found"]["task"], answer["found"]["passed"]) == (5, 2)
    assert Path(answer["kept"]).read_text().count("unknown status") == 1
    document = done("show", "progress", "--json", "--sprint", "x").json
    words = [x["status"] for x in document["phases"]]
    assert words == ["completed", "in-progress", "pending", "pending", "completed"]
    assert document["source-goal"] == "all"
    last = document["phases"][-1]
    assert (last["source-model"], last["source-steps"]) == (1, ["a"])


def test_each_tag_of_task_master_is_a_sprint(loop: Path, done: Run) -> None:
    """Subtasks are steps; a task with subtasks has the status that follows from them."""
    task = {"id": 1, "title": "One", "status": "done"}
    below = [
        {"id": n, "title": str(n), "status": w} for n, w in ((1, "done"), (2, "pending"))
    ]
    tags = {
        "master": {"tasks": [task], "metadata": {}},
        "later": {"tasks": [{**task, "subtasks": below}]},
    }
    (loop / "tasks.json").write_text(json.dumps(tags))
    done("import", "prd", "tasks.json", "--progress", "prd.json")
    assert statuses(done, "--sprint", "later") == {"1": "in-progress"}
    steps = done("show", "progress", "--json", "--sprint", "later").json["phases"][0][
        "steps"
    ]
    assert [x["status"] for x in steps] == ["completed", "pending"]
    assert len(done("sprint", "list", "--json").json) == 2


def test_several_lists_are_not_one_sprint(loop: Path, run: Run) -> None:
    """A name for the sprint is refused if a file has lists for several."""
    tags = {x: {"tasks": [{"title": x, "status": "done"}]} for x in "ab"}
    (loop / "tasks.json").write_text(json.dumps(tags))
    result = run("import", "prd", "tasks.json", "--sprint", "x")
    assert (
        result.code,
        "2 sprints cannot be imported as the single sprint x" in result.err,
    ) == (1, True)
    assert run("verify", "--json").json["events"] == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"userStories": [{"id": "US-001"', "not JSON"),
        (b"not JSON at all", "not JSON"),
        (b"\x00\xff\x10", "not JSON"),
        (b'"words"', "has no list of tasks"),
        (b"{}", "has no list of tasks"),
        (b'{"tasks": [{"label": "a", "command": "b"}]}', "has no list of tasks"),
        (b'{"prd": {"id": "a", "status": "done"}}', "has no list of tasks"),
        (b'{"userStories": [{"id": true, "passes": true}]}', "userStories[0].id"),
        (b'{"userStories": [{"id": "a\\u0000", "passes": true}]}', "userStories[0].id"),
        (b'{"userStories": [{"id": "a", "passes": "no"}]}', "userStories[0].passes"),
        (b'{"userStories": {"id": "a"}}', "has no list of tasks"),
        (b'[{"passes": true}]', "[0]: has neither an id nor a description"),
        (b'[{"id": "a", "passes": true}, 1]', "[1]: must be an object"),
        (b" " * (64 * 2**20 + 1), "is longer than 64 MiB"),
    ],
)
def test_damaged_stories_are_refused_in_one_line(
    loop: Path, run: Run, content: bytes, said: str
) -> None:
    """An unreadable file is refused with file and field, and nothing is recorded."""
    (loop / "prd.json").write_bytes(content)
    result = run("import", "prd", "prd.json")
    first = result.err.splitlines()[0]
    assert result.code != 0
    assert first.startswith("error: prd.json: ")
    assert said in first
    assert run("verify", "--json").json["events"] == 0
