"""The files of a loop below `.aiwg/ralph/LOOP/`, in the layout of the tracker's document.

They are derived from the log. If the loop has a name or an existing folder, they are
updated like all other state files; otherwise, they are written on request.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any

from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.judging.events import KeptReport
from sprintlog.engine.judging.tracker import BASELINE_NUMBER
from sprintlog.engine.service.place import location
from sprintlog.engine.service.streams import evaluation
from sprintlog.engine.service.streams.evaluation import Judged, evaluate
from sprintlog.engine.service.streams.history import append_end
from sprintlog.engine.service.work_tree.kept_reports import content_of, is_kept
from sprintlog.engine.sprint.iterations.measurement import LOOP_ID
from sprintlog.engine.sprint.state.sprint import Sprint

from .files import FilesService
from .iteration_report import AWAITING, iteration_markdown, iteration_report
from .progress_json import as_json
from .progress_json import load as load_json
from .refresh import ProjectedFile, Refreshed
from .selection_report import selection_markdown
from .tracker import iteration_data, selection_data, tracker_data
from .yaml.writer import dump_bytes

SAFE = "the events are safe in the log; run `sprintlog report --write` to write the files"

Then = Callable[[int], Judged]
"""Returns the judged sprint as of an iteration's measurement."""


Make = Callable[[Judged], bytes]
"""Generates a file from the current state."""


def folder_of(loop_id: str) -> str:
    """Return the folder of a loop's files, relative to the work tree.

    Raise `RefusedError` for a loop whose name is not a valid folder name.
    """
    if not re.fullmatch(LOOP_ID, loop_id):
        raise RefusedError(
            f"cannot write files of loop {loop_id[:40]!r}: not a valid folder name",
            hint="use `sprintlog iteration baseline --loop-id ID` to rename the loop",
            field="loop_id",
        )
    return f"{location.LOOPS}/{loop_id}"


def then_of(workspace: FilesService, judged: Judged) -> Then:
    """Return a function that judges a sprint as of an iteration's measurement.

    Each call invalidates the previous result. Requesting the iterations in order requires
    only a single fold.
    """
    sprint_id = judged.sprint.id
    before: list[Sprint] = []
    targets = evaluation.KnownTargets()

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
        # Events of the same append, such as a snapshot, belong to the measurement.
        until = append_end(workspace.log, judged.sprint, version)
        until = min(until, judged.sprint.version)
        repository = workspace.repository
        if before:
            sprint = repository.go_on(before.pop(), until)
        else:
            sprint = repository.at_version(sprint_id, until)
        before.append(sprint)
        return evaluate(workspace.log, sprint, targets)

    return then


def loop_files(judged: Judged, then: Then, numbers: Iterable[int]) -> dict[str, Make]:
    """Return a loop's files by path, including the reports on the given iterations."""
    folder = folder_of(judged.loop_id)
    files: dict[str, Make] = {}
    if judged.tracker.baseline is not None:
        files[f"{folder}/{location.BASELINE}"] = lambda _: _baseline(then(BASELINE_NUMBER))
    for number in numbers:
        if number != BASELINE_NUMBER:
            files |= _of_iteration(folder, then, number)
    if files or judged.tracker.highest:
        files[f"{folder}/{location.TRACKER}"] = tracker_yaml
    if (selected := selection_data(judged)) is not None:
        files[selected["report_generated"]] = _selection
    return files


def tracker_yaml(judged: Judged) -> bytes:
    """Return best-iteration.yaml, which contains the data of a loop's tracker."""
    return dump_bytes(tracker_data(judged))


def _of_iteration(folder: str, then: Then, number: int) -> dict[str, Make]:
    def metrics(_: Judged) -> bytes:
        at_end = then(number)
        return as_json({"iteration_metrics": iteration_data(at_end, at_end.one(number))})

    def report(_: Judged) -> bytes:
        return iteration_markdown(iteration_report(then(number), number)).encode()

    return {
        f"{folder}/{location.METRICS.format(number)}": metrics,
        f"{folder}/{location.REPORT.format(number)}": report,
    }


def _baseline(at_start: Judged) -> bytes:
    base = at_start.baseline()
    assert base is not None
    return as_json(
        {
            "iteration_metrics": iteration_data(at_start, base),
            "baseline_stored": True,
            "next_action": AWAITING,
        }
    )


def _selection(now: Judged) -> bytes:
    data = selection_data(now)
    return b"" if data is None else selection_markdown(data).encode()


