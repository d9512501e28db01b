"""Rows that compare a command on a large log with the same on a log of 1,000 events."""

from itertools import cycle
from pathlib import Path

from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sprint.events import NoteAdded, RolledBack
from sprintlog.projections.workspace import Workspace

from ..logs import Bench, make_loop
from ..measure import OURS, PROCESSES, Figure, Work, duration, side_by_side
from ..samples import SPRINT, START, STREAM, moment
from .rows_process import Shell

SMALL = 1_000
_PLACES = (0.5, 0.1, 0.9, 0.3, 0.7)
"""How far from the beginning a rollback goes, in parts of the log."""


def after_a_rollback(bench: Bench) -> Figure:
    """Measure the first command after a rollback, of which no state was saved."""
    places = cycle(_PLACES)
    folders = _folders(bench)

    def go_back() -> None:
        place = next(places)
        for folder in folders:
            with Workspace.open(folder) as workspace:
                head = workspace.log.version(STREAM)
                event = new_event(RolledBack(int(head * place)), at=START, actor="runtime")
                workspace.log.append(STREAM, [event], expect=head)

    return _compared(bench, ("note", "x"), before=go_back)


def at_the_middle(bench: Bench) -> Figure:
    """Measure reading a point in the middle of the log."""
    return _compared(bench, ("show", "progress", "--at", "version:{middle}"))


def at_a_position(bench: Bench) -> Figure:
    """Measure the same for a point given by its position in the log."""
    return _compared(bench, ("show", "progress", "--at", "position:{middle}"))


def at_a_time(bench: Bench) -> Figure:
    """Measure the same for a point given by a time that was queried before."""
    return _compared(bench, ("show", "progress", "--at", "{moment}"))


def audited_again(bench: Bench) -> Figure:
    """Measure the decisions after one more event, if they were requested before."""
    folders = _folders(bench)

    def go_on() -> None:
        for folder in folders:
            with Workspace.open(folder) as workspace:
                event = new_event(NoteAdded("x"), at=START, actor="runtime")
                workspace.log.append(STREAM, [event], expect=Expect.ANY)

    return _compared(bench, ("audit", "--kind", "goal"), before=go_on)


def _folders(bench: Bench) -> list[Path]:
    """Return the folders of the large and the small log, created once."""
    folders = [bench.folder / name for name in ("scaling-large", "scaling-small")]
    if not folders[0].exists():
        for folder, events in zip(folders, (bench.sizes.fold, SMALL), strict=True):
            make_loop(bench.new_folder(folder.name), events)
            with Workspace.open(folder) as workspace:
                # States are then saved as in a log that grew command by command.
                workspace.repository.rebuild(SPRINT)
                workspace.refresh(SPRINT)
    return folders


def _compared(
    bench: Bench, words: tuple[str, ...], *, before: Work = lambda: None
) -> Figure:
    large, small = (Shell(bench, folder) for folder in _folders(bench))

    def command(shell: Shell, events: int) -> Work:
        middle = events // 2
        said = [word.format(middle=middle, moment=moment(middle)) for word in words]
        return lambda: shell.sprintlog(*said)

    sides = side_by_side(
        command(large, bench.sizes.fold),
        command(small, SMALL),
        rounds=bench.sizes.processes // 2 + 1,
        by=PROCESSES,
        before=before,
    )
    return duration(sides, f"{OURS}the same at {SMALL:,} events")
