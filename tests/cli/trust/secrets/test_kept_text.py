"""The registry of stored text: no text is stored in an unknown place."""

import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import sprintlog
from sprintlog.commands import AddNote
from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.service.place.location import spool_folders
from sprintlog.engine.service.streams.catalogue import EVERY
from sprintlog.projections.health import kept_text
from sprintlog.projections.health.kept_text import KEPT_TEXT, entry_of
from sprintlog.projections.health.text_places import Needle, files_in
from sprintlog.projections.workspace import Workspace

from ....adapters.trees import git, put
from ...conftest import Run

pytestmark = pytest.mark.long

SECRET = 'it\'s "opensesame" 4711'
QUOTED = SECRET.replace('"', '\\"')
PLAN = f"""\
phases:
  - id: build
    prompt: '{SECRET.replace("'", "''")}'
    gate:
      script: |
        cat said
      on-fail-prompt: Repair it
  - id: ship
    prompt: Ship it
"""
AGENT = """\
import json, sys
print(json.dumps({"type": "result", "result": json.dumps({
    "status": "goal-complete", "summary": open("said").read()})}))
"""
THEIRS = ("plan.yaml", "agent.py", "said", "made")
BY_HAND = (
    *("lost.jsonl", "snapshots/kept/0123", "finished/auth.PROGRESS.yaml"),
    *("not-understood/prd.txt", "spool/0123", "reports/0123", "redaction"),
    "transcripts/claude-1.jsonl",
)
"""What damage, a race and another sprint leave: files of these names."""


@pytest.fixture
def told(folder: Path, done: Run) -> Path:
    """Return a tree in which a secret was recorded in every possible way."""
    git(folder, "init", "-q")
    put(folder / "plan.yaml", PLAN.encode())
    put(folder / "agent.py", AGENT.encode())
    put(folder / "said", SECRET.encode())
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("sprint", "start")
    done("iteration", "baseline", "--loop-id", "ralph-001", "--metric", "test_count=1")
    done("phase", "start", "--actor", "agent:coder")
    done("iteration", "snapshot")
    done("gate", "run")
    done("phase", "complete", "--summary", SECRET)
    done("note", SECRET)
    done("iteration", "start")
    put(folder / "made", SECRET.encode())
    metrics = ("--metric", "test_count=2", "--metric", "tests_passed=2")
    done("iteration", "end", "--snapshot", *metrics, "--summary", SECRET)
    take_notes(folder)
    put(folder / "PROGRESS.yaml", b"# " + SECRET.encode() + b"\n")
    done("note", "seen")
    observation = (
        f'{{"type": "finding", "title": "{QUOTED}", "category": "tooling-friction"}}'
    )
    done("journal entry record", "auth", "--status", "completed", "--summary", SECRET,
         "--observation", observation)  # fmt: skip
    done("journal", "search", "opensesame")
    done("query", "SELECT count(*) FROM v_events")
    put(folder / "said", b"later")
    done("restore", "iter:1", "--apply", "--yes")
    goal = (
        "--goal",
        SECRET,
        "--sprint-dir",
        "goal",
        "--hook",
        "id=learning,command=cat said",
    )
    put(folder / "said", SECRET.encode())
    done("sprint", "create", "win", *goal)
    run = ("run", "--sprint", "win", "--rest", "0", "--", sys.executable, "agent.py")
    done(*run)
    for name in BY_HAND:
        put(folder / ".git/sprintlog" / name, SECRET.encode())
    put(folder / ".git/sprintlog/blocks/0123", b"of a large file")
    put(folder / ".git/sprintlog/snapshots/damaged/x.pack", zlib.compress(SECRET.encode()))
    return folder


@pytest.fixture
def workspace(told: Path) -> Iterator[Workspace]:
    """Return the workspace of that tree."""
    with Workspace.open(told) as opened:
        yield opened


def take_notes(folder: Path) -> None:
    """Record events until a state is saved."""
    with sprintlog.open(folder) as workspace:
        for number in range(EVERY):
            workspace.handle(AddNote(str(number)), sprint_id="auth")


def holds(path: Path) -> bool:
    """Return whether a file contains the secret in some form, even compressed."""
    content = path.read_bytes()
    texts = [content]
    for start in range(len(content)):
        if content[start : start + 1] == b"\x78":
            with suppress(zlib.error):
                texts.append(zlib.decompressobj().decompress(content[start:]))
    forms = [form.encode() for form in (SECRET, QUOTED, SECRET.replace("'", "''"))]
    return any(form in text for text in texts for form in forms)


