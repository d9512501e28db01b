"""What a projection has to do."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from sprintlog.engine.extensions import Extension
from sprintlog.engine.service.streams.extension_events import event_as_said
from sprintlog.engine.sprint.commands import RecordExtensionEvent
from sprintlog.engine.sprint.iterations.rollback import RollBack, Undo
from sprintlog.engine.sprint.phases.leaves import CompletePhase, StartPhase
from sprintlog.engine.sprint.phases.lifecycle import StartSprint
from sprintlog.projections.extended import ExtendedProjection, SprintReading, reading_of
from sprintlog.projections.runner import Happened, catch_up_sprint, happened
from sprintlog.projections.workspace import Workspace

from .ground import SPRINT, must, plain, workspace

Data = dict[str, Any]
_ENDS = Extension("projection", "kit", "kit:kit", "kit", "0")


def check_projection(
    made: Callable[[], SprintReading], *, events: Sequence[tuple[str, Data]] = ()
) -> Any:
    """Try a projection on a small sprint with a rollback and its undoing.

    `events` are types and data of extensions' events to be in it. Return what the
    projection says at the end. Raise `AssertionError` saying the rule that is broken.
    """
    reading_of(_ENDS, made)
    with workspace() as log:
        _play(log, events)
        everything = [*happened(log, SPRINT)]
        said = _shown(made, everything, every=0)
        for every in (1, 2, 3):
            again = _shown(made, everything, every=every)
            must(again == said, f"kept every {every} events, it says the same")
        for end in range(len(everything) + 1):
            _shown(made, everything[:end], every=0)
        must(_shown(made, everything, every=0) == said, "read once more, it says the same")
        _by_the_runner(log, made, said)
    return msgspec.json.decode(said)


def _shown(made: Callable[[], SprintReading], all_: Sequence[Happened], every: int) -> str:
    """Return what it says; its state goes through JSON every so many events."""
    reading = made()
    state = reading.begin()
    for number, one in enumerate(all_, start=1):
        state = reading.evolve(state, one)
        if every and number % every == 0:
            # A new one: what is remembered beside the state would be lost.
            state, reading = msgspec.json.decode(_encoded(state)), made()
    before = _encoded(state)
    shown = plain(
        msgspec.to_builtins(reading.show(state), str_keys=True), "what it says is JSON"
    )
    must(_encoded(state) == before, "show() changes nothing of the state")
    return shown


def _encoded(state: Any) -> bytes:
    try:
        return msgspec.json.encode(state)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise AssertionError(f"its state is plain data: {error}") from error


def _by_the_runner(log: Workspace, made: Callable[[], SprintReading], said: str) -> None:
    for _ in range(2):
        projection = ExtendedProjection(_ENDS, made(), log.log, SPRINT)
        catch_up_sprint(log, projection)
        must(plain(projection.show(), "JSON") == said, "the runner gives the same")
    must(projection.mark() is not None, "what it keeps is found again")


def _play(log: Workspace, events: Sequence[tuple[str, Data]]) -> None:
    """Record work, what extensions say, a rollback, more of both, and an undoing."""

    def say() -> None:
        for tag, data in events:
            event = event_as_said(tag, data)
            log.handle_with(SPRINT, RecordExtensionEvent(event))

    log.handle(StartSprint(), sprint_id=SPRINT)
    log.handle(StartPhase("one"), sprint_id=SPRINT)
    log.handle(CompletePhase("one", "first"), sprint_id=SPRINT)
    point = log.sprint(SPRINT).version
    say()
    log.handle(StartPhase("two"), sprint_id=SPRINT)
    log.handle(RollBack(point), sprint_id=SPRINT)
    log.handle(Undo(), sprint_id=SPRINT)
    say()
    log.handle(RollBack(point), sprint_id=SPRINT)
    log.handle(StartPhase("two"), sprint_id=SPRINT)
    say()
