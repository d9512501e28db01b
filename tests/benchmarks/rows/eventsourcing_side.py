"""The `eventsourcing` library with its defaults; importing this may raise `Skip`."""

from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events

from ..measure import Skip

Method = TypeVar("Method", bound=Callable[..., None])

try:
    VERSION = version("eventsourcing")
except PackageNotFoundError as error:
    raise Skip("eventsourcing is not installed: pip install -e '.[bench]'") from error

if TYPE_CHECKING:
    # The library is installed only for `make bench`, so types are checked without it.
    Application: Any

    def event(name: str) -> Callable[[Method], Method]:
        """Make a method the implementation of the event with its name."""
        ...

    class Aggregate:
        """Something with a life and a history."""

        id: UUID

else:
    from eventsourcing.application import Application
    from eventsourcing.domain import Aggregate, event


class Loop(Aggregate):
    """A sprint as an aggregate of the library, in its usual declarative form."""

    @event("Created")
    def __init__(self, phases: list[str]) -> None:
        self.status = "in-progress"
        self.number = 0
        self.phases: dict[str, dict[str, Any]] = {
            phase: {"status": "pending"} for phase in phases
        }

    @event("IterationStarted")
    def start_iteration(self, number: int) -> None:
        """Start an iteration."""
        self.number = number

    @event("ActivitySeen")
    def see_activity(self) -> None:
        """Note a heartbeat."""

    @event("PhaseStarted")
    def start(self, phase: str, model: str) -> None:
        """Start a phase."""
        self.phases[phase].update({"status": "in-progress", "model": model})

    @event("PhaseCompleted")
    def complete(self, phase: str, summary: str) -> None:
        """Finish a phase."""
        self.phases[phase].update({"status": "completed", "summary": summary})

    @event("PhaseFailed")
    def fail(self, phase: str, error: str, category: str) -> None:
        """Note a failure."""
        self.phases[phase].update({"status": "failed", "error": error})

    @event("RetryScheduled")
    def schedule_retry(self, phase: str, next_retry_at: str) -> None:
        """Note when the phase is tried again."""
        self.phases[phase]["next-retry-at"] = next_retry_at

    @event("PhaseRetried")
    def retry(self, phase: str, reason: str) -> None:
        """Reset a phase."""
        self.phases[phase] = {"status": "pending"}

    @event("PhaseReopened")
    def reopen(self, phase: str, reason: str) -> None:
        """Reset a phase."""
        self.phases[phase] = {"status": "pending"}

    @event("Finished")
    def finish(self, summary: str) -> None:
        """Close it."""
        self.status = "completed"

    @event("Reopened")
    def start_again(self, reason: str) -> None:
        """Open it again."""
        self.status = "in-progress"


_METHODS: dict[type[Event], Callable[..., None]] = {
    events.IterationStarted: lambda to, event: to.start_iteration(event.number),
    events.ActivitySeen: lambda to, event: to.see_activity(),
    events.PhaseStarted: lambda to, event: to.start(event.phase, event.model),
    events.PhaseCompleted: lambda to, event: to.complete(event.phase, event.summary),
    events.PhaseFailed: lambda to, event: to.fail(event.phase, event.error, event.category),
    events.RetryScheduled: lambda to, event: to.schedule_retry(
        event.phase, event.next_retry_at
    ),
    events.PhaseRetried: lambda to, event: to.retry(event.phase, event.reason),
    events.PhaseReopened: lambda to, event: to.reopen(event.phase, event.reason),
    events.SprintCompleted: lambda to, event: to.finish(event.summary),
    events.SprintReopened: lambda to, event: to.start_again(event.reason),
}


class Replay:
    """An application of the library with its defaults, holding one loop."""

    def __init__(self, path: Path, phases: list[str], happened: Iterable[Event]) -> None:
        self._application = Application(
            env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(path)}
        )
        loop = Loop(phases)
        for event in happened:
            if method := _METHODS.get(type(event)):
                method(loop, event)
        self._id = loop.id
        self._application.save(loop)

    def get(self) -> Any:
        """Return the loop, from its events."""
        return self._application.repository.get(self._id)

    def close(self) -> None:
        """Close the database."""
        self._application.close()