def missed(workspace: Workspace) -> list[str]:
    """Return the problems of the registry: unlisted files, and secrets it does not find."""
    entries, needle = kept_text.KEPT_TEXT, Needle(SECRET)
    found = {entry.name: entry.scan(workspace, needle) for entry in entries}
    wrong = []
    for name, path in files_in(workspace.location.folder):
        entry = kept_text.entry_of(name)
        if entry is None:
            wrong.append(f"{name} belongs to nothing")
        elif holds(path) and not found[entry.name]:
            wrong.append(f"{name} holds the secret, and {entry.name} does not find it")
    known = {place for places in found.values() for place in places}
    for name, path in files_in(workspace.location.root):
        is_ours = not name.startswith(".git/") and name not in THEIRS
        if is_ours and holds(path) and name not in known:
            wrong.append(f"{name} of the work tree is not found")
    return wrong


def test_all_that_holds_a_text_is_found(workspace: Workspace) -> None:
    """Every file with a secret belongs to an entry, which finds the secret."""
    assert missed(workspace) == []
    found = {entry.name for entry in KEPT_TEXT if entry.scan(workspace, Needle(SECRET))}
    assert found == {entry.name for entry in KEPT_TEXT} - {
        "blocks of large files",
        "digests written",
        "locks",
        "names of known files",
    }


def test_what_is_not_in_the_registry_is_noticed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any one of the entries that have files, something is missed."""
    for entry in KEPT_TEXT:
        if entry.name in ("events", "saved states", "digests written"):
            continue  # The database pages contain the rows' bytes.
        others = tuple(other for other in KEPT_TEXT if other is not entry)
        monkeypatch.setattr(kept_text, "KEPT_TEXT", others)
        assert missed(workspace), entry.name


def test_a_new_file_beside_the_log_must_belong_to_an_entry(workspace: Workspace) -> None:
    """An unregistered file in the log's folder is detected, whatever its content."""
    put(workspace.location.folder / "attic/0001", b"nothing")
    assert missed(workspace) == ["attic/0001 belongs to nothing"]
    assert entry_of("edits/PROGRESS-0123.yaml") is not None


def test_every_table_of_the_log_belongs_to_an_entry(workspace: Workspace) -> None:
    """Each table of the log's database belongs to exactly one entry."""
    tables = [name for entry in KEPT_TEXT for name in getattr(entry, "tables", ())]
    assert sorted(tables) == workspace.log.parts()


def test_what_is_erased_is_gone_and_what_is_left_says_why(workspace: Workspace) -> None:
    """Each entry then finds what it reported as remaining, with a reason."""
    needle = Needle(SECRET)
    left = {}
    for entry in KEPT_TEXT:
        before = entry.scan(workspace, needle)
        erased = entry.erase(workspace, needle)
        assert sorted([*erased.gone, *erased.left]) == sorted(before), entry.name
        assert bool(erased.left) == (erased.why is not None), entry.name
        left[entry.name] = entry.scan(workspace, needle)
        assert left[entry.name] == [*erased.left], entry.name
    assert {name for name, places in left.items() if places} == {
        *("events", "database pages", "lost events"),
        *("snapshots", "state files"),
    }


def test_what_waits_in_the_persons_folder_is_found(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Events spooled outside the log's folder, because it was read-only, are included."""
    workspace.environment = {"XDG_STATE_HOME": str(tmp_path / "state")}
    _, elsewhere = spool_folders(workspace.location, workspace.environment)
    put(elsewhere / "0123", SECRET.encode())
    (entry,) = (entry for entry in KEPT_TEXT if entry.name == "events that wait")
    needle = Needle(SECRET)
    assert entry.scan(workspace, needle) == ["spool/0123", str(elsewhere / "0123")]
    entry.erase(workspace, needle)
    assert entry.scan(workspace, needle) == []
    assert not (elsewhere / "0123").exists()


def test_caches_come_back(workspace: Workspace, done: Run) -> None:
    """A deleted cache is recreated on demand."""
    names = ["saved states", "read model", "search index"]
    caches = [entry for entry in KEPT_TEXT if entry.name in names]
    needle = Needle(SECRET)
    for entry in caches:
        entry.erase(workspace, needle)
    done("query", "SELECT count(*) FROM v_events")
    done("rebuild")
    done("journal", "search", "opensesame")
    done("status", "--sprint", "auth")
    take_notes(workspace.location.root)
    assert [e.name for e in caches if e.scan(workspace, needle)] == names
    assert done("verify", "--json").json["sound"]


@pytest.mark.parametrize("text", ["", "one\ntwo"])
def test_what_is_looked_for_is_one_line(text: str) -> None:
    """No text at all would be everywhere, and lines are folded in many ways."""
    with pytest.raises(InvalidInputError, match="one line"):
        Needle(text)
