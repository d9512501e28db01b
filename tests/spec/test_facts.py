"""What every fact declares about itself."""

from collections.abc import Iterator

import pytest

from sprintlog.engine.journal.events import JOURNAL_FACTS
from sprintlog.engine.log.fact import EVERYTHING, HERE, Fact, Kind, Reach
from sprintlog.engine.sprint.events import FACTS
from sprintlog.engine.sprint.fold import EVOLVE

ALL = (*FACTS, *JOURNAL_FACTS)
each = pytest.mark.parametrize("fact", ALL, ids=lambda fact: str(fact.type))
DECLARED = [name for name in Fact.__annotations__ if name != "type"]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: str(fact.type))
def test_kind_says_what_a_rollback_does(fact: type[Fact]) -> None:
    """Execution facts, and no others, change the Plan, which a rollback takes back."""
    assert (fact in EVOLVE) == (fact.kind is Kind.EXECUTION), (
        f"{fact.__name__}: an execution fact needs a line in the EVOLVE of its topic, "
        "another one declares `kind: ClassVar[Kind] = Kind.KNOWLEDGE`"
    )


def test_tags_are_never_used_twice() -> None:
    """Each fact has a wire tag of its own."""
    assert len({fact.type for fact in ALL}) == len(ALL)


def test_every_fact_is_listed() -> None:
    """A class with a wire tag is in the list that the log's codec is made of."""
    missing = {f"{fact.__module__}.{fact.__name__}" for fact in defined(Fact)} - {
        f"{fact.__module__}.{fact.__name__}" for fact in ALL
    }
    assert not missing, f"add {missing} to the FACTS of their package"


def defined(above: type[Fact]) -> Iterator[type[Fact]]:
    """Yield every class of the engine with a wire tag."""
    for fact in above.__subclasses__():
        if "type" in vars(fact) and fact.__module__.startswith("sprintlog.engine."):
            yield fact
        yield from defined(fact)


@each
@pytest.mark.parametrize("name", ["subject", "reach"])
def test_every_fact_declares_what_is_known_of_it(fact: type[Fact], name: str) -> None:
    """No fact leaves open what it is about, nor how far it reaches: there is no default."""
    kind = name.capitalize()
    assert hasattr(fact, name), (
        f"{fact.__name__} declares no {name}: add `{name}: ClassVar[{kind}] = ...` to it, "
        f"see {kind} in {Fact.__module__}"
    )


@each
def test_every_fact_says_what_happened(fact: type[Fact]) -> None:
    """A fact has a sentence of its own, which the reference prints."""
    said = vars(fact).get("__doc__") or ""
    assert said.strip().endswith("."), f"{fact.__name__} has no docstring of its own"


@each
def test_subjects_name_fields_of_their_fact(fact: type[Fact]) -> None:
    """What names a fact's subject, and its address, are fields that the fact has."""
    subject = fact.subject
    fields = {name.partition(".")[0] for name in (*subject.names, subject.address)} - {""}
    assert subject.word
    assert fields <= set(fact.__struct_fields__)


@each
def test_what_reaches_a_node_says_which(fact: type[Fact]) -> None:
    """A fact that changes one node names it."""
    if fact.reach is Reach.NODE:
        assert fact.subject.address or fact.subject.names


@each
def test_evidence_names_fields_of_its_fact(fact: type[Fact]) -> None:
    """What a fact tells a later decision is in its fields."""
    assert {*(fact.as_evidence or ())} <= set(fact.__struct_fields__)


@each
def test_what_a_fact_ends_can_begin(fact: type[Fact]) -> None:
    """What a fact ends is evidence that another one gives, or all of it."""
    given = {other.type for other in ALL if other.as_evidence is not None}
    assert {*fact.ends} <= {*given, HERE, EVERYTHING}


@each
def test_no_field_hides_a_declaration(fact: type[Fact]) -> None:
    """No field has the name of something that facts declare."""
    assert not {*DECLARED, "type"} & {*fact.__struct_fields__}
