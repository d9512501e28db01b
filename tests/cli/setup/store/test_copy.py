"""`copy`: from any store into any other, repeatedly, and never over another log."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from os import urandom
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sprintlog.engine.errors import RefusedError, UnreadableError
from sprintlog.engine.log.envelope import NewEvent, RecordedEvent
from sprintlog.engine.log.port import Expect, Log
from sprintlog.engine.log.stores import create_log, open_log, wall_clock
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.projections.health.exchange import EVENTS_A_STEP, copy_export, copy_log
from sprintlog.projections.workspace import Workspace

from ....postgres.server import NEWEST, server, why_not
from ...conftest import Run

NOTE = NewEvent("note-added", b"{}", "2026-01-30T12:00:00Z", "runtime")
STORES = ("sqlite", NEWEST)
Place = Callable[[str], str]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Provide a function that returns the address of a new log in a store."""

    def named(store: str) -> str:
        if store == "sqlite":
            return str(tmp_path / "copied")
        if reason := why_not(store):
            pytest.skip(reason)
        return server(store).new_url()

    return named


def read(place: str) -> list[RecordedEvent]:
    """Return all events of a log at a place."""
    is_tree = (Path(place) / ".sprintlog").is_dir()
    folder = f"{place}/.sprintlog" if is_tree else place
    url = place if ":" in place else f"{folder}/log.db"
    with closing(open_log(url, clock=wall_clock, entropy=urandom)) as log:
        return list(log.read())


def in_memory(events: int = 0, *, stream: str = "a") -> Log:
    """Return a log in memory, with some events in appends of three."""
    log = MemoryLog(clock=wall_clock, entropy=urandom)
    for version in range(0, events, 3):
        log.append(stream, [NOTE] * 3, expect=version)
    return log


@pytest.mark.parametrize("store", STORES)
def test_a_copy_has_the_same_events(
    sprint: Path, done: Run, place: Place, store: str
) -> None:
    """Complete envelopes are copied; later, only new events are copied."""
    target = place(store)
    done("note", "one", "--key", "k")
    first = done("store copy", ".", target, "--json").json
    ours = read(str(sprint / ".sprintlog"))
    assert first["events"] == len(ours)
    assert read(target) == ours
    done("note", "two")
    again = done("store copy", sprint, target, "--json").json
    assert (again["events"], again["position"]) == (1, len(ours) + 1)
    assert done("store copy", sprint, target, "--json").json["events"] == 0
    assert read(target) == read(str(sprint / ".sprintlog"))


def test_a_copy_comes_back(sprint: Path, done: Run, place: Place) -> None:
    """From the server into a new folder, which then is a log like the first."""
    url = place(NEWEST)
    done("store copy", ".", url)
    done("store copy", url, "back")
    assert read(str(sprint / "back")) == read(str(sprint / ".sprintlog"))


def test_commands_find_the_log_in_a_copied_folder(
    sprint: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new folder has its log in `.sprintlog`, like a work tree."""
    ours = done("log", "--json").lines
    done("store copy", ".", "back")
    monkeypatch.chdir(sprint / "back")
    assert done("log", "--json").lines == ours


@pytest.mark.parametrize("store", STORES)
def test_an_export_is_copied(sprint: Path, done: Run, place: Place, store: str) -> None:
    """An `export` file can be copied into any store, even after an earlier one."""
    target = place(store)
    done("store export", "--out", "one.jsonl")
    done("store copy", "one.jsonl", target)
    done("note", "later")
    done("store export", "--out", "two.jsonl")
    assert done("store copy", "two.jsonl", target, "--json").json["events"] == 1
    assert read(target) == read(str(sprint / ".sprintlog"))


@pytest.mark.parametrize("name", ["one.jsonl", "."])
def test_another_log_is_not_written_over(
    sprint: Path, done: Run, run: Run, place: Place, name: str
) -> None:
    """A target that is not a prefix of the source is refused unchanged."""
    target = place("sqlite")
    with closing(
        create_log(f"{target}/log.db", clock=wall_clock, entropy=urandom)
    ) as other:
        other.append("z", [NOTE], expect=Expect.ANY)
    before = read(target)
    done("store export", "--out", "one.jsonl")
    refused = run("store copy", name, target)
    assert refused.code == 1
    assert "events of the source" in refused.err
    assert read(target) == before


def test_what_is_there_and_no_log_is_left(sprint: Path, run: Run) -> None:
    """Existing files and folders that are not logs are refused as targets."""
    (sprint / "mine").mkdir()
    (sprint / "file").write_text("mine")
    for name in ("mine", "file"):
        assert run("store copy", ".", name).code in (1, 4)
    assert not list((sprint / "mine").iterdir())
    assert (sprint / "file").read_text() == "mine"
    assert run("store copy", "nowhere", "new").code == 3


def test_a_copy_that_was_cut_short_goes_on() -> None:
    """Each step consists of complete appends, so a copy can be continued."""
    source, target = in_memory(3 * EVENTS_A_STEP), in_memory()
    steps = []

    def interrupt(position: int) -> None:
        steps.append(position)
        if len(steps) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_log(source, target, progress=interrupt)
    assert target.head().position == steps[-1] < source.head().position
    assert all(event.remaining == 0 for event in [*target.read()][-1:])
    assert copy_log(source, target).events == source.head().position - steps[-1]
    assert list(target.read()) == list(source.read())


@pytest.mark.long
def test_a_target_is_not_held_while_lines_come(folder: Path, done: Run) -> None:
    """An export may arrive slowly through a pipe: steps are committed before waiting."""
    done("init", "--here")
    with Workspace.open(folder) as workspace:
        for version in range(0, 9000, 3):
            said = [replace(NOTE, payload=b'{"text":"x"}')] * 3
            workspace.log.append("sprint/a", said, expect=version)
    done("store export", "--out", "log.jsonl")
    target = in_memory()
    held = False
    take_over = target.taking_over

    @contextmanager
    def taking_over() -> Iterator[Any]:
        nonlocal held
        held = True
        with take_over() as take:
            yield take
        held = False

    def lines() -> Iterator[bytes]:
        with (folder / "log.jsonl").open("rb") as file:
            for line in file:
                assert not held
                yield line

    target.taking_over = taking_over  # type: ignore[method-assign]
    assert copy_export(lines(), target, file="-").events == 9000
    assert target.head().position == 9000


def test_a_target_that_is_ahead_is_refused() -> None:
    """A target with events that the source lacks is not a prefix."""
    source, target = in_memory(3), in_memory()
    copy_log(source, target)
    target.append("a", [NOTE], expect=3)
    with pytest.raises(RefusedError, match="not the first"):
        copy_log(source, target)


def test_a_broken_chain_is_not_copied() -> None:
    """The chain is verified before anything in a step is stored."""
    source, target = in_memory(9), in_memory()
    assert isinstance(source, MemoryLog)
    source._events[4] = replace(source._events[4], actor="somebody")
    with pytest.raises(UnreadableError, match="position 5"):
        copy_log(source, target)
    assert target.head().position == 0
