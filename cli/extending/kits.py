"""Test kits for extension authors, which check the requirements of each extension kind."""

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import msgspec

from sprintlog.engine.adapters.agents.items import Item
from sprintlog.engine.adapters.agents.output import OutputReader
from sprintlog.engine.adapters.reports.report import COUNT_MAX, Found, Report
from sprintlog.engine.command import Command
from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.extensions import Extension
from sprintlog.engine.log.codec import encode
from sprintlog.engine.log.event import check_tag
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.service.streams.extension_events import (
    checked_data,
    event_as_said,
    struct_problem,
)
from sprintlog.engine.sprint.agent.actions import NOTICES, Notice
from sprintlog.engine.sprint.answers.verdict import Answer
from sprintlog.engine.sprint.commands import RecordExtensionEvent
from sprintlog.engine.sprint.iterations.rollback import RollBack, Undo
from sprintlog.engine.sprint.phases.leaves import CompletePhase, StartPhase
from sprintlog.engine.sprint.phases.lifecycle import StartSprint
from sprintlog.engine.sprint.plan.create import CreateSprint, check_sprint_id
from sprintlog.projections.extended import ExtendedProjection, SprintReading, reading_of
from sprintlog.projections.runner import Happened, catch_up_sprint, happened
from sprintlog.projections.workspace import Workspace

from ..begin.import_record import Import, read_with
from ..intake.imported import Imported, facts_of
from ..record import Options

PLAN: dict[str, Any] = {
    "phases": [{"id": name, "prompt": f"Do {name}"} for name in ("one", "two", "three")]
}
SPRINT = "kit"
FIRST_SECOND = 1_768_467_600
"""The start time of the sprint, fixed so that kits return the same results each time."""


def must(is_so: bool, rule: str) -> None:
    """Raise `AssertionError` with the violated rule unless the condition is true."""
    if not is_so:
        raise AssertionError(rule)


@contextmanager
def refused(rule: str) -> Iterator[None]:
    """Assert that the block raises a `SprintlogError` and no other exception."""
    try:
        yield
    except SprintlogError:
        return
    except Exception as error:
        raise AssertionError(f"{rule}; it failed with {error!r}") from error
    raise AssertionError(rule)


@contextmanager
def workspace() -> Iterator[Workspace]:
    """Provide an in-memory workspace with the sprint `kit`."""
    with TemporaryDirectory() as folder:
        # The resolved path ensures that the extension encounters no links.
        root, seconds = Path(folder).resolve(), count(FIRST_SECOND)
        with Workspace.in_memory(root, clock=lambda: next(seconds) * 1000) as made:
            made.handle(CreateSprint(PLAN), sprint_id=SPRINT)
            yield made


def plain(value: Any, rule: str) -> str:
    """Return a value as JSON with sorted keys; raise `AssertionError` if it is not JSON."""
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{rule}: {error}") from error


def tree_of(path: Path) -> dict[str, str]:
    """Return the digest of each file below a path, keyed by file name."""
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return {
        str(file): sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()
    }


def check_event_type(
    tag: str,
    kind: type[msgspec.Struct],
    *,
    examples: Sequence[dict[str, Any]],
    refuses: Sequence[dict[str, Any]] = (),
) -> None:
    """Test an event type with valid and invalid example data.

    Raise `AssertionError` naming the violated rule.
    """
    must(bool(examples), "at least one example is required")
    check_tag(tag)
    must((problem := struct_problem(kind)) is None, f"{tag} {problem}")
    must(bool((kind.__doc__ or "").strip()), f"{tag}: must have a docstring")
    plain(msgspec.json.schema(kind), f"{tag} must have a JSON Schema")
    extension = Extension("event", tag, f"{kind.__module__}:{kind.__name__}", "kit", "0")
    for data in examples:
        said = checked_data(extension, kind, data)
        must(checked_data(extension, kind, said) == said, f"{tag} must store valid data")
        _is_recorded(tag, kind, said)
        with refused(f"{tag} must reject an unknown field"):
            checked_data(extension, kind, {**data, "no-such-field": 1})
    for data in refuses:
        with refused(f"{tag} must reject {data}"):
            checked_data(extension, kind, data)


