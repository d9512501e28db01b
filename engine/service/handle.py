"""The handling of a single command, from loading the state to updating the files.

The steps are: load, middlewares, decide, append, after commit. If another process appended
first, all steps are repeated. After the commit, state files are updated, and edits to these
files are adopted.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, TypeVar

import msgspec

from ..command import NOT_THE_TYPE, UNNAMED, Command, check_actor, check_types, decided
from ..errors import BusyError, ConflictError, InvalidInputError, SprintlogError
from ..judging.events import ADOPT, REFUSE
from ..log.append import check_expected, check_key
from ..log.envelope import NewEvent, RecordedEvent
from ..log.event import Event
from ..log.port import Log
from ..masking import mask, mask_all
from ..sprint.events import RequestReturned, SprintImported
from ..sprint.state.times import normalise
from .middlewares import Handling, Middlewares, edit_policy
from .port import Envelope, Handled, MovedOnError, Refreshed, Service
from .streams.catalogue import CODEC, State, new_event, sprint_of
from .streams.repository import Repository

CommandT = TypeVar("CommandT", bound=Command)
_OUR_OWN = RequestReturned, SprintImported
"""Events that sprintlog itself causes, even within an otherwise observed append."""
_KNOWN = frozenset(Envelope.__annotations__)
_TEXTS = ("actor", "key", "correlation_id", "causation_id")
TRIES_MAX = 1000
"""The maximum number of attempts at an action that encounters version conflicts."""


def handle(
    service: Service,
    repository: Repository[State],
    name: str,
    decide: Command | Callable[[State, str], list[Event]],
    middlewares: Middlewares[State],
    envelope: Envelope,
) -> Handled[State]:
    """Handle a command or a decision function, and append the resulting events."""
    if not _KNOWN.issuperset(envelope):
        # An unknown field, such as a misspelt actor or key, would be lost.
        raise TypeError(f"unknown: {', '.join(sorted(envelope.keys() - _KNOWN))}")
    if not name:
        raise InvalidInputError("missing sprint", field="sprint_id")
    at, expect = envelope.get("at"), envelope.get("expect")
    digest = envelope.get("key_digest")
    check_actor(envelope.get("actor", UNNAMED[0]))
    moment = service.now() if at is None else normalise(at)
    stream = repository.kind.stream(name)
    if envelope.get("masks", True):
        envelope = _masked_envelope(envelope)
        decide = mask_all(decide) if isinstance(decide, Command) else decide
    for _ in range(TRIES_MAX):
        # The key is looked up after the state was read, so this finds a duplicate of this
        # action that has already changed the state.
        state = repository.current(name)
        if first := _first_answer(service.log, envelope):
            # The process that recorded it may have been killed before writing its file.
            service.behind.add(stream)
            return Handled(repository.current(name), first, duplicate=True)
        # A step that reads the same sprint advances this state, so the decision is valid
        # only if no event follows the version at which it started.
        version = state.version
        if expect is not None:
            check_expected(stream, expect=expect, actual=version)
        try:
            action = Handling(service, state, moment, envelope)
            new_events, readable = _decide(action, decide, middlewares)
        except MovedOnError as moved:
            expect = expect + moved.events if isinstance(expect, int) else expect
            continue
        if not new_events:
            return Handled(state, [])
        try:
            appended = service.log.append(
                stream,
                new_events,
                expect=version,
                key=envelope.get("key"),
                # Converted to plain bytes, because a log cannot encode a subclass.
                key_digest=digest if digest is None else bytes(digest),
            )
        except ConflictError:
            if isinstance(expect, int):
                raise
            continue
        if appended.duplicate:
            return Handled(repository.current(name), appended.events, duplicate=True)
        # The state file is written later, so that the caller is answered first.
        service.behind.add(stream)
        if not service.is_side_by_side:
            service.take_in_spooled()
        return Handled(repository.take(state, appended.events, readable), appended.events)
    raise BusyError(
        f"{repository.kind.name(name)} changed {TRIES_MAX} times while the command was "
        "being decided",
        hint="nothing was recorded; repeat the command",
    )


def _decide(
    action: Handling[State],
    decide: Command | Callable[[State, str], list[Event]],
    middlewares: Middlewares[State],
) -> tuple[list[NewEvent], list[Event]]:
    """Return the events to append, and the same events as readers will decode them.

    Unreadable events are rejected.
    """
    try:
        for check in middlewares.before:
            check(action)
        if isinstance(decide, Command):
            command = in_context(action.service, action.state, decide, action.envelope)
            events = decided(command, action.state, action.at)
        else:
            events = decide(action.state, action.at)
        for types, complete in middlewares.after:
            if types is None or not types.isdisjoint(map(type, events)):
                events = complete(action, events)
        new_events = _new_events(events, action.at, action.envelope)
        return new_events, [CODEC.as_read(new) for new in new_events]
    except NOT_THE_TYPE:
        if isinstance(decide, Command):
            check_types(decide)
        raise


def in_context(
    service: Service, state: Any, command: CommandT, envelope: Envelope | None = None
) -> CommandT:
    """Return a command with the facts that it requires from outside its stream."""
    if not command.needs_context:
        return command
    # Imported here: few commands require it.
    from .command_context import completed

    return completed(service, state, command, envelope or {})


def _masked_envelope(envelope: Envelope) -> Envelope:
    """Return the envelope with secrets masked, including any in the idempotency key."""
    texts = {name: envelope.get(name) for name in _TEXTS}
    said = {name: mask(text) for name, text in texts.items() if isinstance(text, str)}
    return {**envelope, **said}  # type: ignore[typeddict-item]


def _first_answer(log: Log, envelope: Envelope) -> list[RecordedEvent]:
    """Return the events that were recorded earlier under the same key."""
    if (key := envelope.get("key")) is None:
        return []
    if not key.isprintable():
        # Imported here: keys are rarely refused.
        from ..readable import check_utf8

        check_utf8(key, "key")
    first, digest = log.find_key(key), envelope.get("key_digest")
    if first and first[0].key_digest not in chain([digest], getattr(digest, "older", ())):
        check_key(first[0], digest)
    return first


def _new_events(events: list[Event], moment: str, envelope: Envelope) -> list[NewEvent]:
    observed = envelope.get("observed", False)
    return [
        new_event(
            event,
            at=moment,
            actor=envelope.get("actor", UNNAMED[0]),
            observed=observed and not isinstance(event, _OUR_OWN),
            masks=envelope.get("masks", True),
            correlation_id=envelope.get("correlation_id"),
            causation_id=envelope.get("causation_id"),
        )
        for event in events
    ]


def refresh(service: Service, stream: str) -> Refreshed:
    """Update a stream's state files; record third-party edits and store the edited files.

    If the sprint's rules require it, edits are adopted at once. On exit, an interrupted
    update is repeated, but an update whose file could not be written is not.
    """
    try:
        if (sprint_id := sprint_of(stream)) is None:
            refreshed = service.state_files.of_journal().refresh(service.journal())
        else:
            sprint, file = service.sprint(sprint_id), service.state_files.of_sprint()
            policy = edit_policy(sprint)
            if policy == REFUSE and (found := file.check(sprint)).state == "edited":
                # Only `rebuild` replaces such an edit; until then, results may be recorded.
                refreshed = found
            else:
                refreshed = file.refresh(sprint)
                if refreshed.kept and policy == ADOPT:
                    refreshed = _adopted(service, sprint_id, refreshed)
                sprint = service.sprint(sprint_id) if refreshed.kept else sprint
                tracker = sprint.knowledge.tracker
                if tracker.baseline is not None or tracker.ledger:
                    refreshed = service.state_files.refresh_loop(sprint, refreshed)
    except SprintlogError:
        service.behind.discard(stream)
        raise
    service.behind.discard(stream)
    return refreshed


def _adopted(service: Service, sprint_id: str, refreshed: Refreshed) -> Refreshed:
    """Adopt an edit as events, and write the file again."""
    # Imported here: required only if a file was edited.
    from .adopt import adopt_latest

    said = adopt_latest(service, sprint_id)
    again = service.state_files.of_sprint().refresh(service.sprint(sprint_id))
    problem = f"{refreshed.problem}; {said}"
    return msgspec.structs.replace(again, kept=refreshed.kept, problem=problem)


def catch_up(service: Service, *, is_failing: bool) -> Iterator[str]:
    """Update the state files that do not contain all events of their streams yet.

    Yield the problems. With `is_failing`, errors are also yielded instead of raised,
    because the error that is already being raised is more important.
    """
    for stream in sorted(service.behind):
        try:
            sentence = refresh(service, stream).problem
        except SprintlogError as problem:
            if not is_failing:
                raise
            sentence = problem.message
        if sentence:
            yield sentence
