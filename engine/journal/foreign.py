"""Events from a journal file: another tool's progress.json, or an edit of our file.

An import reports the file's new parts and its problems. Only the changes since the edited
version are adopted from an edit, so later events are preserved. Entries, learnings and
patterns are matched by id (repeated ids in order), so importing the same file again adds
nothing. Other tools use the name progress.json for different data; such a file is described
but not imported.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from ..command import JournalCommand
from ..errors import RefusedError
from ..log.append import APPEND_EVENTS_MAX
from ..log.event import Event, converted
from ..sprint.events import EditAdopted, EditObserved
from . import events as f
from . import parts
from .document import LISTS, JournalDocument, Part
from .parts import Entry, Learning, Pattern
from .state import Journal, entry_id


class AdoptJournalEdit(JournalCommand, frozen=True):
    """Adopt the changes from an edit of the journal's file."""

    needs_context = True

    edit: int
    """The version at which the edit was observed."""
    observed: EditObserved
    base: JournalDocument
    """The document before the edit."""
    theirs: dict[str, Any]
    ours: JournalDocument | None = None

    def decide(self, journal: Journal, at: str) -> list[Event]:
        """Return the events that this command records."""
        ours, base, theirs = self.ours or JournalDocument(), self.base, self.theirs
        left: list[str] = []
        # The problems are ignored: they concern imports, which change no existing part.
        new = take_document(ours, theirs).events
        entries = self._changed(Entry, ours, left)
        learnings = self._changed(Learning, ours, left)
        patterns = self._changed(Pattern, ours, left)
        for field in ("created_at", "project_name"):
            if theirs.get(field, "") != getattr(base, field):
                left.append(f"{field}: fixed since the journal was created")
        moved = [x for x in entries if _is_another(x, ours)]
        left += [f"{x.id}: its id determines its PRD and iteration" for x in moved]
        event = f.JournalCorrected(
            tuple(x for x in entries if x not in moved), tuple(learnings), tuple(patterns)
        )
        corrected: list[Any] = [*event.entries, *event.learnings, *event.patterns]
        # A corrected learning already includes its uses and its validity.
        counted = {x.id for x in event.learnings}
        about = [getattr(x, "learning_id", None) for x in new]
        new = [x for x, id_ in zip(new, about, strict=True) if id_ not in counted]
        adopted = (*(x.id for x in corrected), *(x.type for x in new))
        path, digest = self.observed.path, self.observed.digest
        told = EditAdopted(path, self.edit, digest, adopted, tuple(left))
        return [*new, *([event] if corrected else []), told]

    def _changed(
        self, kind: type[Part], ours: JournalDocument, left: list[str]
    ) -> list[Part]:
        """Return the edited parts that can be corrected; add the others to `left`."""
        name = LISTS[kind]
        now: dict[str, Part] = {part.id: part for part in reversed(getattr(ours, name))}
        then: dict[str, Part] = {
            part.id: part for part in reversed(getattr(self.base, name))
        }
        changed: list[Part] = []
        seen: set[str] = set()
        for index, data in enumerate(self.theirs.get(name, ())):
            part = shape_of(kind, data, field=f"{name}[{index}]")
            before, current = then.get(part.id), now.get(part.id)
            is_again = part.id in seen
            seen.add(part.id)
            if is_again or before is None or current is None or part in (before, current):
                continue
            if _without_uses(current) != _without_uses(before):
                left.append(f"{part.id}: it was changed here since then as well")
            else:
                changed.append(_with_uses(part, before, current))
        gone = [id_ for id_ in then if id_ not in seen]
        left += [f"{id_}: nothing that was recorded is taken out" for id_ in gone]
        return changed


def _is_another(entry: Entry, ours: JournalDocument) -> bool:
    recorded = ours.entry(entry.id)
    said = (entry.prd_id, entry.iteration)
    return recorded is None or said != (recorded.prd_id, recorded.iteration)


def _without_uses(part: Part) -> Part:
    return replace(part, times_referenced=0) if isinstance(part, Learning) else part


def _with_uses(part: Part, before: Part, now: Part) -> Part:
    """Return a learning, including the uses that were counted since it was edited."""
    if isinstance(part, Learning):
        assert isinstance(before, Learning)
        assert isinstance(now, Learning)
        since = now.times_referenced - before.times_referenced
        return replace(part, times_referenced=part.times_referenced + since)
    return part