def _is_recorded(tag: str, kind: type[msgspec.Struct], said: dict[str, Any]) -> None:
    event = event_as_said(tag, said, shape=getattr(kind, "schema_version", 1))
    with workspace() as made:
        before = made.sprint(SPRINT).document
        command = RecordExtensionEvent(event)
        (recorded,) = made.handle_with(SPRINT, command, masks=False).events
        must(recorded.type == tag, f"{tag} must be recorded under its own type")
        must(recorded.payload == encode(event), f"{tag}: the payload must equal its data")
        must(CODEC.decode(recorded) == event, f"{tag} must be readable without its package")
        must(made.sprint(SPRINT).document == before, f"{tag} must not change the plan")
        must(not event.remains().data, f"{tag}: erasure must remove all its data")


Importing = Callable[[Path], Imported]


def check_importer(
    name: str, read: Importing, path: Path, *, refuses: Sequence[Path] = ()
) -> dict[str, Any]:
    """Test an importer with a file or a folder; return its result as plain data.

    The result is suitable for a golden file. `refuses` are paths that the importer must
    refuse. Raise `AssertionError` naming the violated rule.
    """
    before = tree_of(path)
    must(bool(before), f"{path} must exist")
    extension = Extension("importer", name, "kit:kit", "kit", "0")
    imported = read_with(extension, read, path)
    must(read_with(extension, read, path) == imported, "reading must be repeatable")
    must(tree_of(path) == before, "the source must not change")
    for sprint in imported.sprints:
        check_sprint_id(sprint.id)
    _recorded(name, imported, path)
    for bad in refuses:
        with refused(f"{bad} must be rejected"):
            read_with(extension, read, bad)
    said = _described(name, imported, path)
    # As in a stored result, tuples become lists.
    stored: dict[str, Any] = json.loads(plain(said, "the result must be JSON"))
    return stored


def _recorded(name: str, imported: Imported, path: Path) -> None:
    options = Options({"actor": "import:kit", "as_json": True})
    with workspace() as made:
        try:
            first = Import(name, path, options, made).record(imported)
        except SprintlogError as error:
            raise AssertionError(f"the result must be recordable: {error}") from error
        must(first > 0, "at least one event must be recorded")
        again = Import(name, path, options, made).record(imported)
        must(again == 0, "importing the same source again must add nothing")


def _described(name: str, imported: Imported, path: Path) -> dict[str, Any]:
    sprints = []
    for one in imported.sprints:
        document = one.document(kind=name, file=path) if one.phases else None
        facts = [[type(f).__name__, *f] for f in facts_of(one, file=path)]
        told = {"id": one.id, "goal": one.goal, "document": document, "facts": facts}
        sprints.append(told)
    said: dict[str, Any] = {"sprints": sprints, "found": imported.found}
    said["unread"] = [
        [x.file.removeprefix(str(path)), x.line, x.problem] for x in imported.unread
    ]
    return msgspec.to_builtins(said)  # type: ignore[no-any-return]


Data = dict[str, Any]
_ENDS = Extension("projection", "kit", "kit:kit", "kit", "0")


def check_projection(
    made: Callable[[], SprintReading], *, events: Sequence[tuple[str, Data]] = ()
) -> Any:
    """Test a projection on a small sprint with a rollback and its undo.

    `events` are the types and data of extension events for the sprint. Return the
    projection's result. Raise `AssertionError` naming the violated rule.
    """
    reading_of(_ENDS, made)
    with workspace() as log:
        _play(log, events)
        everything = [*happened(log, SPRINT)]
        said = _shown(made, everything, every=0)
        for every in (1, 2, 3):
            again = _shown(made, everything, every=every)
            must(again == said, f"saving every {every} events must not change the result")
        for end in range(len(everything) + 1):
            _shown(made, everything[:end], every=0)
        must(_shown(made, everything, every=0) == said, "reading must be repeatable")
        _by_the_runner(log, made, said)
    return msgspec.json.decode(said)


def _shown(made: Callable[[], SprintReading], all_: Sequence[Happened], every: int) -> str:
    """Return a projection's result, periodically converting its state to JSON and back."""
    reading = made()
    state = reading.begin()
    for number, one in enumerate(all_, start=1):
        state = reading.evolve(state, one)
        if every and number % every == 0:
            # A new object, because data stored outside the state would be lost.
            state, reading = msgspec.json.decode(_encoded(state)), made()
    before = _encoded(state)
    shown = plain(
        msgspec.to_builtins(reading.show(state), str_keys=True), "its result must be JSON"
    )
    must(_encoded(state) == before, "show() must not change the state")
    return shown


