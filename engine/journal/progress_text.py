"""Import of a progress.txt in a common format: entries, learnings and patterns.

An entry starts at `## [date] - STORY` and ends at a line of dashes. Its learnings follow
`**Learnings for future iterations:**`; the patterns follow `## Codebase Patterns`. The full
text is stored as well (JRN-114), and is the only place that contains other text. Known
parts are recognized by their content, so importing a text again adds nothing, and a longer
version adds only its new parts.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from ..command import JournalCommand
from ..journal import events as f
from ..journal import parts
from ..log.event import Event
from .document import JournalDocument
from .rules import AddLearning, DiscoverPattern, DraftJournal, RecordEntry
from .state import Journal, entry_id

NAME_CHARACTERS_MAX = 80
SESSION_CHARS_MAX = 160
_HEADING = re.compile(r"#{2,3}\s+(.*\S)")
_RULE = re.compile(r"-{3,}\s*")
_DATED = re.compile(
    r"\[?(?P<date>\d{4}-\d{2}-\d{2})(?:[T ]+(?P<hours>\d{1,2}:\d{2})(?P<seconds>:\d{2})?)?"
    r" ?(?P<zone>Z|[A-Z]{2,5}|[+-]\d{2}:?\d{2})?\]?\s*[-\u2013\u2014:]\s*(?P<story>\S.*)",
    re.ASCII,
)
_SESSION = re.compile(
    r"(?P<story>\S.*?)\W+(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ]+(?P<hours>\d{1,2}:\d{2})(?P<seconds>:\d{2})?)?(?P<zone>Z)?[\])]?",
    re.ASCII,
)
"""The heading of a session, which ends with its date."""
_STORY = re.compile(
    r"([A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*-\d+)\b[\s:\u2013\u2014-]*(.*)", re.ASCII
)
_PATTERNS = re.compile(r"codebase patterns\b", re.IGNORECASE)
_LEARNINGS = re.compile(r"\W*learnings?\b[^:]{0,40}:?\W*", re.IGNORECASE)
_BULLET = re.compile(r"(\s*)[-*+]\s+(.*\S)")
_FILES = re.compile(r"files? (?:changed|modified)\W*:\W*(.*)", re.IGNORECASE)
_PATH = re.compile(r"[\w./@+-]+")
_LABEL = re.compile(r"(patterns?|gotchas?|useful context)\b[^:]{0,30}:\s*", re.IGNORECASE)

_HOURS = {
    "UTC": 0, "GMT": 0, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3,
    "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11,
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}  # fmt: skip
"""The abbreviations of time zones, with their offsets from UTC in hours."""
_ENDINGS = {
    "blocked": parts.BLOCKED,
    "failed": parts.FAILED,
    "partial": parts.PARTIAL,
    "wip": parts.PARTIAL,
}
_KINDS = (
    ("test-pattern", r"tests?|fixtures?|fakes?|mocks?|assert\w*"),
    ("build-pattern", r"build\w*|compil\w*|install\w*|run|commands?|workload|ci|lint\w*"),
    ("error-handling", r"errors?|exceptions?|fail\w*|retry|retries"),
    ("naming-convention", r"nam(?:e|ed|es|ing)|suffix|prefix"),
    ("file-structure", r"folders?|director\w+|lives? in|located|structure|files?"),
    ("state-management", r"state|stores?|storage|cache\w*"),
    ("deployment-pattern", r"deploy\w*|release\w*|docker\w*"),
)
_BY_WORD = [(kind, re.compile(rf"\b(?:{w})\b", re.IGNORECASE)) for kind, w in _KINDS]
_OTHERWISE = "api-pattern"
LEGACY = "learning-0000"
"""The id of the first imported text; no other learning ever gets this id."""
CONTEXT = "Migrated from progress.txt"
SOURCE = "migration"
"""The PRD id of imported parts without a PRD."""


class Noted(NamedTuple):
    """A learning in an entry of a progress.txt file."""

    type: str
    content: str


class Told(NamedTuple):
    """An entry in a progress.txt file."""

    prd_id: str
    timestamp: str
    """The time in RFC 3339; UTC is assumed if the time zone is unknown."""
    status: str
    summary: str
    files: tuple[str, ...]
    seen: tuple[str, ...]
    """The other lines of a session's entry."""
    noted: tuple[Noted, ...]


class Habit(NamedTuple):
    """A pattern in a progress.txt file."""

    name: str
    type: str
    description: str


class Parsed(NamedTuple):
    """The content of a text in the known format."""

    entries: list[Told]
    patterns: list[Habit]
    unread: list[str]
    """The headings of sections that contain neither entries nor patterns."""