_JOURNAL = frozenset({"version", "entries", "learnings", "patterns", "created_at"})
_STATUS = frozenset({"status", "indicator", "elapsed_seconds", "last_output", "timestamp"})
_SHOWN_MAX = 5

ELSEWHERE = (
    "use `sprintlog journal open --place .ralph/journal.json` or set SPRINTLOG_JOURNAL to "
    "choose another file"
)
"""The hint shown if the journal's path contains another tool's file."""
FIRST_SCHEMA = (1, 0)
_SCHEMA = re.compile(r"(\d{1,9})\.(\d{1,9})", re.ASCII)

Data = dict[str, Any]
Kind = TypeVar("Kind", bound=parts.ClosedObject)

_EVENTS: dict[type[Any], type[Event]] = {
    parts.Entry: f.EntryRecorded,
    parts.Learning: f.LearningAdded,
    parts.Pattern: f.PatternDiscovered,
}
"""The event that records a new part of each kind."""
_COUNTED = {"times_referenced", "still_valid"}
"""The fields of a learning that later events change."""


class ForeignEvents(NamedTuple):
    """The result of importing a document."""

    events: list[Event]
    problems: list[str]
    """The differences from recorded parts, which are not imported."""


def stranger(data: object) -> str | None:
    """Return a description of data that is not a journal; None if it may be a journal."""
    if not isinstance(data, dict):
        return "JSON, but not an object"
    names = {str(name) for name in data}
    if not names or names & _JOURNAL:
        return None
    if {"status", "indicator"} <= names <= _STATUS:
        return "the status file of a running loop"
    shown = ", ".join(sorted(name[:40] for name in names)[:_SHOWN_MAX])
    return f"not a journal but a file of another tool with the keys {shown}"


def check_no_stranger(content: bytes, place: str) -> None:
    """Raise a `RefusedError` that describes another tool's file at the journal's path."""
    try:
        found = stranger(msgspec.json.decode(content))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = "no JSON"
    if found is None:
        raise RefusedError(
            f"{place} already exists and is a journal of another tool",
            hint=f"run `sprintlog import journal {place}`, then repeat the command",
            file=place,
        )
    raise RefusedError(f"{place} already exists: {found}", hint=ELSEWHERE, file=place)


def schema_version(text: str) -> tuple[int, int]:
    """Return a schema version as two numbers; raise `RefusedError` unless it is 1.x."""
    match = _SCHEMA.fullmatch(text)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    if version >= (2, 0):
        raise parts.refuse("version", f"progress.json version {text} is too new")
    if version < FIRST_SCHEMA:
        problem = "1.0 is the first" if match else "must be two numbers, like 1.0"
        raise parts.refuse("version", f"{text[:40]!r}: {problem}")
    return version


def shape_of(kind: type[Kind], data: object, *, field: str) -> Kind:
    """Return an object from progress.json; unknown fields are stored in its `extra`."""
    return converted(_gathered(kind, data), kind, field=field)


