"""Laws of the journal: any sequence of commands results in a valid file.

Otherwise a refusal names the field; and however the log is read, the file is the same.
"""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintlog.engine.command import decided as decided_on
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal import parts
from sprintlog.engine.journal.document import JournalDocument, fold_document
from sprintlog.engine.journal.events import JournalOpened
from sprintlog.engine.journal.fold import fold
from sprintlog.engine.journal.foreign import remarks, take_document
from sprintlog.engine.journal.rules import command_of, to_event
from sprintlog.engine.journal.state import Journal, pack, unpack
from sprintlog.engine.log.codec import encode
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.projections.state_files.progress_json import render
from tests.lengths import examples
from tests.strict_journal import read

AT = "2026-02-01T10:00:00Z"

texts = st.sampled_from(
    ["", "a", "b", "c d", "Auth_1", 'é\n"\\<&>\u2028', "learning-0001", "  "]
)
times = st.sampled_from(
    ["", AT, "2025-12-31T23:59:59.999+05:30"] * 4 + ["0001-01-01T00:00:00Z", "soon"]
)
counts = st.sampled_from([0, 1, 2, 7] * 4 + [-1, 2**63])
prds = st.sampled_from(["auth", "Auth", "a b", "a-b", "é"] * 4 + [""])
learnings = st.sampled_from(["", "learning-0001", "learning-0002", "learning-9999", "x"])


def some(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return objects with all fields of one kind and some of the other."""
    return st.fixed_dictionaries(required, optional=optional)


def word(allowed: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Return mostly words from a list, and sometimes others."""
    return st.sampled_from([*allowed * 9, "", "other"])


observations = some(
    {"type": word(parts.OBSERVATION_TYPES), "title": texts},
    {
        "description": texts,
        "file": texts,
        "category": word(parts.CATEGORIES),
        "severity": word(parts.SEVERITIES),
        "action_taken": word(parts.ACTIONS),
        "related_learning_id": learnings,
    },
)
contexts = some(
    {},
    {
        "retry_count": counts,
        "previous_failure_reason": texts,
        "recovery_action": word(parts.RECOVERY_ACTIONS),
        "dependencies_completed": st.lists(texts, max_size=2),
        "blocker_verified": st.booleans(),
        "blocker_valid": st.booleans(),
    },
)
entries = some(
    {"prd_id": prds, "status": word(parts.STATUSES)},
    {
        "timestamp": times,
        "iteration": counts,
        "duration_seconds": counts,
        "summary": texts,
        "observations": st.lists(observations, max_size=3),
        "files_modified": st.lists(texts, max_size=2),
        "git_commits": st.lists(texts, max_size=2),
        "context": contexts,
        "mood": texts,
    },
)
added = some(
    {"type": word(parts.LEARNING_TYPES), "content": texts, "source_prd_id": prds},
    {
        "context": texts,
        "source_entry_id": st.sampled_from(["auth-1", "auth-2", "a-b-1", ""]),
        "created_at": times,
        "times_referenced": counts,
        "still_valid": st.booleans(),
    },
)
patterns = some(
    {"name": texts, "type": word(parts.PATTERN_TYPES)},
    {
        "description": texts,
        "examples": st.lists(texts, max_size=2),
        "discovered_at": times,
        "confidence": word(parts.CONFIDENCES),
    },
)
commands = st.one_of(
    st.tuples(st.just("journal-opened"), some({}, {"project_name": texts})),
    st.tuples(st.just("entry-recorded"), some({"entry": entries}, {})),
    st.tuples(
        st.just("learning-added"),
        some({"learning": added}, {"observation": st.integers(0, 3)}),
    ),
    st.tuples(
        st.just("learning-referenced"),
        some({"learning_id": learnings}, {"prd_id": prds, "times": counts}),
    ),
    st.tuples(st.just("learning-retired"), some({"learning_id": learnings}, {})),
    st.tuples(st.just("pattern-discovered"), some({"pattern": patterns}, {})),
)
histories = st.lists(commands, max_size=25)


def decided(journal: Journal, tag: str, data: Any) -> list[Event]:
    """Return the result of a command; None if it is refused, which must name a field."""
    refused = None
    events: list[Event] = []
    try:
        events = decided_on(command_of(to_event(tag, data)), journal, AT)
    except RefusedError as error:
        refused = error
    if refused is not None:
        assert refused.message.startswith(f"{refused.fields['field']}: ")
    return events


def happened(history: list[tuple[str, Any]]) -> list[tuple[int, str, Event]]:
    """Return the result of a history of commands; each refusal names a field."""
    journal = Journal()
    recorded_events: list[tuple[int, str, Event]] = []
    for tag, data in history:
        events = decided(journal, tag, data)
        if not journal.exists and events and not isinstance(events[0], JournalOpened):
            events = [JournalOpened(AT), *events]
        new = [(len(recorded_events) + n, AT, event) for n, event in enumerate(events, 1)]
        recorded_events += new
        fold(journal, new)
    return recorded_events


def document(events: list[tuple[int, str, Event]]) -> JournalDocument:
    """Return the document that results from events."""
    folded: JournalDocument = fold_document(JournalDocument(), events)
    return folded


@given(histories)
def test_any_history_gives_a_file_that_a_strict_reader_takes(history: Any) -> None:
    """A command is refused by its field, or the schema accepts the file."""
    events = happened(history)
    if events:
        made = document(events)
        read(render(made))
        assert list(remarks(made)) == []


@given(histories, st.integers(0, 30))
def test_reading_goes_on_from_anywhere(history: Any, split: int) -> None:
    """Continuing from a saved state or a partly read journal gives the same result."""
    events = happened(history)
    at_once = fold(Journal(), events)
    saved = unpack(pack(fold(Journal(), events[:split])))
    assert pack(fold(saved, events[split:])) == pack(at_once)
    halves = fold_document(document(events[:split]), events[split:])
    assert render(halves) == render(document(events))


@given(histories)
def test_stored_events_say_the_same(history: Any) -> None:
    """A log that is read back results in the same file."""
    events = happened(history)
    decoders = {tag: msgspec.json.Decoder(event) for tag, event in CODEC.events.items()}
    again = [(v, at, decoders[event.type].decode(encode(event))) for v, at, event in events]
    assert [event for _, _, event in again] == [event for _, _, event in events]
    assert render(document(again)) == render(document(events))


@settings(max_examples=examples(60))
@given(histories)
def test_what_we_write_is_taken_in_and_written_the_same(history: Any) -> None:
    """Import, write, import: the bytes are the same, and the second import adds nothing."""
    recorded_events = happened(history)
    if not recorded_events:
        return
    written = render(document(recorded_events))
    events = take_document(JournalDocument(), msgspec.json.decode(written)).events
    taken = document([(n, AT, event) for n, event in enumerate(events, 1)])
    assert render(taken) == written
    assert take_document(taken, msgspec.json.decode(written)) == ([], [])
