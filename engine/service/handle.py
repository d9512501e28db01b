"""How one command is handled: load, middlewares, decide, append, after commit.

That is done again from the beginning where somebody else appended first.
"""

from collections.abc import Callable

from ..actor import UNNAMED, check_actor
from ..command import Command, decided
from ..errors import BusyError, ConflictError
from ..log.append import check_expected, check_key
from ..log.envelope import NewEvent, RecordedEvent
from ..log.event import Event
from ..log.port import Log
from ..masking import mask
from ..sprint.events import RequestReturned, SprintImported
from ..sprint.state.times import normalise
from .completion import completed
from .middlewares import Handling, Middlewares
from .port import Envelope, Handled, MovedOnError, Service
from .streams.catalogue import State, masked, new_event
from .streams.repository import Repository

_OUR_OWN = RequestReturned, SprintImported
"""What is done here, also where what comes with it was only observed."""
_KNOWN = frozenset(Envelope.__annotations__)
_TEXTS = ("actor", "key", "correlation_id", "causation_id")
TRIES_MAX = 1000
"""How often an action is decided anew because somebody else was first."""


def handle(
    service: Service,
    repository: Repository[State],
    name: str,
    decide: Command | Callable[[State, str], list[Event]],
    middlewares: Middlewares[State],
    envelope: Envelope,
) -> Handled[State]:
    """Decide on a state as it is now, and append what follows from that."""
    if not _KNOWN.issuperset(envelope):
        # What nobody reads would be lost, and with it who did it or that it counts once.
        raise TypeError(f"unknown: {', '.join(sorted(envelope.keys() - _KNOWN))}")
    at, expect = envelope.get("at"), envelope.get("expect")
    check_actor(envelope.get("actor", UNNAMED[0]))
    moment = service.now() if at is None else normalise(at)
    stream = repository.kind.stream(name)
    if envelope.get("masks", True):
        envelope = _masked_envelope(envelope)
        decide = masked(decide) if isinstance(decide, Command) else decide
    for _ in range(TRIES_MAX):
        if first := _first_answer(service.log, envelope):
            return Handled(repository.current(name), first, duplicate=True)
        state = repository.current(name)
        if expect is not None:
            check_expected(stream, expect=expect, actual=state.version)
        action = Handling(service, state, moment, envelope)
        try:
            for check in middlewares.before:
                check(action)
            command = decide
            if isinstance(decide, Command):
                command = completed(service, state, decide)
            events = decided(command, state, moment)
            for complete in middlewares.after:
                events = complete(action, events)
        except MovedOnError as moved:
            expect = expect + moved.events if isinstance(expect, int) else expect
            continue
        if not events:
            return Handled(state, [])
        try:
            appended = service.log.append(
                stream,
                _drafts(events, moment, envelope),
                expect=state.version,
                key=envelope.get("key"),
                key_digest=envelope.get("key_digest"),
            )
        except ConflictError:
            if isinstance(expect, int):
                raise
            continue
        if appended.duplicate:
            return Handled(repository.current(name), appended.events, duplicate=True)
        # The state file waits: whoever recorded answers first.
        service.behind.add(stream)
        if not service.is_side_by_side:
            service.spooled.take_in(service.environment)
        return Handled(repository.take(state, appended.events), appended.events)
    raise BusyError(
        f"{repository.kind.name(name)} changed {TRIES_MAX} times while this was decided",
        hint="nothing was recorded; repeat the command",
    )


def _masked_envelope(envelope: Envelope) -> Envelope:
    """Return what is said about the events without secrets, a key as it will be found."""
    texts = {name: envelope.get(name) for name in _TEXTS}
    said = {name: mask(text) for name, text in texts.items() if isinstance(text, str)}
    return {**envelope, **said}  # type: ignore[typeddict-item]


def _first_answer(log: Log, envelope: Envelope) -> list[RecordedEvent]:
    """Return what was recorded under the same key before."""
    key = envelope.get("key")
    first = log.find_key(key) if key is not None else []
    if first:
        check_key(first[0], envelope.get("key_digest"))
    return first


def _drafts(events: list[Event], moment: str, envelope: Envelope) -> list[NewEvent]:
    observed = envelope.get("observed", False)
    return [
        new_event(
            event,
            at=moment,
            actor=envelope.get("actor", UNNAMED[0]),
            observed=observed and not isinstance(event, _OUR_OWN),
            correlation_id=envelope.get("correlation_id"),
            causation_id=envelope.get("causation_id"),
        )
        for event in events
    ]
