"""The declarations of every event."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest

from sprintlog.engine.journal.events import JOURNAL_EVENTS
from sprintlog.engine.journal.rules import CAUSED
from sprintlog.engine.log.erasures import ERASURE_EVENTS
from sprintlog.engine.log.event import EVERYTHING, HERE, Event, ExtensionEvent, Kind, Reach
from sprintlog.engine.races import RACE_EVENTS
from sprintlog.engine.sessions.events import SESSION_EVENTS
from sprintlog.engine.sprint.commands import caused
from sprintlog.engine.sprint.events import EVENTS
from sprintlog.engine.sprint.fold import HANDLERS, TOPICS

ALL = (*EVENTS, *JOURNAL_EVENTS, *SESSION_EVENTS, *ERASURE_EVENTS, *RACE_EVENTS)
each = pytest.mark.parametrize("event", ALL, ids=lambda event: str(event.type))
DECLARED = [name for name in Event.__annotations__ if name != "type"]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: str(event.type))
def test_kind_says_what_a_rollback_does(event: type[Event]) -> None:
    """Execution events, and no others, change the plan, which a rollback discards."""
    _, _, evolve = HANDLERS[event]
    assert (evolve is not None) == (event.kind is Kind.EXECUTION), (
        f"{event.__name__}: an execution event needs a line in the EVOLVE of its topic, "
        "another one declares `kind: ClassVar[Kind] = Kind.KNOWLEDGE`"
    )


def test_every_topic_is_asked_for_its_events() -> None:
    """Every handler of an event is reached, and none twice."""
    package = "sprintlog.engine.sprint"
    for topic in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        module = import_module(topic.name)
        for table, place in (("CHANGE", 0), ("LEARN", 1), ("EVOLVE", 2)):
            for event, handler in getattr(module, table, {}).items():
                assert event.__module__ in TOPICS
                assert HANDLERS[event][place] is handler, f"{topic.name}: {event}"


def test_tags_are_never_used_twice() -> None:
    """Each event has a distinct wire tag."""
    assert len({event.type for event in ALL}) == len(ALL)


def test_every_event_is_listed() -> None:
    """A class with a wire tag is in the list of the log's codec.

    An extension's event is not: each has the tag of its type.
    """
    listed: set[type[Event]] = {*ALL, ExtensionEvent}
    missing = {f"{event.__module__}.{event.__name__}" for event in defined(Event)} - {
        f"{event.__module__}.{event.__name__}" for event in listed
    }
    assert not missing, f"add {missing} to the EVENTS of their package"


def defined(above: type[Event]) -> Iterator[type[Event]]:
    """Yield every class of the engine whose events can be recorded."""
    for event in above.__subclasses__():
        yield from defined(event)
        if not event.__subclasses__() and event.__module__.startswith("sprintlog.engine."):
            yield event


@each
@pytest.mark.parametrize("name", ["subject", "reach"])
def test_every_event_declares_what_is_known_of_it(event: type[Event], name: str) -> None:
    """Every event declares its subject and its reach."""
    kind = name.capitalize()
    assert hasattr(event, name), (
        f"{event.__name__} declares no {name}: add `{name}: ClassVar[{kind}] = ...` to it, "
        f"see {kind} in {Event.__module__}"
    )


@each
def test_every_event_says_what_happened(event: type[Event]) -> None:
    """An event has a distinct sentence, which the reference prints."""
    said = vars(event).get("__doc__") or ""
    assert said.strip().endswith("."), f"{event.__name__} has no docstring"


@each
def test_every_event_has_a_cause(event: type[Event]) -> None:
    """Each event is recorded by a command, or names another cause."""
    has_command = event in caused() or event in CAUSED
    assert has_command or event.only_caused, (
        f"{event.__name__}: the CAUSED of its topic names the command that records it, or "
        "the event declares what else does: `only_caused: ClassVar[str] = ...`"
    )


@each
def test_subjects_name_fields_of_their_event(event: type[Event]) -> None:
    """An event's subject and address are names of its fields."""
    subject = event.subject
    fields = {name.partition(".")[0] for name in (*subject.names, subject.address)} - {""}
    assert subject.word
    assert fields <= set(event.__struct_fields__)


@each
def test_what_reaches_a_node_says_which(event: type[Event]) -> None:
    """An event that changes one node names it."""
    if event.reach in (Reach.NODE, Reach.BRANCH):
        assert event.subject.address or event.subject.names


@each
def test_evidence_names_fields_of_its_event(event: type[Event]) -> None:
    """Data of an event for a later decision is in its fields."""
    assert {*(event.as_evidence or ())} <= set(event.__struct_fields__)


@each
def test_what_a_event_ends_can_begin(event: type[Event]) -> None:
    """An event ends evidence that another event provides, or all of it."""
    given = {other.type for other in ALL if other.as_evidence is not None}
    assert {*event.ends} <= {*given, HERE, EVERYTHING}


@each
def test_no_field_hides_a_declaration(event: type[Event]) -> None:
    """No field has the name of something that events declare."""
    assert not {*DECLARED, "type"} & {*event.__struct_fields__}
