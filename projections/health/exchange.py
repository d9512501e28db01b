"""Transfer of a complete log: the same events, positions and hashes.

A log is exported as JSON Lines and imported, or copied into another store. A copy extends
its target, which must be a prefix of the source, so repeating a copy adds only new events.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from msgspec.structs import astuple

from sprintlog.engine import errors
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.log.append import check_limits, check_moment
from sprintlog.engine.log.chain import START, Row, check_chain, check_rows, recorded
from sprintlog.engine.log.envelope import PAYLOAD_BYTES_MAX, Head, NewEvent, RecordedEvent
from sprintlog.engine.log.event import made_from
from sprintlog.engine.log.lines import first_line, last_line, line, read_lines
from sprintlog.engine.log.port import Log, Take
from sprintlog.engine.service.place.location import PROGRESS, wrong_place
from sprintlog.engine.service.streams import catalogue
from sprintlog.engine.sprint.events import Place
from sprintlog.engine.sprint.plan.create import check_sprint_id

from ..state_files import progress_json
from ..state_files.journal_file import JournalFile
from ..state_files.loop_place import files_of_loop
from ..state_files.refresh import ProjectedFile, Refreshed
from ..state_files.sprint_file import SprintFile, render
from ..workspace import Workspace

EVENTS_A_HAND = 512
EVENTS_A_STEP = 4096
BYTES_A_STEP = 32 * 1024 * 1024

Pages = Iterator[list[Row]]
Progress = Callable[[int], None]


class Carried(NamedTuple):
    """The result of exporting or copying a log."""

    events: int
    head: Head
    """The head of the exported log, or of the log that a copy was written to."""


class ImportedLog(NamedTuple):
    """The result of an import."""

    head: Head
    files: dict[str, Refreshed]
    """The status of each sprint's state file, by sprint id."""
    journal: Refreshed | None
    """The status of the journal's state file; None if the log has no journal."""


def export_log(
    workspace: Workspace,
    write: Callable[[bytes], object],
    *,
    sprint_id: str | None = None,
    progress: Progress = lambda count: None,
) -> Carried:
    """Write a log or a sprint's events as lines, while verifying the chain.

    The end of the export is fixed at the start. Raise `UnreadableError` at the first
    problem: the output then lacks its last line and is not a valid export.
    """
    log = workspace.log
    stream = None if sprint_id is None else catalogue.sprint_stream(sprint_id)
    head = log.head()
    count = 0
    write(first_line(stream))

    def passed() -> Iterator[Row]:
        nonlocal count
        previous = START.hash
        for page in log.pages(until=head.position):
            lines = []
            for row in page:
                event = recorded(row)
                if stream is None:
                    lines.append(_line(event, None))
                elif event.stream == stream:
                    lines.append(_line(event, previous))
                previous = event.hash
            yield from page
            # When the next page is requested, these rows have been verified.
            write(b"".join(lines))
            count += len(lines)
            progress(count)

    for problem in check_rows(passed()):
        raise errors.UnreadableError(problem.problem, position=problem.position)
    write(last_line(head))
    return Carried(count, head)


def _line(event: RecordedEvent, previous: bytes | None) -> bytes:
    try:
        return line(event, previous=previous)
    except (AttributeError, TypeError, ValueError) as error:
        raise errors.UnreadableError(
            "a field differs from the recorded one", position=event.position
        ) from error


def import_log(
    workspace: Workspace,
    lines: Iterable[bytes],
    *,
    file: str,
    progress: Progress = lambda count: None,
) -> ImportedLog:
    """Atomically import the export of a complete log.

    All lines, limits and events, the chain, the head, and the readability of every sprint
    are checked. Missing state files are written. Raise `RefusedError` if the log is not
    empty, or `InvalidInputError` naming the invalid line.
    """
    with workspace.log.taking_over() as take:
        if workspace.log.head().position:
            raise errors.RefusedError(
                "the log is not empty: a log can be imported only into an empty log",
                hint="run `sprintlog init --here` in a new folder to create one",
            )
        erased = _take_all(lines, take, file=file, progress=progress)
        _check_erased(workspace, erased, file)
        _check_readable(workspace, file)
    sprints, journal = SprintFile(workspace), JournalFile(workspace)
    files = {name: _state_file(sprints, name) for name in workspace.sprints()}
    for name in files:
        for loop_file in files_of_loop(workspace, workspace.sprint(name)):
            _state_file(loop_file, name)
    found = _state_file(journal, JOURNAL) if workspace.journal().exists else None
    return ImportedLog(workspace.log.head(), files, found)


