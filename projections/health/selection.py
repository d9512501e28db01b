"""Selection of events to erase (by position, time or text), and of the text in them."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.erasures import STREAM
from sprintlog.engine.log.stores.descriptors import read_whole
from sprintlog.engine.service.erasure import check_not_erasures, remainder
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.service.work_tree.snapshot import shown, store_of
from sprintlog.engine.sprint.events import Injection, SprintCompiled, SprintImported
from sprintlog.engine.sprint.state.times import parse

from ..workspace import Workspace
from .text_places import Needle, files_in

TEXT_CHARS_MIN = 4
"""The minimum length of a text to erase; shorter texts occur everywhere."""
LINE_CHARS_MIN = 16
"""The minimum length of an erased event's lines that are searched for elsewhere; shorter
lines also occur in unrelated files."""
TEXTS_MAX = 2_000
_FILE_BYTES_MAX = 256 << 20
DOCUMENTS = frozenset(
    tag
    for tag, event in CODEC.events.items()
    if issubclass(event, SprintCompiled | SprintImported | Injection)
)
"""The types of events that contain a plan, without which a sprint cannot be read."""


class Selector(msgspec.Struct, frozen=True):
    """The conditions for selecting events, all of which must be met."""

    positions: tuple[tuple[int, int], ...] = ()
    """The first and last position of each range."""
    stream: str | None = None
    since: str | None = None
    until: str | None = None
    text: str | None = None
    pattern: str | None = None
    whole_sprint: bool = False


class Chosen(NamedTuple):
    """The selected events and the text in them."""

    events: list[RecordedEvent]
    texts: list[str]
    """The lines by which copies of the events' texts are found elsewhere."""

    @property
    def needle(self) -> Needle | None:
        """Return the strings to search for, or None if there are none."""
        return Needle(*self.texts) if self.texts else None


def chosen(workspace: Workspace, selector: Selector) -> Chosen:
    """Return the events to erase; raise `RefusedError` if erasing them is not allowed."""
    _check(selector)
    match = _matcher(selector)
    events = [
        event
        for event in _read(workspace, selector)
        if event.salt is not None and event.stream != STREAM and match(event)
    ]
    events = _with_documents(workspace, events, selector)
    if selector.text is not None:
        texts = [*_lines(selector.text, TEXT_CHARS_MIN)]
    elif selector.pattern is not None:
        texts = _matches(workspace, events, _compiled(selector.pattern))
    else:
        said = (text for event in events for text in said_by(event))
        texts = [line for text in said for line in _lines(text, LINE_CHARS_MIN)]
    return Chosen(events, [*dict.fromkeys(texts)][:TEXTS_MAX])


def said_by(event: RecordedEvent) -> Iterator[str]:
    """Yield the strings in an event that an erasure removes."""
    left = {*texts_in(msgspec.json.decode(remainder(event)))}
    for text in texts_in(msgspec.json.decode(event.payload or b"null")):
        if text not in left:
            yield text


