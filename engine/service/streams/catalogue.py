"""The types of streams: their events, and the states folded from them."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from ...log.codec import Codec, encode, encode_masked
from ...log.envelope import NewEvent
from ...log.event import Event, Versioned
from ...log.port import Page
from ...log.upcast import UPCASTS
from ...sprint.events import EVENTS
from ...sprint.fold import RowFold, fold
from ...sprint.state import sprint as sprints
from ...sprint.state.effective_history import VersionRange
from ...sprint.state.sprint import STATE_FORMAT, Sprint
from ...sprint.state.times import normalise

if TYPE_CHECKING:
    from ...journal.document import JournalDocument
    from ...journal.state import Journal


def _of_other_streams() -> tuple[type[Event], ...]:
    # Imported here: recording to a sprint does not require them.
    from ...journal.events import JOURNAL_EVENTS
    from ...log.erasures import ERASURE_EVENTS
    from ...races import RACE_EVENTS
    from ...sessions.events import SESSION_EVENTS

    return (*JOURNAL_EVENTS, *SESSION_EVENTS, *ERASURE_EVENTS, *RACE_EVENTS)


CODEC = Codec(EVENTS, UPCASTS, more=_of_other_streams)

_SPRINT = "sprint/"


def sprint_stream(sprint_id: str) -> str:
    """Return the name of a sprint's stream.

    Raise `InvalidInputError` if the id is not UTF-8, because no log has such a stream.
    """
    if not sprint_id.isprintable():
        # Imported here: nearly all ids are printable.
        from ...readable import check_utf8

        check_utf8(sprint_id, "sprint")
    return _SPRINT + sprint_id


def sprint_of(stream: str) -> str | None:
    """Return the sprint that a stream belongs to, or None."""
    return stream.removeprefix(_SPRINT) if stream.startswith(_SPRINT) else None


EVERY = 64
"""The number of new events after which the state of a stream is saved."""
State = TypeVar("State", bound="Sprint | Journal | JournalDocument")


class StreamKind(msgspec.Struct, Generic[State], frozen=True):
    """The functions that read one type of stream."""

    name: Callable[[str], str]
    """Returns the display name of a stream's subject."""
    stream: Callable[[str], str]
    begin: Callable[[str], State]
    """Returns the state before the first event."""
    fold: Callable[[State, Iterable[Versioned], Sequence[VersionRange] | None], State]
    fold_rows: Callable[[State, Iterable[Page], Sequence[VersionRange] | None], State]
    """Folds the rows of a scan in the same way as `fold`."""
    pack: Callable[[State], bytes]
    unpack: Callable[[bytes | memoryview], State]
    format: int
    """The format of saved states; states in other formats are ignored."""
    rollbacks: Callable[[State], list[tuple[int, int]]] = lambda _: []
    with_plan: Callable[[State, State], State] = lambda state, _: state
    """Returns the first state with the plan of the second."""


def _with_plan(sprint: Sprint, other: Sprint) -> Sprint:
    sprint.plan = other.plan
    return sprint


FOLD_ROWS = RowFold(CODEC)
"""The function that folds rows into sprints."""

SPRINTS: StreamKind[Sprint] = StreamKind(
    name=lambda sprint_id: f"sprint {sprint_id}",
    stream=sprint_stream,
    begin=Sprint,
    fold=fold,
    fold_rows=FOLD_ROWS,
    rollbacks=lambda sprint: sprint.knowledge.rollbacks,
    with_plan=_with_plan,
    pack=sprints.pack,
    unpack=sprints.unpack,
    format=STATE_FORMAT,
)


def new_event(
    event: Event,
    *,
    at: str,
    actor: str,
    observed: bool = False,
    masks: bool = True,
    correlation_id: str | None = None,
    causation_id: str | None = None,
) -> NewEvent:
    """Return an event in the format that the log accepts, with secrets masked.

    An event from a journal's file retains the time stated in the file.
    """
    own = event.own_time()
    return NewEvent(
        type=event.type,
        payload=encode_masked(event) if masks else encode(event),
        at=normalise(own) if own else at,
        actor=actor,
        schema_version=event.schema_version,
        correlation_id=correlation_id,
        causation_id=causation_id,
        observed=observed,
        payload_bytes_max=event.payload_bytes_max,
    )
