"""A complete workspace behaves the same on every store."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.log.port import Wait
from sprintlog.engine.log.stores import create_log, open_log
from sprintlog.engine.service.place.location import Location
from sprintlog.engine.service.place.trees import FILE, KNOWN
from sprintlog.engine.service.streams.catalogue import EVERY
from sprintlog.engine.service.streams.soundness import back_up
from sprintlog.engine.sprint.events import (
    NoteAdded,
    Place,
    RolledBack,
    SprintCompiled,
    SprintStarted,
)
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.sprint import STATE_FORMAT, Sprint
from sprintlog.projections.health.examination import examine
from sprintlog.projections.health.exchange import export_log, import_log
from sprintlog.projections.health.salvage import salvage
from sprintlog.projections.health.verify import verify
from sprintlog.projections.sql.query import ask
from sprintlog.projections.workspace import Outcome, Workspace

from .conftest import AT_HAND, address, seeded, ticking

DOCUMENT = {"sprint-id": "auth", "phases": [{"id": "a", "prompt": "x"}]}


def make(store: str, root: Path) -> Workspace:
    """Return a workspace on a new log of a store."""
    folder = root / ".sprintlog"
    folder.mkdir(parents=True, mode=0o700)
    url = address(store, folder)
    log = create_log(url, clock=ticking(), entropy=seeded(), wait=Wait(0), beside=folder)
    return Workspace(Location(folder, root, ""), log, clock=ticking(), entropy=bytes)


def note(sprint: Sprint, at: str, *, text: str) -> list[Event]:
    """Return a note."""
    return [NoteAdded(text)]


def live(workspace: Workspace) -> None:
    """Let a sprint advance, be saved, be edited by a third party and be rolled back."""
    place = Place("PROGRESS.yaml")
    workspace.handle_with("auth", lambda sprint, at: [SprintCompiled(DOCUMENT, place)])
    workspace.handle_with("auth", lambda sprint, at: [SprintStarted()], key="once")
    for number in range(EVERY):
        workspace.handle_with("auth", partial(note, text=f"note {number}"))
    workspace.repository.save(workspace.sprint("auth"))
    workspace.refresh("auth")
    (workspace.location.root / place.path).write_text("status: completed\n")
    workspace.refresh("auth")
    workspace.handle_with("auth", lambda sprint, at: [RolledBack(1, "begun too early")])
    workspace.refresh("auth")


@pytest.fixture
def workspace(store: str, tmp_path: Path) -> Iterator[Workspace]:
    """Provide a workspace of every store, with a history."""
    with make(store, tmp_path) as workspace:
        live(workspace)
        yield workspace


@pytest.fixture
def all_of_them(tmp_path: Path) -> Iterator[dict[str, Workspace]]:
    """Provide a workspace of each store, all with the same history."""
    with ExitStack() as stack:
        made = {name: stack.enter_context(make(name, tmp_path / name)) for name in AT_HAND}
        for workspace in made.values():
            live(workspace)
        yield made


def test_every_store_says_the_same(all_of_them: dict[str, Workspace]) -> None:
    """Events, state files, saved states, digests and stored edits are equal."""
    seen = []
    for workspace in all_of_them.values():
        stream = "sprint/auth"
        log = workspace.log
        kept = workspace.repository.checkpoints.versions(stream)
        seen.append(
            (
                list(log.read()),
                _file(workspace),
                {path.name for path in (workspace.location.folder / "edits").iterdir()},
                [(n, log.checkpoints.load(stream, n, format_=STATE_FORMAT)) for n in kept],
                log.digests.written("PROGRESS.yaml"),
                workspace.sprint("auth", at="version:9").plan.status,
            )
        )
    first, *others = seen
    assert first[3]
    assert others
    assert all(other == first for other in others)


def test_a_workspace_is_sound_and_can_be_asked(workspace: Workspace) -> None:
    """The chain, the saved states and the state file are checked, and tables are asked."""
    report = verify(workspace)
    assert not [one for one in report.findings if one.severity in ("damage", "drift")]
    with ask(workspace, "SELECT count(*) FROM v_events", seconds_max=60) as found:
        rows = [row for page in found.pages for row in page]
    assert rows == [(workspace.log.last_position(),)]


def _file(workspace: Workspace) -> bytes:
    return (workspace.location.root / "PROGRESS.yaml").read_bytes()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("other", AT_HAND)
def test_an_export_goes_into_any_store(
    workspace: Workspace, other: str, tmp_path: Path
) -> None:
    """Data from one store can be read by every other: events, state and state file."""
    lines: list[bytes] = []
    export_log(workspace, lines.append)
    given = b"".join(lines).splitlines(keepends=True)
    with make(other, tmp_path / "other") as again:
        import_log(again, given, file="x")
        assert list(again.log.read()) == list(workspace.log.read())
        assert _file(again) == _file(workspace)


def test_a_workspace_refuses_another_thread(workspace: Workspace) -> None:
    """Reading, recording and closing are refused in a thread that did not open it."""
    uses = (
        workspace.sprints,
        workspace.journal,
        partial(workspace.sprint, "auth"),
        partial(workspace.handle_with, "auth", partial(note, text="x")),
        workspace.close,
    )
    with ThreadPoolExecutor(1) as other:
        for use in uses:
            with pytest.raises(RefusedError, match="the thread that opened it"):
                other.submit(use).result()
    assert list(workspace.sprints()) == ["auth"]


def test_reading_meanwhile_hides_nobody_who_was_first(workspace: Workspace) -> None:
    """A decision made before another event arrived is repeated, whoever read the event."""
    seen: list[int] = []

    def decide(sprint: Sprint, at: str) -> list[Event]:
        seen.append(sprint.version)
        if len(seen) == 1:
            workspace.handle_with("auth", partial(note, text="first"))
            assert workspace.sprint("auth").version == seen[0] + 1
        return [NoteAdded(f"after {seen[-1]}")]

    recorded = workspace.handle_with("auth", decide).events
    assert (len(seen), seen[-1]) == (2, recorded[0].version - 1)


def test_a_twin_that_was_first_is_the_answer(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An action is not refused because one with its key was recorded in the meantime."""
    log, create = workspace.log, CreateSprint({"phases": [{"id": "a", "prompt": "x"}]})
    other = Workspace(workspace.location, log, clock=ticking(), entropy=bytes)
    find_key, twins = log.find_key, list[Outcome]()

    def find_before_the_twin(key: str) -> list[RecordedEvent]:
        found = find_key(key)
        monkeypatch.setattr(log, "find_key", find_key)
        twins.append(other.handle(create, sprint_id="s", key="k"))
        return found

    monkeypatch.setattr(log, "find_key", find_before_the_twin)
    outcome = workspace.handle(create, sprint_id="s", key="k")
    assert (outcome.duplicate, outcome.events) == (True, twins[0].events)


