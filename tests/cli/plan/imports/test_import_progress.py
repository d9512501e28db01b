"""Importing PROGRESS.yaml: nothing dropped, contradictions reported, bad input refused."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections.state_files.yaml.reader import load

FIRST = """\
sprint-id: left-over
status: in-progress
phases:
  - id: one
    status: in-progress
    prompt: "Do one"   # by hand
    owner: ana
  - id: two
    status: pending
    prompt: Do two
current:
  phase: 0
  step: null
  sub-phase: null
stats:
  started-at: '2026-01-15T09:00:00Z'
  total-phases: 9
  completed-phases: 0
  current-iteration: 4
parallel-tasks: []
"""
SECOND = FIRST.replace(
    "    status: in-progress\n    prompt", "    status: completed\n    prompt"
)


@pytest.fixture
def versions(folder: Path, done: Any) -> list[Path]:
    """Return two versions of a document in a folder with an empty log."""
    done("init")
    paths = [folder / "1.yaml", folder / "2.yaml"]
    for path, text in zip(paths, (FIRST, SECOND), strict=True):
        path.write_text(text)
    return paths


def test_gives_each_version_back(versions: list[Path], done: Any) -> None:
    """Every imported version can be shown unchanged, by its position."""
    answers = done("import", "progress", *versions, "--json").lines
    assert [a["file"] for a in answers] == list(map(str, versions))
    assert [(a["version"], a["position"]) for a in answers] == [(1, 1), (3, 3)]
    for answer, path in zip(answers, versions, strict=True):
        shown = done("show", "progress", "--at", f"position:{answer['position']}")
        assert json.dumps(load(shown.out.encode())) == json.dumps(load(path.read_bytes()))


def test_reports_what_contradicts_the_rules(versions: list[Path], done: Any) -> None:
    """The document's contradictions to our rules are reported and stored."""
    answers = done("import", "progress", *versions, "--json").lines
    assert answers[0]["problems"] == ["stats.total-phases is 9, the tree says 2"]
    assert (
        "current is 0/null/null, the first open leaf is 1/null/null"
        in answers[1]["problems"]
    )


def test_goes_on_under_our_rules(versions: list[Path], done: Any) -> None:
    """After an import the sprint continues; from then on derived fields are right."""
    done("import", "progress", *versions)
    done("phase", "start", "two", "--at", "2026-01-15T10:00:00Z")
    done("iteration", "start")
    document = load(done("show", "progress").out.encode())
    assert document["stats"]["total-phases"] == 2
    assert document["stats"]["current-iteration"] == 5
    assert document["current"] == {"phase": 1, "step": None, "sub-phase": None}
    assert document["phases"][0]["owner"] == "ana"


def test_leaves_an_imported_file_as_it_is(folder: Path, done: Any) -> None:
    """The imported file keeps its bytes until our first event; then a copy is stored."""
    done("init")
    (folder / "PROGRESS.yaml").write_text(FIRST)
    assert "is saved as" in done("import", "progress", "PROGRESS.yaml").err
    assert (folder / "PROGRESS.yaml").read_text() == FIRST
    assert done("rebuild", "--check").code == 0
    done("phase", "complete", "one")
    assert "by hand" not in (folder / "PROGRESS.yaml").read_text()
    (kept,) = (folder / ".sprintlog" / "edits").iterdir()
    assert kept.read_text() == FIRST
    assert done("log", "--type", "edit-observed").out == "no events\n"


def test_records_nothing_for_the_same_document(versions: list[Path], done: Any) -> None:
    """The same document again has no difference and records no event."""
    done("import", "progress", versions[0])
    again = done("import", "progress", versions[0], "--json").json
    assert (again["unchanged"], again["version"]) == (True, 1)


def test_reads_a_files_git_history(folder: Path, done: Any) -> None:
    """`--git` imports every committed version with the time of its commit."""
    git(folder, "init", "-q")
    for day, text in enumerate((FIRST, SECOND), start=1):
        (folder / "PROGRESS.yaml").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "x", date=f"2026-01-1{day}T12:00:00+00:00")
    done("init")
    answers = done("import", "progress", "--git", "PROGRESS.yaml", "--json").lines
    events = done("log", "--json").lines
    assert [a["version"] for a in answers] == [1, 3]
    first, second = "2026-01-11T12:00:00Z", "2026-01-12T12:00:00Z"
    assert [e["at"] for e in events] == [first, second, second]
    assert (folder / "PROGRESS.yaml").read_text() == SECOND


