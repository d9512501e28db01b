"""Stored projections that extensions provide and the runner updates.

The state of a projection is stored as JSON with the saved states of the log. An erasure
therefore also deletes the projection's state, which is recomputed if it is missing.
"""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import msgspec

from sprintlog.engine.extensions import Extension, ExtensionError, loaded, named
from sprintlog.engine.log.port import Log
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.streams.checkpoints import EXTENSIONS, KeptReading, Reading

from .runner import Happened, Mark, catch_up_sprint
from .workspace import Workspace

PROJECTION = "projection"
FORMAT = 1
"""Increase this number when the format stored with a state changes."""
STATE_BYTES_MAX = 16 * 1024 * 1024


@runtime_checkable
class SprintReading(Protocol):
    """The interface of an extension's projection, whose class takes no arguments."""

    version: int
    """The version of the projection's rules; after an increase, all events are read
    again."""

    def begin(self) -> Any:
        """Return the state before the first event, which must be serializable as JSON."""

    def evolve(self, state: Any, one: Happened) -> Any:
        """Return the state after an event; it may be the same object, modified in place."""

    def show(self, state: Any) -> Any:
        """Return the projection's result as JSON values."""


class _Kept(msgspec.Struct):
    """A stored state, its extension, the version of its rules, and its last event."""

    whose: str
    rules: int
    place: int
    hash: bytes
    state: bytes


class _Extended(Reading):
    """The states of all extensions' projections for one stream."""

    states: dict[str, _Kept]


class ExtendedProjection:
    """An extension's projection of one sprint, with its state stored in the log."""

    def __init__(
        self, extension: Extension, reading: SprintReading, log: Log, sprint: str
    ) -> None:
        self.name = extension.name
        self.version = reading.version
        self.stream: str = sprint_stream(sprint)
        self._extension = extension
        self._reading = reading
        self._kept = KeptReading(log, EXTENSIONS, self.stream, _Extended, meaning=FORMAT)
        self._whose = f"{extension.package} {extension.value}"
        self.state: Any = None

    def mark(self) -> Mark | None:
        """Load the saved state, and return its mark; None if no state is saved."""
        found = self._kept.load()
        kept = found.states.get(self.name) if found is not None else None
        if kept is None or kept.whose != self._whose:
            return None
        self.state = msgspec.json.decode(kept.state)
        return Mark(kept.rules, kept.place, kept.hash)

    def begin(self) -> None:
        """Reset the state before the stream is read again."""
        with named(self._extension):
            self.state = self._reading.begin()

    def evolve(self, one: Happened) -> None:
        """Process the next event."""
        with named(self._extension):
            self.state = self._reading.evolve(self.state, one)

    def keep(self, mark: Mark) -> None:
        """Save the state with its mark; raise `ExtensionError` if it cannot be saved."""
        with named(self._extension):
            state = msgspec.json.encode(self.state)
        if len(state) > STATE_BYTES_MAX:
            raise ExtensionError(
                f"{self._extension.described()}: its state has {len(state)} bytes, which "
                f"exceeds the limit of {STATE_BYTES_MAX}"
            )
        found = self._kept.load()
        others = found.states if found is not None else {}
        mine = _Kept(self._whose, mark.rules, mark.place, mark.hash, state)
        # The newest event read identifies the history of all of them.
        newest = max([mark.place, *(one.place for one in others.values())])
        self._kept.keep_only(_Extended(newest, {**others, self.name: mine}))

    def show(self) -> Any:
        """Return the projection's result as plain data."""
        with named(self._extension):
            return msgspec.to_builtins(self._reading.show(self.state), str_keys=True)


def projected(workspace: Workspace, name: str, sprint: str) -> Any:
    """Return the current result of an extension's projection for a sprint.

    Raise `NotFoundError` for an unknown name, and `ExtensionError` if the projection fails.
    """
    extension, made = loaded(PROJECTION, name)
    projection = ExtendedProjection(
        extension, reading_of(extension, made), workspace.log, sprint
    )
    catch_up_sprint(workspace, projection)
    return projection.show()


def reading_of(extension: Extension, made: Any) -> SprintReading:
    """Return an entry point's projection; raise `ExtensionError` if it is invalid."""
    with named(extension):
        reading = made() if isinstance(made, type) else made
    if problem := next(_problems(reading), None):
        raise ExtensionError(f"{extension.described()} {problem}")
    return reading  # type: ignore[no-any-return]


def _problems(reading: Any) -> Iterator[str]:
    for name in ("begin", "evolve", "show"):
        if not callable(getattr(reading, name, None)):
            yield f"has no {name}()"
    version = getattr(reading, "version", None)
    if type(version) is not int or version < 1:
        yield "has no version: a number from 1 on"