def parse_text(text: str) -> Parsed:
    """Return the entries and patterns in a text, in order; skip unknown sections."""
    entries: list[Told] = []
    patterns: list[Habit] = []
    unread: list[str] = []
    for heading, lines in _sections(text):
        if _PATTERNS.match(heading):
            patterns += [_habit(said) for _, said in _bullets(lines)]
        elif told := _entry(heading, lines):
            entries.append(told)
        elif heading:
            unread.append(heading)
    return Parsed(entries, patterns, unread)


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each heading with its lines, up to the next heading or a line of dashes."""
    heading, lines = "", list[str]()
    for line in text.splitlines():
        found = _HEADING.fullmatch(line.rstrip())
        # In some texts a heading introduces the learnings.
        if found and not _begins_learnings(found[1]):
            yield heading, lines
            heading, lines = found[1], []
        elif _RULE.fullmatch(line):
            yield heading, lines
            heading, lines = "", []
        else:
            lines.append(line)
    yield heading, lines


def _bullets(lines: Iterable[str]) -> list[tuple[int, str]]:
    """Return the indentation and text of each list item, including continuation lines."""
    found: list[tuple[int, list[str]]] = []
    goes_on = False
    for line in lines:
        if bullet := _BULLET.fullmatch(line.rstrip()):
            found.append((len(bullet[1].expandtabs(2)), [bullet[2]]))
            goes_on = True
        elif goes_on and line[:1].isspace() and line.strip():
            found[-1][1].append(line.strip())
        else:
            goes_on = False
    return [(indented, " ".join(said)) for indented, said in found]


def _entry(heading: str, lines: list[str]) -> Told | None:
    # A session's heading is short; matching a long one is slow.
    session = _SESSION.fullmatch(heading) if len(heading) < SESSION_CHARS_MAX else None
    dated = _DATED.fullmatch(heading) or session
    timestamp = _moment(dated) if dated else None
    if dated is None or timestamp is None:
        return None
    story = dated["story"].strip()
    named = _STORY.fullmatch(story)
    prd_id, title = (named[1], named[2].strip()) if named else (story, "")
    at = next((i for i, line in enumerate(lines) if _begins_learnings(line)), len(lines))
    done = [said for indented, said in _bullets(lines[:at]) if indented < 2]
    files = [found[1] for said in done if (found := _FILES.match(said))]
    done = [said for said in done if not _FILES.match(said)]
    return Told(
        prd_id,
        timestamp,
        _status(f"{title} {story}"),
        ": ".join([*filter(None, [title]), *done[:1]]),
        tuple(dict.fromkeys(path for said in files for path in _paths(said))),
        tuple(done[1:]) if dated is session else (),
        tuple(_noted(said) for _, said in _bullets(lines[at + 1 :])),
    )


def _begins_learnings(line: str) -> bool:
    said = line.strip().lstrip("-*#").strip()
    return 0 < len(said) <= NAME_CHARACTERS_MAX and _LEARNINGS.fullmatch(said) is not None


def _moment(dated: re.Match[str]) -> str | None:
    zone = dated["zone"] or "Z"
    if zone in _HOURS:
        zone = f"{_HOURS[zone]:+03d}:00"
    elif zone[0] in "+-":
        zone = f"{zone[:3]}:{zone[-2:]}"
    else:
        zone = "Z"
    hours = (dated["hours"] or "0:00").rjust(5, "0")
    moment = f"{dated['date']}T{hours}{dated['seconds'] or ':00'}"
    zone = "Z" if zone == "+00:00" else zone
    try:
        datetime.fromisoformat(f"{moment}{zone}")
    except ValueError:
        return None
    return f"{moment}{zone}"


def _status(said: str) -> str:
    """Return an entry's status; by default `completed`, because entries follow the work."""
    words = re.findall(r"[a-z]+", said.lower())
    return next((_ENDINGS[word] for word in words if word in _ENDINGS), parts.COMPLETED)


def _paths(said: str) -> Iterator[str]:
    """Yield the file paths in a list, without the comments in parentheses."""
    for part in re.sub(r"\([^()]*\)", "", said).split(","):
        path = part.strip().rstrip(".").strip("`").strip()
        if _PATH.fullmatch(path) and ("." in path or "/" in path):
            yield path


def _noted(said: str) -> Noted:
    if (label := _LABEL.match(said)) is None:
        return Noted(parts.CODEBASE_PATTERN, said)
    is_gotcha = label[1].lower().startswith("gotcha")
    kind = parts.ERROR_WORKAROUND if is_gotcha else parts.CODEBASE_PATTERN
    return Noted(kind, said[label.end() :] or said)