def _gathered(kind: type[parts.ClosedObject], data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    known = set(kind.__struct_fields__) - {"extra"}
    given: Data = {
        # In JSON Schema, 1.0 is an integer.
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in data.items()
        if name in known
    }
    if extra := {name: value for name, value in data.items() if name not in known}:
        given["extra"] = extra
    if kind is parts.Entry:
        found = given.setdefault("observations", [])
        if isinstance(found, list):
            given["observations"] = [_gathered(parts.Observation, one) for one in found]
        if "context" in given:
            given["context"] = _gathered(parts.Context, given["context"])
    if kind is parts.Learning:
        given.setdefault("still_valid", True)
    return given


class TakeDocument(JournalCommand, frozen=True):
    """Import the parts of another journal that `ours` lacks, one append at a time."""

    needs_context = True

    theirs: Data
    ours: JournalDocument | None = None

    def decide(self, journal: Journal, at: str) -> list[Event]:
        """Return the events that this command records."""
        ours = self.ours or JournalDocument()
        return take_document(ours, self.theirs).events[:APPEND_EVENTS_MAX]


def take_document(ours: JournalDocument, theirs: Data) -> ForeignEvents:
    """Return events, at their original times, for the missing parts of a document.

    The document must have been checked.
    """
    problems: list[str] = []
    events = [*_of_the_file(ours, theirs, problems)]
    for kind, event_of in _EVENTS.items():
        for part, where, recorded in _matched(kind, theirs, ours):
            if recorded is None:
                events.append(event_of(part))
                continue
            problems += _differences(where, part, recorded)
            if isinstance(part, parts.Learning) and isinstance(recorded, parts.Learning):
                known = recorded.times_referenced
                # Of several learnings with the same id, only the first is changed.
                if ours.learning(recorded.id) is recorded:
                    events += _of_learning(part, recorded)
                if part.times_referenced < known:
                    problems.append(f"{where}.times_referenced: {known} were counted")
                if part.still_valid and not recorded.still_valid:
                    problems.append(f"{where}.still_valid: it was retired and stays so")
    return ForeignEvents(events, problems)


def remarks(document: JournalDocument) -> Iterator[str]:
    """Yield remarks on other tools' content that our commands would reject."""
    for list_name in LISTS.values():
        seen: set[str] = set()
        for index, part in enumerate(getattr(document, list_name)):
            if part.id in seen:
                yield f"{list_name}[{index}].id: {part.id} was there before"
            seen.add(part.id)
    for index, entry in enumerate(document.entries):
        if entry.id != (due := entry_id(entry.prd_id, entry.iteration)):
            yield f"entries[{index}].id: {entry.id} would be {due} by PRD and iteration"
        for number, observation in enumerate(entry.observations):
            named = observation.related_learning_id
            if named and document.learning(named) is None:
                where = f"entries[{index}].observations[{number}]"
                yield f"{where}.related_learning_id: there is no learning {named}"
    for index, learning in enumerate(document.learnings):
        if (named := learning.source_entry_id) and document.entry(named) is None:
            yield f"learnings[{index}].source_entry_id: there is no entry {named}"


def _of_the_file(
    ours: JournalDocument, theirs: Data, problems: list[str]
) -> Iterator[Event]:
    """Yield events for changes to the file's own fields."""
    version, created_at = theirs["version"], theirs["created_at"]
    name = theirs.get("project_name", "")
    own = {"version", "created_at", "project_name", *LISTS.values()}
    extra = {key: value for key, value in theirs.items() if key not in own}
    raised = schema_version(version)
    parts.event_time(created_at, field="created_at")
    if not ours.version:
        yield f.JournalOpened(created_at, name, version, extra=extra)
        return
    for field, said in (("created_at", created_at), ("project_name", name)):
        if said != (recorded := getattr(ours, field)):
            problems.append(f"{field}: {recorded or 'nothing'} was recorded and stays")
    merged = {**ours.extra, **extra}
    if raised > schema_version(ours.schema):
        yield f.JournalRaised(version, merged)
    elif merged != ours.extra:
        yield f.JournalRaised(ours.schema, merged)


def _matched(
    kind: type[Part], theirs: Data, ours: JournalDocument
) -> Iterator[tuple[Part, str, Part | None]]:
    """Yield each part in a list, with its path, and our matching part or None."""
    name = LISTS[kind]
    known: dict[str, list[Part]] = defaultdict(list)
    for part in getattr(ours, name):
        known[part.id].append(part)
    for index, data in enumerate(theirs.get(name, ())):
        where = f"{name}[{index}]"
        part = shape_of(kind, data, field=where)
        parts.check(part, where)
        same = known[part.id]
        yield part, where, same.pop(0) if same else None


def _differences(where: str, theirs: Part, ours: Part) -> Iterator[str]:
    before, after = asdict(ours), asdict(theirs)
    for field in before:
        if before[field] != after[field] and field not in _COUNTED:
            yield f"{where}.{field}: differs from the recorded value, which is unchanged"


def _of_learning(theirs: parts.Learning, ours: parts.Learning) -> Iterator[Event]:
    """Yield a learning's later events."""
    if (more := theirs.times_referenced - ours.times_referenced) > 0:
        yield f.LearningReferenced(ours.id, times=more)
    if ours.still_valid and not theirs.still_valid:
        yield f.LearningRetired(ours.id)
