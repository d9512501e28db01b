"""The files of a loop below `.aiwg/ralph/LOOP/`, in the layout of the tracker's document.

They follow from the log and are written only when somebody asks for them.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.iterations.tracker import BASELINE_NUMBER
from sprintlog.engine.sprint.measuring import LOOP_ID

from ..best_iteration import artifacts_path, iteration_data, render
from ..catalogue import sprint_stream
from ..judging import Judged
from ..state_places import LOOPS
from ..workspace import Workspace
from .iteration_reports import (
    AWAITING,
    IterationReport,
    iteration_markdown,
    iteration_report,
)
from .selection_report import selection_markdown, selection_report_data

Then = Callable[[int], Judged]
"""Answers what was known when an iteration was measured."""


class Written(NamedTuple):
    """What happened to one file."""

    path: str
    state: str
    """`same` or `written`."""
    kept: str | None = None
    """Name of the copy of what somebody else had written there."""


def folder_of(loop_id: str) -> str:
    """Return where the files of a loop are, below the work tree.

    Raise `RefusedError` for a loop whose name is no name of a folder.
    """
    if not LOOP_ID.fullmatch(loop_id):
        raise RefusedError(
            f"loop {loop_id[:40]!r} cannot name a folder: its files cannot be written",
            hint="`iteration baseline --loop-id ID` gives the loop a name of its own",
            field="loop_id",
        )
    return f"{LOOPS}/{loop_id}"


def selection_path(loop_id: str) -> str:
    """Return where the report of the selected output is written."""
    return f"{LOOPS}/{loop_id}/reports/output-selection.md"


def then_of(workspace: Workspace, judged: Judged) -> Then:
    """Return what answers with a sprint's iterations as of when one was measured."""
    sprint_id = judged.sprint.id

    def then(number: int) -> Judged:
        tracker = judged.tracker
        version = tracker.baseline_version
        if number != BASELINE_NUMBER or tracker.baseline is None:
            entry = tracker.entry(number)
            if entry is None:
                raise NotFoundError(
                    f"iteration {number} was not measured", iteration=number
                )
            version = entry.version
        # What was recorded in the same append, like a snapshot, belongs to it.
        (event,) = workspace.log.read_stream(
            sprint_stream(sprint_id), after=version - 1, until=version
        )
        until = min(version + event.remaining, judged.sprint.version)
        return Judged(workspace.log, workspace.sprint(sprint_id, at=f"version:{until}"))

    return then


def report_of(judged: Judged, then: Then, number: int | None) -> IterationReport:
    """Return the report of an iteration, of the one measured last where none is named."""
    asked = judged.last if number is None else number
    if asked is None:
        asked = BASELINE_NUMBER
    return iteration_report(then(asked), asked)


def loop_files(judged: Judged, then: Then, numbers: Iterable[int]) -> dict[str, bytes]:
    """Return the files of a loop with the reports of these iterations, by their paths."""
    folder = folder_of(judged.loop_id)
    files: dict[str, bytes] = {}
    if judged.tracker.baseline is not None:
        at_start = then(BASELINE_NUMBER)
        base = at_start.baseline()
        assert base is not None
        known = {
            "iteration_metrics": iteration_data(at_start, base),
            "baseline_stored": True,
            "next_action": AWAITING,
        }
        files[f"{folder}/progress/iteration-000-baseline.json"] = _json(known)
    for number in numbers:
        if number == BASELINE_NUMBER:
            continue
        at_end = then(number)
        metrics = {"iteration_metrics": iteration_data(at_end, at_end.one(number))}
        files[f"{artifacts_path(judged.loop_id, number)}metrics.json"] = _json(metrics)
        report = iteration_markdown(iteration_report(at_end, number))
        files[f"{folder}/reports/iteration-{number:03d}.md"] = report.encode()
    if files:
        files[f"{folder}/best-iteration.yaml"] = render(judged)
    path = selection_path(judged.loop_id)
    if (data := selection_report_data(judged, path)) is not None:
        files[path] = selection_markdown(data).encode()
    return files


def write_loop_files(
    workspace: Workspace, judged: Judged, numbers: Iterable[int] | None = None
) -> list[Written]:
    """Write the files of a loop with the reports of these iterations, or of all.

    What somebody else wrote in the place of one is kept in the log's folder first.
    """
    wanted = [e.number for e in judged.tracker.measured] if numbers is None else numbers
    files = loop_files(judged, then_of(workspace, judged), wanted)
    version = judged.sprint.version
    with workspace.files.lock():
        # Nothing is written before it is known that all of it may be.
        for path in files:
            with _naming(path):
                _check_direct(workspace, path)
        written = []
        for path, content in files.items():
            with _naming(path):
                written.append(_write(workspace, path, content, version=version))
    return written


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Turn what keeps a file from being written into an error that says how to go on."""
    try:
        yield
    except (OSError, RefusedError) as error:
        problem = f"{path}: cannot be written: {getattr(error, 'strerror', None)}"
        raise RefusedError(
            error.message if isinstance(error, RefusedError) else problem,
            hint="the events are safe in the log; `sprintlog report --write` writes the "
            "files once it can",
            file=path,
        ) from error


def _check_direct(workspace: Workspace, path: str) -> None:
    """Raise `RefusedError` where a link stands on the way, or at the end."""
    workspace.files.look(path)


def _write(workspace: Workspace, path: str, content: bytes, *, version: int) -> Written:
    files = workspace.files
    if (left := files.recover(path)) is not None:
        files.keep_edit(path, left)
        files.settle(path)
    seen = files.look(path)
    if seen.content == content:
        return Written(path, "same")
    kept = files.keep_edit(path, seen) if seen.is_foreign else None
    displaced = files.write(path, content, version=version)
    if displaced is not None and displaced.digest != seen.digest:
        kept = files.keep_edit(path, displaced)
    if displaced is not None:
        files.settle(path)
    return Written(path, "written", kept)


def _json(data: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n"