def git(folder: Path, *arguments: str, date: str = "") -> None:
    """Run git in a folder, with a fixed name and time."""
    names = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "t"), ("EMAIL", "t@t"), ("DATE", date))
        if value
    }
    subprocess.run(
        ["git", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **names},
    )


BAD = {
    "not YAML": ("sprint-id: [", "bad.yaml:"),
    "another schema": ("current_phase: x\nblockers: []\n", "sprint-id"),
    "duplicate key": (FIRST + "status: completed\n", "status"),
    "aliases": ("sprint-id: &a x\nstatus: *a\n", "anchor"),
    "depth": ("sprint-id: x\nstatus: completed\nd: " + "[" * 200 + "]" * 200, "64"),
    "not a number": (FIRST + "score: .nan\n", "bad.yaml:"),
    "control character": (FIRST.replace("Do two", '"a\\x07b"'), None),
    "raw control character": (FIRST.replace("Do two", "a\x07b"), "bad.yaml:"),
    "id with a control character": (
        FIRST.replace("id: two", 'id: "t\\x07"'),
        "phases[1].id",
    ),
    "id too long": (FIRST.replace("id: two", f"id: {'t' * 129}"), "phases[1].id"),
    "wrong type": (FIRST.replace("phase: 0", "phase: zero"), "current.phase"),
    "unknown word": (FIRST.replace("status: pending", "status: done"), "phases[1].status"),
    "index out of range": (FIRST.replace("phase: 0", "phase: 3"), "current.phase"),
    "negative index": (FIRST.replace("phase: 0", "phase: -1"), "current.phase"),
    "slash in the sprint's id": (FIRST.replace("left-over", "left/over"), "sprint-id"),
    "a list": ("- sprint-id: x\n", "mapping"),
    "empty": ("", "bad.yaml"),
    "a number too large": (
        FIRST.replace("total-phases: 9", f"total-phases: {2**70}"),
        "bad.yaml:",
    ),
}


@pytest.mark.parametrize("name", [name for name, (_, said) in BAD.items() if said])
def test_refuses_bad_input_in_one_line(versions: list[Path], run: Any, name: str) -> None:
    """Bad input is a one-line error with file and line or field; nothing is recorded."""
    text, said = BAD[name]
    bad = versions[0].with_name("bad.yaml")
    bad.write_text(text)
    result = run("import", "progress", versions[0], bad)
    error, *hint = result.err.splitlines()
    assert result.code == 1
    assert error.startswith("error: ")
    assert said is not None
    assert "bad.yaml" in error
    assert said in error
    assert all(line.startswith("hint: ") for line in hint)
    assert run("log", "--all", "--json").out == ""


def test_keeps_control_characters_in_text(versions: list[Path], done: Any) -> None:
    """An escaped control character in a prompt is text like any other."""
    text, _ = BAD["control character"]
    versions[0].write_text(text)
    done("import", "progress", versions[0])
    assert load(done("show", "progress").out.encode())["phases"][1]["prompt"] == "a\x07b"


def test_says_when_a_file_is_missing(versions: list[Path], run: Any) -> None:
    """A missing file exits with 3 and is named."""
    result = run("import", "progress", "nowhere.yaml")
    assert result.code == 3
    assert "nowhere.yaml" in result.err


def test_writes_where_the_history_was_imported_from(folder: Path, done: Any) -> None:
    """After `--git` the sprint uses the current file, including uncommitted work."""
    git(folder, "init", "-q")
    (folder / "PROGRESS.yaml").write_text(FIRST)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "x", date="2026-01-11T12:00:00+00:00")
    (folder / "PROGRESS.yaml").write_text(SECOND)
    done("init")
    assert len(done("import", "progress", "--git", "PROGRESS.yaml", "--json").lines) == 2
    assert (folder / "PROGRESS.yaml").read_text() == SECOND
    assert done("log", "--type", "edit-observed").out == "no events\n"
    done("phase", "start", "two")
    assert (
        load((folder / "PROGRESS.yaml").read_bytes())["phases"][1]["status"]
        == "in-progress"
    )


