"""The folders and logs that rows measure, each created once, on demand."""

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from os import urandom
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Log
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.sprint.events import Place, SprintStarted
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.projections.workspace import Workspace, wall_clock
from tests.kept_states import keep_only

from .samples import PHASES, SPRINT, START, STREAM, loop_events, new_events, plan

TAIL = 100
"""How many events stand after the checkpoint of the large log."""
COPIED_PRAGMAS = ("journal_mode", "synchronous")
_BATCH = 5_000


class Sizes(NamedTuple):
    """How much is measured."""

    fold: int
    """Events of the large log."""
    replay: int
    """Events of the one stream that is replayed."""
    phases: int
    """Phases of the large sprint."""
    appends: int
    """Events that are appended one by one."""
    rounds: int
    """How often work that takes long is repeated."""
    processes: int
    """How often processes are started."""
    blame: int
    """Events of the log whose past is asked for."""
    tree: int = 10_000
    """Files of the tree that snapshots are taken of."""
    iterations: int = 10_000
    """Iterations that there were before."""

    def briefly(self) -> "Sizes":
        """Return small sizes that preserve the distribution of the time."""
        few = {"fold": 100_000, "rounds": 2, "processes": 3, "appends": 2_000}
        return self._replace(**{name: min(getattr(self, name), few[name]) for name in few})


FULL = Sizes(1_000_000, 10_000, 10_000, 10_000, 5, 31, 100_000)
QUICK = Sizes(100_000, 1_000, 1_000, 2_000, 3, 5, 20_000, iterations=2_000)
TINY = Sizes(600, 200, 60, 100, 1, 1, 600, tree=40, iterations=20)
"""For tests: each row runs, and its figure is meaningless."""


class Bench:
    """A benchmark run: its sizes, and the data shared by its rows."""

    def __init__(self, folder: Path, sizes: Sizes) -> None:
        self.folder = folder
        self.sizes = sizes

    def new_folder(self, name: str) -> Path:
        """Return an empty folder."""
        folder = self.folder / name
        folder.mkdir()
        return folder

    def below(self, name: str, sizes: Sizes | None = None) -> "Bench":
        """Return a separate bench, for code that creates logs under the same names."""
        return Bench(self.new_folder(name), sizes or self.sizes)

    def new_log(self, name: str) -> SqliteLog:
        """Return an empty log in a separate folder."""
        path = self.new_folder(name) / "log" / "log.db"
        return SqliteLog.create(path, clock=wall_clock, entropy=urandom)

    @cached_property
    def large(self) -> Path:
        """Return the folder of the log whose fold is measured."""
        folder = self.new_folder("large")
        make_loop(folder, self.sizes.fold)
        return folder

    @cached_property
    def past(self) -> Path:
        """Return the folder of the log whose history is queried."""
        folder = self.new_folder("past")
        make_loop(folder, self.sizes.blame)
        return folder


def make_loop(folder: Path, events: int) -> None:
    """Create a log of a loop with that many events and a checkpoint 100 from the end.

    A log with fewer has it at its beginning.
    """
    with make_sprint(folder, PHASES) as workspace:
        wanted = new_events(loop_events(events - 1))
        before = islice(wanted, max(0, events - 1 - TAIL))
        version = append_all(workspace.log, before, version=1)
        keep_only(workspace.repository, workspace.repository.from_nothing(SPRINT))
        append_all(workspace.log, wanted, version=version)
        assert isinstance(workspace.log, SqliteLog)
        workspace.log.connection.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def make_started(folder: Path, phases: int) -> None:
    """Create a log with a started sprint of that many phases, and its state file."""
    with make_sprint(folder, phases) as workspace:
        workspace.handle_with(SPRINT, lambda sprint, at: [SprintStarted()], at=START)
        keep_only(workspace.repository, workspace.sprint(SPRINT))
        workspace.refresh(SPRINT)


def make_sprint(folder: Path, phases: int) -> Workspace:
    """Return a new workspace with a sprint of that many phases."""
    workspace = Workspace.init(folder, here=True)
    place = Place("PROGRESS.yaml")
    workspace.handle_with(
        SPRINT,
        lambda sprint, at: CreateSprint(plan=plan(phases), place=place).decide(sprint, at),
        at=START,
    )
    return workspace


def append_all(
    log: Log, wanted: Iterator[NewEvent], *, version: int, stream: str = STREAM
) -> int:
    """Append everything in large batches; return the stream's version."""
    while batch := list(islice(wanted, _BATCH)):
        log.append(stream, batch, expect=version)
        version += len(batch)
    return version


def copy_pragmas(log: SqliteLog, connection: Any) -> None:
    """Bring another connection into the log's journal mode, as durable as the log."""
    for name in COPIED_PRAGMAS:
        (value,) = log.connection.raw.execute(f"PRAGMA {name}").fetchone()
        connection.execute(f"PRAGMA {name}={value}")