def _reads(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which the name of each sprint is added that is read."""
    read: list[str] = []
    real = workspace.sprint

    def sprint(name: str, *, at: str | None = None) -> Sprint:
        read.append(name)
        return real(name, at=at)

    monkeypatch.setattr(workspace, "sprint", sprint)
    return read


def test_place_is_decided_by_one_reading(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decided state determines a place's owner; other sprints are read once."""
    place = Place("other/PROGRESS.yaml")
    workspace.handle_with("other", lambda sprint, at: [SprintCompiled(DOCUMENT, place)])
    assert workspace.tree.id
    read = _reads(workspace, monkeypatch)

    def decide(sprint: Sprint, at: str) -> list[Event]:
        read.clear()
        return [SprintCompiled(DOCUMENT, place)]

    with pytest.raises(RefusedError, match="belongs to sprint other"):
        workspace.handle_with("third", decide)
    assert read == ["auth", "other"]


def test_sprints_are_read_once_to_find_the_tree(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a tree has no id, each sprint is read only once, however often it is needed."""
    fresh = Workspace(workspace.location, workspace.log, clock=workspace.clock)
    trees = workspace.location.folder / KNOWN
    for file in (workspace.location.folder / FILE, *trees.glob("*")):
        file.unlink(missing_ok=True)
    read = _reads(fresh, monkeypatch)
    found = [fresh.tree for _ in range(3)]
    assert (len({*found}), read) == (1, ["auth"])


def test_a_workspace_in_memory_needs_only_a_folder(tmp_path: Path) -> None:
    """State files are written below the folder, which contains no database."""
    with Workspace.in_memory(tmp_path) as workspace:
        live(workspace)
    assert (tmp_path / "PROGRESS.yaml").exists()
    assert not list(tmp_path.rglob("*.db*"))
    Workspace.init(tmp_path, here=True).close()
    with pytest.raises(RefusedError, match="a log already exists"):
        Workspace.in_memory(tmp_path)


def test_a_backup_of_any_log_is_one_in_sqlite(workspace: Workspace) -> None:
    """The backup of any log is a single file that every other command can read."""
    target = workspace.location.root / "copy.db"
    head = back_up(workspace.log, target, clock=workspace.clock)
    copy = open_log(str(target), clock=ticking(), entropy=seeded(), readonly=True)
    assert list(copy.read()) == list(workspace.log.read())
    assert copy.head() == head == workspace.log.head()
    copy.close()


SQLITES_OWN: dict[str, Callable[[Workspace], object]] = {
    "doctor": lambda workspace: examine(workspace.location),
    "salvage": lambda workspace: salvage(workspace.location, Path("new")),
}


@pytest.mark.parametrize("name", SQLITES_OWN)
def test_what_is_sqlites_own_says_so(tmp_path: Path, name: str) -> None:
    """Commands for SQLite refuse other stores, and name alternatives."""
    with Workspace.in_memory(tmp_path) as workspace:
        live(workspace)
        with pytest.raises(RefusedError, match=f"{name} requires an SQLite log") as caught:
            SQLITES_OWN[name](workspace)
    assert caught.value.hint == "use `sprintlog store export` to export any log"