def _take_all(
    lines: Iterable[bytes],
    take: Callable[[list[RecordedEvent]], None],
    *,
    file: str,
    progress: Progress,
) -> list[int]:
    """Import the events of an export; raise `InvalidInputError` at the first problem.

    Return the positions of erased events.
    """
    number = 1
    erased: list[int] = []
    waiting: list[RecordedEvent] = []

    def passed() -> Iterator[RecordedEvent]:
        nonlocal number
        for at, found in events_of(lines, file=file):
            number = at
            yield found
            if found.salt is None or found.payload is None:
                erased.append(found.position)
            waiting.append(found)
            if len(waiting) == EVENTS_A_HAND:
                take(waiting)
                waiting.clear()
                progress(found.position)

    for found in check_chain(passed()):
        raise errors.InvalidInputError(found.problem, file=file, line=number)
    if waiting:
        take(waiting)
    return erased


def _check_erased(workspace: Workspace, erased: Sequence[int], file: str) -> None:
    """Raise `InvalidInputError` if an event lost its payload without an erasure."""
    if not erased:
        return
    # Imported here: most logs contain no erased events.
    from sprintlog.engine.service.streams.soundness import erasures_of, unsaid

    log = workspace.log
    erasures = erasures_of(log)
    for position in erased:
        rows = [
            row for page in log.pages(after=position - 1, until=position) for row in page
        ]
        for _, what in unsaid(rows, erasures):
            raise errors.InvalidInputError(what, file=file, line=position + 1)


def events_of(lines: Iterable[bytes], *, file: str) -> Iterator[tuple[int, RecordedEvent]]:
    """Yield the events in an export, each with its line number.

    Raise `InvalidInputError` for an event that a log would not accept, and for a head that
    does not match the events before it.
    """
    head = START
    for number, found in enumerate(read_lines(lines, file=file), start=2):
        if isinstance(found, Head):
            if found != head:
                wrong = "does not match the head of the preceding events"
                raise errors.InvalidInputError(wrong, file=file, line=number)
            continue
        if problem := problem_of(found):
            raise errors.InvalidInputError(problem, file=file, line=number)
        yield number, found
        head = Head(found.position, found.hash)


def problem_of(recorded: RecordedEvent) -> str | None:
    """Return the reason why a log would not accept an event, or None."""
    try:
        event = None if recorded.payload is None else catalogue.CODEC.decode(recorded)
        checked = made_from(
            NewEvent,
            recorded,
            payload=b"{}" if recorded.payload is None else recorded.payload,
            payload_bytes_max=event.payload_bytes_max if event else PAYLOAD_BYTES_MAX,
        )
        check_limits(
            recorded.stream, [checked], key=recorded.key, key_digest=recorded.key_digest
        )
        check_moment(recorded.recorded_at, field="recorded_at")
        if (sprint_id := catalogue.sprint_of(recorded.stream)) is not None:
            check_sprint_id(sprint_id, field="stream")
        if isinstance(place := getattr(event, "place", None), Place):
            is_right = place.path.rpartition("/")[2] == PROGRESS
            if not is_right or wrong_place(place.path):
                return (
                    f"place: a state file must be named {PROGRESS} and be in the work tree"
                )
    except errors.UnreadableError as error:
        return str(error.fields["problem"])
    except errors.RefusedError as error:
        return error.message
    except RecursionError:
        return "its payload nests too deeply"
    return None