EVERY_FIELD = Path(__file__).resolve().parents[4] / "fixtures/documents/every-field.yaml"


def test_stores_every_field_of_the_documents(folder: Path, done: Any) -> None:
    """Every field of both documents is stored, shown, written, and survives our events."""
    original = load(EVERY_FIELD.read_bytes())
    done("init")
    done("import", "progress", EVERY_FIELD, "--sprint-dir", ".")
    assert json.dumps(load((folder / "PROGRESS.yaml").read_bytes())) == json.dumps(original)
    done("sprint", "heartbeat", "--at", "2026-03-01T08:16:00Z")
    assert load((folder / "PROGRESS.yaml").read_bytes()) == original


def test_schema_names_every_field_of_the_documents(done: Any) -> None:
    """The published schema names every field of the documents."""
    known = set(re.findall(r'"([a-z][A-Za-z-]*)"', done("schema", "progress").out))
    original = load(EVERY_FIELD.read_bytes())
    unknown = {key for key in _keys(original) if key not in known}
    free = {"relatedFiles", "codeSnippet", "position", "idPrefix"}
    assert unknown - free == {"owner-of-the-file"}


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for child in value.values() if isinstance(value, dict) else value:
        if isinstance(child, dict | list):
            yield from _keys(child)


def test_gives_the_same_bytes_back_after_a_loss(folder: Path, done: Any) -> None:
    """A lost imported file is recreated byte for byte, until our own first event."""
    done("init")
    (folder / "PROGRESS.yaml").write_text(FIRST)
    done("import", "progress", "PROGRESS.yaml")
    (folder / "PROGRESS.yaml").unlink()
    done("rebuild")
    assert (folder / "PROGRESS.yaml").read_text() == FIRST
    assert done("rebuild", "--check").code == 0
    done("phase", "complete", "one")
    (folder / "PROGRESS.yaml").unlink()
    done("rebuild")
    assert "by hand" not in (folder / "PROGRESS.yaml").read_text()


def test_gives_the_same_bytes_back_after_an_edit(folder: Path, done: Any) -> None:
    """An edit of an imported file is stored, and the imported bytes are restored."""
    done("init")
    (folder / "PROGRESS.yaml").write_text(FIRST)
    done("import", "progress", "PROGRESS.yaml")
    (folder / "PROGRESS.yaml").write_text(SECOND)
    done("rebuild")
    assert (folder / "PROGRESS.yaml").read_text() == FIRST
    assert len(done("log", "--type", "edit-observed", "--json").lines) == 1


def test_tells_the_same_contradictions_once(folder: Path, done: Any) -> None:
    """A contradiction in many versions is one line, with the number of versions."""
    done("init")
    paths = []
    for number in range(5):
        paths.append(folder / f"{number}.yaml")
        text = FIRST.replace("total-phases: 9", f"total-phases: {9 - number}")
        paths[-1].write_text(text)
    lines = done("import", "progress", *paths).out.splitlines()
    assert [line.count("1 contradiction ") for line in lines] == [1] * 5 + [0]
    assert lines[-1] == "  stats.total-phases is 5, the tree says 2  (5 of 5 versions)"


def test_tells_of_a_checksum_that_is_not_the_files(folder: Path, done: Any) -> None:
    """A wrong checksum next to the file is reported before it is replaced."""
    done("init")
    (folder / "PROGRESS.yaml").write_text(FIRST)
    (folder / "PROGRESS.yaml.checksum").write_text(sha256(FIRST.encode()).hexdigest())
    assert ".checksum is" not in done("import", "progress", "PROGRESS.yaml").err
    (folder / "PROGRESS.yaml").write_text(SECOND)
    said = done("import", "progress", "PROGRESS.yaml").err
    assert "warning: PROGRESS.yaml.checksum does not match" in said


def test_status_counts_the_phases_of_an_import(folder: Path, done: Any) -> None:
    """The counts of an imported document may be missing or contradict its phases."""
    done("init")
    text = FIRST.replace("total-phases: 9", "total-phases: 7").replace(
        "current-iteration: 4", "current-iteration: null"
    )
    (folder / "PROGRESS.yaml").write_text(text)
    done("import", "progress", "PROGRESS.yaml")
    lines = done("status").out.splitlines()
    assert "phases 0/2  at one" in lines