def texts_in(part: Any) -> Iterator[str]:
    """Yield every string in the given data."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for name, value in part.items():
            yield name
            yield from texts_in(value)
    elif isinstance(part, list):
        for one in part:
            yield from texts_in(one)


def _check(selector: Selector) -> None:
    if selector == Selector(whole_sprint=selector.whole_sprint):
        raise InvalidInputError(
            "no events to erase were specified",
            hint="specify positions, --stream, --session, --since, --until, --text "
            "or --pattern; `sprintlog log` shows positions",
        )
    if selector.text is not None and len(selector.text.strip()) < TEXT_CHARS_MIN:
        raise InvalidInputError(
            f"must have at least {TEXT_CHARS_MIN} characters", field="--text"
        )
    check_not_erasures([selector.stream])


def _read(workspace: Workspace, selector: Selector) -> Iterator[RecordedEvent]:
    log = workspace.log
    if selector.positions:
        head = log.head().position
        for first, last in selector.positions:
            if last > head:
                raise NotFoundError(f"there is no position {last}", position=last)
            yield from log.read(after=first - 1, until=last)
    elif selector.stream is not None:
        if not log.version(selector.stream):
            raise NotFoundError(
                f"there is no stream {selector.stream[:80]}", stream=selector.stream
            )
        yield from log.read_stream(selector.stream)
    else:
        yield from log.read()


def _matcher(selector: Selector) -> Any:
    """Return a predicate that reports whether an event is selected."""
    since = None if selector.since is None else parse(selector.since)
    until = None if selector.until is None else parse(selector.until)
    text = None if selector.text is None else Needle(*_lines(selector.text, 1))
    pattern = None if selector.pattern is None else _compiled(selector.pattern)

    def match(event: RecordedEvent) -> bool:
        payload = event.payload or b""
        return (
            selector.stream in (None, event.stream)
            and (since is None or parse(event.at) >= since)
            and (until is None or parse(event.at) <= until)
            and (text is None or text.is_in(payload))
            and (pattern is None or _has(pattern, payload))
        )

    return match


def _has(pattern: re.Pattern[str], payload: bytes) -> bool:
    return any(map(pattern.search, texts_in(msgspec.json.decode(payload))))


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise InvalidInputError(
            f"is not a valid pattern: {error}", field="--pattern"
        ) from error
    if found.search("") is not None:
        raise InvalidInputError("matches everything", field="--pattern")
    return found


def _with_documents(
    workspace: Workspace, events: list[RecordedEvent], selector: Selector
) -> list[RecordedEvent]:
    """Return the events; if one contains a plan, add all events of its sprint."""
    plans = {event.stream: event for event in events if event.type in DOCUMENTS}
    if not plans:
        return events
    if not selector.whole_sprint:
        first = min(plans.values(), key=lambda event: event.position)
        raise RefusedError(
            f"position {first.position} ({first.type}) contains the plan of "
            f"{first.stream}: the sprint is unreadable without it",
            hint="pass --whole-sprint to erase all the sprint's texts; ids, statuses and "
            "times remain",
            position=first.position,
        )
    others = [event for event in events if event.stream not in plans]
    whole = (event for stream in plans for event in workspace.log.read_stream(stream))
    return [*others, *(event for event in whole if event.salt is not None)]


def _matches(
    workspace: Workspace, events: Sequence[RecordedEvent], pattern: re.Pattern[str]
) -> list[str]:
    """Return all matches of a pattern in events, stored files and snapshots."""
    said = (
        text for e in events for text in texts_in(msgspec.json.decode(e.payload or b""))
    )
    found = [match[0] for text in said for match in pattern.finditer(text)]
    for _, content in contents(workspace):
        text = content.decode("utf-8", "surrogateescape")
        found += [match[0] for match in pattern.finditer(text)]
    return [*dict.fromkeys(line for text in found for line in _lines(text, TEXT_CHARS_MIN))]


def contents(workspace: Workspace) -> Iterator[tuple[str, bytes]]:
    """Yield the files in the log's folder and in snapshots, each with its location."""
    store = store_of(workspace)
    for name, path in files_in(workspace.location.folder):
        is_ours = name.startswith((workspace.location.database.name, "snapshots/"))
        if not is_ours and path.stat().st_size <= _FILE_BYTES_MAX:
            yield name, read_whole(path)
    if store.exists:
        places = {
            entry.oid: f"snapshot {commit[:12]}: {shown(path)}"
            for commit in store.snapshots()
            for path, entry in store.read(commit).files.items()
        }
        with store.blobs() as blob:
            for oid, place in sorted(places.items()):
                yield place, blob(oid)


def _lines(text: str, chars_min: int) -> Iterator[str]:
    lines = (line.strip() for line in text.splitlines())
    return (line for line in lines if len(line) >= chars_min)