def _encoded(state: Any) -> bytes:
    try:
        return msgspec.json.encode(state)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise AssertionError(f"its state must be plain data: {error}") from error


def _by_the_runner(log: Workspace, made: Callable[[], SprintReading], said: str) -> None:
    for _ in range(2):
        projection = ExtendedProjection(_ENDS, made(), log.log, SPRINT)
        catch_up_sprint(log, projection)
        must(plain(projection.show(), "JSON") == said, "a runner must give the same result")
    must(projection.mark() is not None, "its stored state must be found again")


def _play(log: Workspace, events: Sequence[tuple[str, Data]]) -> None:
    """Record work, extension events, a rollback and its undo, then another rollback."""

    def say() -> None:
        for tag, data in events:
            log.handle_with(SPRINT, RecordExtensionEvent(event_as_said(tag, data)))

    def do(*commands: Command) -> None:
        for command in commands:
            log.handle(command, sprint_id=SPRINT)

    do(StartSprint(), StartPhase("one"), CompletePhase("one", "first"))
    point = log.sprint(SPRINT).version
    say()
    do(StartPhase("two"), RollBack(point), Undo())
    say()
    do(RollBack(point), StartPhase("two"))
    say()


Decoder = Callable[[dict[str, Any]], Iterable[Item] | None]
STRANGE: tuple[dict[str, Any], ...] = (
    {},
    {"type": None},
    {"type": "result", "usage": []},
    {"type": {"type": []}, "message": 1, "id": None},
    {"": "", "text": ["\x00", {"a": None}], "usage": {"input_tokens": "many"}},
)
"""Messages that are malformed or that no agent prints."""


def check_agent(
    name: str, read: Decoder, output: bytes, *, others: Sequence[dict[str, Any]] = ()
) -> Answer:
    """Test a decoder with its agent's output; return the decoded answer.

    `others` are messages of another agent. Raise `AssertionError` naming the violated
    rule.
    """
    for message in (*STRANGE, *others):
        before = copy.deepcopy(message)
        try:
            items = read(message)
        except Exception as error:
            raise AssertionError(f"no message may break it; {message}: {error!r}") from (
                error
            )
        must(message == before, "a message must not be changed")
        must(items is None or not message or message in STRANGE, f"must ignore {message}")

    def listed(message: dict[str, Any]) -> tuple[Item, ...] | None:
        found = read(message)
        items = None if found is None else tuple(found)
        for item in items or ():
            must(isinstance(item, get_args(Item)), f"must return items, not {item!r}")
        return items

    whole = _heard(name, listed, [output])
    pieces = [output[at : at + 7] for at in range(0, len(output), 7)]
    must(_heard(name, listed, pieces) == whole, "splitting the output must not matter")
    return whole


def _heard(name: str, read: Any, pieces: Iterable[bytes]) -> Answer:
    hearing = OutputReader(agent=name, read=read)
    for piece in pieces:
        hearing.feed(piece)
    answer, activity = hearing.heard()
    must(activity.agent == name, "at least some of its output must be understood")
    return answer


def check_report(
    read: Callable[[Report], Found], content: bytes, *, refuses: Sequence[bytes] = ()
) -> Found:
    """Test a report format with a report; return the metrics found in it.

    `refuses` are reports in other formats. Raise `AssertionError` naming the violated rule.
    """
    folder = Path("/tree")
    found = read(Report("report", content, folder))
    must(isinstance(found, Found), "must return an object of type Found")
    must(
        all(type(n) is int and 0 <= n <= COUNT_MAX for n in found.counts.values()),
        "counts must be whole numbers of at least 0",
    )
    again = read(Report("report", content, folder))
    must(again == found, "the same report must give the same findings")
    for bad in (b"\x00\xff\xfe not text", *refuses):
        with refused(f"an invalid report must be rejected: {bad[:40]!r}"):
            read(Report("report", bad, folder))
    return found


def check_notifier(notify: Callable[[dict[str, Any]], object]) -> None:
    """Call a notifier with one notice of each kind; its exceptions are not caught."""
    for word in NOTICES:
        notice = Notice(notice=word, sprint="kit", at="2026-01-15T09:00:00Z", why="a kit")
        notify(msgspec.to_builtins(notice))