def _habit(said: str) -> Habit:
    kind = next((kind for kind, word in _BY_WORD if word.search(said)), _OTHERWISE)
    name = re.split(r"(?<=\w)(?:: | [\u2013\u2014-] |\. )", said, maxsplit=1)[0]
    if len(name) > NAME_CHARACTERS_MAX:
        name = f"{name[: NAME_CHARACTERS_MAX - 1]}…"
    return Habit(name, kind, said)


class TakeText(JournalCommand, frozen=True):
    """Import another tool's progress text; `ours` is the current journal.

    The full text is stored as a learning, in addition to its entries, learnings and
    patterns. The journal is created if there is none; a blank text adds no learning. If
    parts were recognized, the learning with the full text is marked invalid, so that agents
    do not receive its content twice.
    """

    needs_context = True

    text: str
    ours: JournalDocument | None = None

    def decide(self, journal: Journal, at: str) -> list[Event]:
        """Return the events that this command records."""
        text, document = self.text, self.ours or JournalDocument()
        taking = DraftJournal(journal, at)
        if not journal.exists:
            taking.take(f.JournalOpened(at))
        if not text.strip():
            return taking.events
        parsed = parse_text(text)
        if not came_from(document, text):
            taking.take(_whole(taking.journal, text, parsed, at))
        entry_ids = _take_entries(taking, document, parsed.entries)
        known = {(x.source_entry_id, x.content) for x in document.learnings}
        for source, told in zip(entry_ids, parsed.entries, strict=True):
            for noted in dict.fromkeys(told.noted):
                if (source, noted.content) not in known:
                    taking.decide(AddLearning(_learning(noted, told, source)))
        habits = {(x.name, x.description) for x in document.patterns}
        since = parsed.entries[0].timestamp if parsed.entries else at
        for habit in dict.fromkeys(parsed.patterns):
            pattern = _pattern(habit, since)
            if (pattern.name, pattern.description) not in habits:
                taking.decide(DiscoverPattern(pattern))
        return taking.events


def came_from(document: JournalDocument, text: str) -> bool:
    """Return whether a text was already imported."""
    return any(x.content == text and x.context == CONTEXT for x in document.learnings)


def _record(taking: DraftJournal, entry: parts.Entry) -> str:
    """Record an entry as the next iteration of its PRD; return the entry's id."""
    number = taking.journal.next_iteration(entry.prd_id)
    # Different PRD names may lead to the same id, which must not reject a text.
    while entry_id(entry.prd_id, number) in taking.journal.entries:
        number += 1
    (recorded,) = taking.decide(RecordEntry(replace(entry, iteration=number)))
    assert isinstance(recorded, f.EntryRecorded)
    return recorded.entry.id


def _whole(journal: Journal, text: str, parsed: Parsed, at: str) -> Event:
    is_first = LEGACY not in journal.learnings
    return f.LearningAdded(
        parts.Learning(
            id=LEGACY if is_first else journal.next_learning_id or LEGACY,
            type=parts.CODEBASE_PATTERN,
            content=text,
            context=CONTEXT,
            source_prd_id=SOURCE,
            created_at=at,
            still_valid=not (parsed.entries or parsed.patterns),
        )
    )


def _take_entries(
    taking: DraftJournal, document: JournalDocument, entries: list[Told]
) -> list[str]:
    """Record the new entries; return the ids of all entries."""
    known = {(x.prd_id, x.timestamp, x.summary): x.id for x in document.entries}
    ids = []
    for told in entries:
        key = (told.prd_id, told.timestamp, told.summary)
        if key not in known:
            known[key] = _record(
                taking,
                parts.Entry(
                    timestamp=told.timestamp,
                    prd_id=told.prd_id,
                    status=told.status,
                    summary=told.summary,
                    observations=tuple(
                        parts.Observation(type=parts.FINDING, title=x) for x in told.seen
                    ),
                    files_modified=told.files,
                ),
            )
        ids.append(known[key])
    return ids


def _learning(noted: Noted, told: Told, entry_id: str) -> parts.Learning:
    return parts.Learning(
        type=noted.type,
        content=noted.content,
        source_prd_id=told.prd_id,
        source_entry_id=entry_id,
        created_at=told.timestamp,
        still_valid=True,
    )


def _pattern(habit: Habit, since: str) -> parts.Pattern:
    return parts.Pattern(
        name=habit.name,
        type=habit.type,
        description="" if habit.description == habit.name else habit.description,
        discovered_at=since,
        source_prd_id=SOURCE,
    )
