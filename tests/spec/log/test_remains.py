"""The remainder of an event after its text was erased."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from sprintlog.engine.journal.events import EntryRecorded, JournalOpened, LearningAdded
from sprintlog.engine.journal.parts import Entry, Learning, Observation
from sprintlog.engine.log.codec import encode
from sprintlog.engine.log.event import ERASED, Event
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sessions.events import PromptGiven, ToolCalled, TouchedFile
from sprintlog.engine.sprint.events.remains import NOT_RUN
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state.effective_history import effective_ranges
from sprintlog.engine.sprint.state.sprint import Sprint

from ...golden.test_streams import STREAMS, lines, recorded_of
from .test_events import ALL

each = pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.stem)
WORDS = (
    *("summary", "error", "reason", "prompt", "script", "output", "title", "goal"),
    *("description", "text", "reasoning", "details", "command", "note", "content"),
)
FAR = ("id", "status", "started-at", "completed-at", "retry-count", "current", "stats")


def told(part: Any, key: str = "") -> Iterator[str]:
    """Yield the texts under the names of text fields."""
    if isinstance(part, dict):
        for name, value in part.items():
            yield from told(value, name)
    elif isinstance(part, list):
        for one in part:
            yield from told(one, key)
    elif isinstance(part, str) and key in WORDS:
        yield part


def far(part: Any) -> Any:
    """Return the progress of a document, without its texts."""
    if isinstance(part, list):
        return [far(one) for one in part]
    if not isinstance(part, dict):
        return part
    inner = {
        name: far(value)
        for name, value in part.items()
        if isinstance(value, list | dict) and name != "context"
    }
    return inner | {name: part[name] for name in FAR if name in part}


def folded(stream: Path, *, erased: bool) -> Sprint:
    """Return the state of a stored stream, as recorded or with every event erased."""
    recorded = [recorded_of(line) for line in lines(stream)]
    if erased:
        recorded = [replace(e, payload=encode(CODEC.decode(e).remains())) for e in recorded]
    rollbacks = [
        (e.version, json.loads(e.payload or b"")["to"])
        for e in recorded
        if e.type == "rolled-back"
    ]
    events = [(e.version, e.at, CODEC.decode(e)) for e in recorded]
    return fold(Sprint("fixture"), events, effective_ranges(rollbacks, len(recorded)))


@each
def test_no_words_remain(stream: Path) -> None:
    """No text of people and programs is left, and the rest can be read."""
    for line in lines(stream):
        if line["type"] == "snapshot-rewritten":
            # The reason does not come from the author of the snapshot.
            continue
        recorded = recorded_of(line)
        left = CODEC.decode(recorded).remains()
        assert {*told(to_builtins(left))} <= {ERASED, NOT_RUN, ""}, line
        again = CODEC.decode(replace(recorded, payload=encode(left)))
        assert again == left
        assert left.remains() == left


@each
def test_a_sprint_is_as_far_as_before(stream: Path) -> None:
    """Statuses, times, order, counters and the pointer follow without the text."""
    before, after = folded(stream, erased=False), folded(stream, erased=True)
    assert far(after.document) == far(before.document)
    assert after.plan.status == before.plan.status
    assert after.knowledge.rollbacks == before.knowledge.rollbacks
    assert after.knowledge.spent == before.knowledge.spent


@pytest.mark.parametrize("event", ALL, ids=lambda event: str(event.type))
def test_what_stays_is_there(event: type[Event]) -> None:
    """Each text that an event declares as remaining is in one of its fields."""
    assert {name.partition(".")[0] for name in event.stays} <= {*event.__struct_fields__}


def test_a_journal_keeps_its_shape() -> None:
    """Ids, kinds and counters of entries and learnings remain, without any text."""
    noticed = Observation(type="finding", title="a", severity="low", file="b")
    entry = Entry(
        id="prd-1",
        prd_id="prd",
        iteration=1,
        status="completed",
        summary="c",
        observations=(noticed,),
        files_modified=("d",),
        extra={"e": "f"},
    )
    bare = Observation(type="finding", title=ERASED, severity="low", file=ERASED)
    assert EntryRecorded(entry).remains().entry == replace(
        entry, summary=ERASED, observations=(bare,), files_modified=(), extra={}
    )
    learning = Learning(id="learning-0001", type="pitfall", content="a", still_valid=True)
    assert LearningAdded(learning).remains().learning == replace(learning, content=ERASED)
    assert JournalOpened("2026-01-30T12:00:00Z", "mine").remains().project_name == ERASED


def test_digests_of_texts_go() -> None:
    """Without a salt, a digest would allow guessing a short text."""
    assert PromptGiven(3, "ab" * 32).remains() == PromptGiven(3, ERASED)
    files = (TouchedFile("src/a", "changed", 1, 2),)
    call = ToolCalled("Bash", "c1", exit_code=0, command="ls", files=files)
    call = replace(call, input_sha256="ab" * 32)
    assert call.remains() == ToolCalled(
        "Bash",
        "c1",
        exit_code=0,
        command=ERASED,
        files=(TouchedFile(ERASED, "changed", 1, 2),),
        input_sha256=ERASED,
    )
