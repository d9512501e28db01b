"""Importing unusual files: queues, odd numbers, other JSON, endless files."""

import json
from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections.state_files.yaml.reader import load

from .test_import_progress import FIRST

OLD = """\
sprint-id: old
status: in-progress
current-task: null
queue:
  - id: two
    description: Do two
completed:
  - id: one
    commit: 6673e79
    version: 1.10
blocked: []
"""


def test_goes_on_with_a_queue_of_tasks(folder: Path, done: Any) -> None:
    """A first-generation document has its tasks as phases, with open ones open."""
    done("init")
    (folder / "PROGRESS.yaml").write_text(OLD)
    said = done("import", "progress", "PROGRESS.yaml").out
    assert "tasks in a queue are read as phases: 1 completed, 0 blocked, 1 queue" in said
    assert done("next", "--json").json["phase"] == "two"
    done("rebuild")
    assert (folder / "PROGRESS.yaml").read_text() == OLD
    done("phase", "start", "two")
    document = load((folder / "PROGRESS.yaml").read_bytes())
    assert [p["status"] for p in document["phases"]] == ["completed", "in-progress"]
    assert (document["phases"][0]["commit"], document["phases"][0]["version"]) == (
        "6673e79",
        "1.10",
    )


def test_keeps_what_only_looks_like_a_number(folder: Path, done: Any) -> None:
    """A plain scalar that we would write differently is stored as written and reported."""
    odd = {"a": "6673e79", "b": "0123456", "c": "1.10", "d": "0x1F", "e": "667e793"}
    same = {"f": 7, "g": 1.5, "h": True, "i": None}
    plain = "".join(f"{key}: {text}\n" for key, text in odd.items())
    plain += "f: 7\ng: 1.5\nh: True\ni: ~\n"
    (folder / "x.yaml").write_text(FIRST + plain)
    done("init")
    answer = done("import", "progress", "x.yaml", "--json").json
    shown = load(done("show", "progress").out.encode())
    assert {key: shown[key] for key in (*odd, *same)} == {**odd, **same}
    told = [problem for problem in answer["problems"] if "kept as the text" in problem]
    assert [problem.partition(" ")[0] for problem in told] == list(odd)


NOTHING_TO_DO = {
    "no phases": ("sprint-id: x\nstatus: in-progress\ntasks: [{id: a}]\n", "phases"),
    "empty phases": ("sprint-id: x\nstatus: in-progress\nphases:\n", "phases"),
    "nothing takes part": (
        "sprint-id: x\nstatus: in-progress\nphases: [{name: a}, {name: b}]\n",
        "phases",
    ),
    "a task without an id": (OLD.replace("id: two", "name: two"), "queue[0].id"),
}


@pytest.mark.parametrize("name", NOTHING_TO_DO)
def test_takes_nothing_unknown_for_done(folder: Path, run: Any, name: str) -> None:
    """A document in which no work can be read is refused, not considered finished."""
    text, field = NOTHING_TO_DO[name]
    (folder / "PROGRESS.yaml").write_text(text)
    run("init")
    result = run("import", "progress", "PROGRESS.yaml")
    assert result.code == 1
    assert result.err.startswith(f"error: PROGRESS.yaml: {field}: ")
    assert run("log", "--all", "--json").out == ""


def test_reads_json_as_others_write_it(folder: Path, done: Any) -> None:
    """Escapes in pairs are read in a plan, an injection and a PROGRESS.yaml."""
    text = 'rocket 🚀 "\\ud83d" \u2028\x7f'
    plan = {"phases": [{"id": "a", "prompt": text}], "x": 1e5}
    for ascii_only in (True, False):
        (folder / "plan.json").write_text(json.dumps(plan, ensure_ascii=ascii_only))
        name = f"s{ascii_only}"
        done("init") if ascii_only else None
        done("sprint", "create", name, "--plan", "plan.json", "--sprint-dir", name)
        node = json.dumps([{"id": "b", "prompt": text}], ensure_ascii=ascii_only)
        (folder / "node.json").write_text(node)
        done("phase", "inject", "--file", "node.json", "--sprint", name)
        shown = json.loads(done("show", "progress", "--sprint", name, "--json").out)
        assert [phase["prompt"] for phase in shown["phases"]] == [text, text]
        assert shown["x"] == 100000.0
        document = json.dumps({**shown, "sprint-id": f"i{name}"}, ensure_ascii=ascii_only)
        (folder / "in.json").write_text(document)
        done("import", "progress", "in.json")
        again = json.loads(done("show", "progress", "--sprint", f"i{name}", "--json").out)
        assert again["phases"] == shown["phases"]


def test_reads_no_file_that_is_too_long(sprint: Path, run: Any) -> None:
    """Only enough of a file over the limit is read to detect its size."""
    for name in ("PROGRESS.yaml", "big.yaml"):
        with (sprint / name).open("wb") as file:
            file.truncate(300 * 2**20)
    imported = run("import", "progress", "big.yaml")
    assert (imported.code, "big.yaml: is too large" in imported.err) == (1, True)
    noted = run("note", "x")
    assert (noted.code, "longer than" in noted.err) == (0, True)
    (sprint / "PROGRESS.yaml").unlink()
    assert run("rebuild").code == 0