def _check_readable(workspace: Workspace, file: str) -> None:
    """Raise `InvalidInputError` unless every stream can be written as a state file."""
    name = ""
    try:
        for sprint_id in workspace.sprints():
            name = f"sprint {sprint_id}"
            render(workspace.repository.from_nothing(sprint_id))
        name = "the journal"
        progress_json.render(workspace.documents.from_nothing(JOURNAL))
    except (
        errors.SprintlogError,
        RecursionError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        problem = " ".join(str(error).split())
        raise errors.InvalidInputError(
            f"{name} cannot be read: {problem}", file=file
        ) from error


def _state_file(file: ProjectedFile[catalogue.State], name: str) -> Refreshed:
    """Write a state file if it is missing; leave an existing file unchanged."""
    found = file.check_head(name)
    if found.state != "missing":
        return found
    return file.refresh(file.repository.current(name))


def copy_log(
    source: Log, target: Log, *, progress: Progress = lambda count: None
) -> Carried:
    """Copy the events that the target lacks, committing only complete appends.

    Positions, ids, keys and hashes are preserved, and the chain is verified during the
    copy. Raise `RefusedError` if the target is not a prefix of the source.
    """
    end = source.head()
    before = target.head()
    if not source.holds(before):
        raise _no_beginning(before)
    pages = source.pages(after=before.position, until=end.position)
    return _copy(pages, target, before, progress)


def copy_export(
    lines: Iterable[bytes],
    target: Log,
    *,
    file: str,
    progress: Progress = lambda count: None,
) -> Carried:
    """Copy the events of an export that the target lacks.

    Raise `InvalidInputError` naming the invalid line.
    """
    before = target.head()
    pages = _pages_of(lines, before, file)
    # The target is not locked while waiting for input, which may be slow.
    return _copy(pages, target, before, progress, hand=EVENTS_A_STEP, start=START)


def _pages_of(lines: Iterable[bytes], before: Head, file: str) -> Pages:
    """Yield an export's events one by one; ensure that the export extends the target."""
    is_met = before == START
    for _, found in events_of(lines, file=file):
        is_met = is_met or Head(found.position, found.hash) == before
        if found.position >= before.position and not is_met:
            raise _no_beginning(before)
        yield [astuple(found)]
    if not is_met:
        raise _no_beginning(before)


def _copy(
    pages: Pages,
    target: Log,
    before: Head,
    progress: Progress,
    *,
    hand: int = EVENTS_A_HAND,
    start: Head | None = None,
) -> Carried:
    """Copy pages; pass `hand` events at a time to the target, and commit in larger steps.

    The chain is verified from `start`, by default from the target's head.
    """
    count, head = 0, before
    waiting: list[RecordedEvent] = []
    take: Take | None = None
    taken = size = 0

    with ExitStack() as step:

        def hand_on() -> None:
            """Pass verified events to the target while further ones are being verified."""
            nonlocal take, taken, head
            # An interruption must leave only complete appends.
            whole = len(waiting)
            while whole and waiting[whole - 1].remaining:
                whole -= 1
            if not whole:
                return
            take = take or step.enter_context(target.taking_over())
            take(waiting[:whole])
            taken += whole
            head = Head(waiting[whole - 1].position, waiting[whole - 1].hash)
            del waiting[:whole]

        def keep() -> None:
            nonlocal take, taken, size, count
            if take is None:
                return
            step.pop_all().close()
            count += taken
            take, taken, size = None, 0, 0
            progress(head.position)

        def passed() -> Iterator[Row]:
            nonlocal size
            for page in pages:
                # When the next page is requested, the waiting events have been verified.
                if len(waiting) >= hand or size >= BYTES_A_STEP:
                    hand_on()
                # All events of a step are committed together.
                if taken > EVENTS_A_STEP - hand or size >= BYTES_A_STEP:
                    keep()
                yield from page
                new = [recorded(row) for row in page if row[0] > before.position]
                waiting.extend(new)
                size += sum(len(event.payload or b"") for event in new)

        for problem in check_rows(passed(), after=before if start is None else start):
            raise errors.UnreadableError(problem.problem, position=problem.position)
        hand_on()
        keep()
    return Carried(count, head)


def _no_beginning(head: Head) -> errors.RefusedError:
    return errors.RefusedError(
        "nothing copied: the target's events are not the first events of the source",
        hint="copy into a new log, or in the other direction if the target is ahead",
    )