class LoopFile(ProjectedFile[Sprint]):
    """A loop's file, as a state file of the loop's sprint.

    The state is read for several files at once, before the lock is acquired.
    """

    def __init__(
        self, workspace: FilesService, path: str, make: Make, numbers: Iterable[int]
    ) -> None:
        super().__init__(workspace, workspace.repository)
        self._path = path
        self._make = make
        self._numbers = numbers
        self._forgotten = self.repository.forgotten

    def path(self, state: Sprint) -> str:
        """Return the path of the file in the work tree."""
        return self._path

    def render(self, state: Sprint) -> bytes:
        """Return the file's content, without data that was erased in the meantime."""
        if self._forgotten != self.repository.forgotten:
            files = state_files_of(self.workspace, state, self._numbers)
            self._forgotten = self.repository.forgotten
            self._make = next(file._make for file in files if file._path == self._path)
        return self._make(evaluate(self.workspace.log, state))

    def load(self, content: bytes, *, file: str) -> Any:
        """Return third-party content as data.

        Raise `InvalidInputError` if the content is invalid.
        """
        if "/iterations/" in file and "/reports/" in file:
            raise InvalidInputError("is a copy of a report", file=file)
        if file.endswith(".md"):
            raise InvalidInputError("is a text: the copy of it has what changed", file=file)
        if file.endswith(".json"):
            return load_json(content, file=file)
        from .yaml.reader import load

        return load(content, file=file)


def state_files_of(
    workspace: FilesService, sprint: Sprint, numbers: Iterable[int] | None = None
) -> list[LoopFile]:
    """Return a loop's files, with those of the given or all iterations, as state files."""
    judged = evaluate(workspace.log, sprint)
    wanted = [*(judged.tracker.numbers() if numbers is None else numbers)]
    # All files of an iteration require the same state.
    then = lru_cache(maxsize=1)(then_of(workspace, judged))
    files = loop_files(judged, then, wanted)
    files |= reports_of(workspace, sprint, folder_of(judged.loop_id), set(wanted))
    return [LoopFile(workspace, path, make, wanted) for path, make in files.items()]


def reports_of(
    workspace: FilesService, sprint: Sprint, folder: str, numbers: set[int]
) -> dict[str, Make]:
    """Return the available copies of the reports that were used to measure iterations."""
    tracker, files = sprint.knowledge.tracker, dict[str, Make]()
    events = evaluation.StreamEvents(workspace.log, sprint.id, sprint.version)
    versions = {n: one.version for n in numbers if (one := tracker.entry(n)) is not None}
    if tracker.baseline is not None:
        versions[BASELINE_NUMBER] = tracker.baseline_version
    if tracker.failed is not None:
        versions.setdefault(tracker.failed.number, tracker.failed_at)
    for number, version in versions.items():
        _, event = events.one(version)
        for report in getattr(event, "reports", ()):
            if is_kept(workspace, report):
                path = _path_of(
                    f"{folder}/{location.EVIDENCE.format(number)}", report, files
                )
                files[path] = partial(_copy, workspace, report)
    return files


def _path_of(folder: str, report: KeptReport, others: Mapping[str, object]) -> str:
    """Return a uniquely named path for a copy of a report."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", report.file.rpartition("/")[2])
    path = f"{folder}{name[-100:].lstrip('.') or 'report'}"
    return f"{folder}{report.sha256[:12]}-{name[-100:]}" if path in others else path


def _copy(workspace: FilesService, report: KeptReport, judged: Judged) -> bytes:
    # Read only when written, because there may be many reports.
    content = content_of(workspace, report)
    return b"the copy of this report is damaged\n" if content is None else content


def refresh_loop(workspace: FilesService, sprint: Sprint, folder: str) -> list[Refreshed]:
    """Update the files of a loop that may have changed.

    An iteration's files are final once the next iteration is measured. After that, only
    missing files are written, or all files if the tracker's file is missing.
    """
    tracker, known = sprint.knowledge.tracker, workspace.files.digests.below(folder)
    if workspace.files.look(f"{folder}/{location.TRACKER}").content is None:
        known = set()
    last = tracker.last.number if tracker.last is not None else BASELINE_NUMBER
    due = [
        number
        for number in tracker.numbers()
        if number == last or f"{folder}/{location.REPORT.format(number)}" not in known
    ]
    return [file.refresh(sprint) for file in state_files_of(workspace, sprint, due)]


def write_loop_files(
    workspace: FilesService, sprint: Sprint, numbers: Iterable[int] | None = None
) -> list[Refreshed]:
    """Write a loop's files, with the reports on the given or all iterations.

    Nothing is written unless all paths are valid and accessible.
    """
    place = sprint.plan.place
    if place is not None and not workspace.tree.has(sprint.knowledge.own_tree):
        raise RefusedError(
            f"the files of sprint {sprint.id} are written in its own work tree",
            hint=f"run the command in that work tree: {place.worktree or 'the main one'}",
            sprint=sprint.id,
        )
    files = state_files_of(workspace, sprint, numbers)
    try:
        for file in files:
            workspace.files.look(file.path(sprint))
        return [file.refresh(sprint) for file in files]
    except RefusedError as error:
        raise RefusedError(error.message, hint=SAFE, **error.fields) from error
