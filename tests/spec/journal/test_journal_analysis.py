"""The input of the next iteration, learnings from an entry, and recovery."""

from fractions import Fraction
from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal.briefing import FRICTION_WARNING, Prepared, Room, prepare
from sprintlog.engine.journal.parts import Context, Learning, Pattern
from sprintlog.engine.journal.queries import NOTHING_FOUND, failure_of, recover, similarity
from sprintlog.engine.journal.rules import (
    AddExtractedLearnings,
    AddLearning,
    DiscoverPattern,
    HandOverLearnings,
    RecordEntry,
    ReferenceLearning,
    RetireLearning,
    extract,
)

from .journaled import AT, Diary, entry, learned, noticed, pattern

KEY = "The provider key is missing in the environment"


def diary_of(*entries: Any) -> Diary:
    """Return a journal of some entries."""
    diary = Diary()
    for one in entries:
        diary.do(RecordEntry(entry=one), at=AT)
    return diary


def test_prepares_the_first_iteration() -> None:
    """For a PRD without entries, there are only learnings from others."""
    prepared = prepare(diary_of(entry("other", status="failed")).document, "auth")
    assert (prepared.iteration, prepared.retry_count) == (1, 0)
    assert prepared.previous_failure_reason == ""
    assert prepared.previous_observations == prepared.warnings == []


@pytest.mark.parametrize(
    ("context", "retry_count"), [(None, 1), (Context(), 1), (Context(retry_count=2), 3)]
)
def test_prepares_after_a_failure(context: Any, retry_count: int) -> None:
    """The briefing has the last entry's summary and blockers, and its retries plus one."""
    failed = entry(
        status="partial",
        summary="stuck",
        context=context,
        observations=(noticed(title="seen"), noticed("blocker", title="no key")),
    )
    diary = diary_of(entry(), failed)
    prepared = prepare(diary.document, "auth")
    assert (prepared.iteration, prepared.retry_count) == (3, retry_count)
    assert prepared.previous_failure_reason == "stuck"
    assert prepared.previous_observations == ["no key"]
    diary.do(RecordEntry(entry=entry()), at=AT)
    assert prepare(diary.document, "auth").previous_failure_reason == ""


def test_findings_come_along_where_nothing_blocked() -> None:
    """Without a blocker the findings of the last entry are included."""
    seen = (noticed("completion", title="there"), noticed(title="seen"))
    diary = diary_of(entry(status="failed", observations=seen))
    assert prepare(diary.document, "auth").previous_observations == ["seen"]


def filled() -> Diary:
    """Return a journal with learnings of several types and patterns of any confidence."""
    diary = Diary()
    for kind, content in (
        ("error-workaround", "w" * 10),
        ("tool-usage", "t"),
        ("codebase-pattern", "c" * 30),
        ("codebase-pattern", "d" * 20),
        ("codebase-pattern", "gone"),
    ):
        diary.do(AddLearning(learning=learned(content, type=kind)), at=AT)
    diary.do(RetireLearning(learning_id="learning-0005"))
    diary.do(ReferenceLearning(learning_id="learning-0003", times=2))
    for name, sure in (("low", "low"), ("none", ""), ("high", "high")):
        diary.do(DiscoverPattern(pattern=pattern(name, confidence=sure)), at=AT)
    return diary


def test_hands_over_patterns_and_workarounds_that_hold() -> None:
    """Valid codebase-patterns, then valid error-workarounds, and all patterns."""
    prepared = prepare(filled().document, "auth")
    ids = [learning.id for learning in prepared.learnings]
    assert ids == ["learning-0003", "learning-0004", "learning-0001"]
    assert [one.name for one in prepared.patterns] == ["low", "none", "high"]
    assert prepared.left_out == 0


def characters(prepared: Prepared) -> int:
    """Return the number of characters in the prepared data, as a list of words."""
    parts: list[Learning | Pattern] = [*prepared.learnings, *prepared.patterns]
    said = [part.content if isinstance(part, Learning) else part.name for part in parts]
    said += [prepared.previous_failure_reason, *prepared.previous_observations]
    return sum(map(len, [*said, *prepared.warnings])) + 10 * len(parts) + 20


@pytest.mark.parametrize(
    ("budget", "handed"),
    [
        (20, []),
        (36, ["high"]),
        (61, ["learning-0003"]),
        (90, ["learning-0003", "learning-0001"]),
        (92, ["learning-0003", "learning-0004"]),
        (113, ["learning-0003", "learning-0004", "learning-0001"]),
        (151, ["learning-0003", "learning-0004", "learning-0001", "low", "none", "high"]),
    ],
)
def test_keeps_to_its_budget(budget: int, handed: list[str]) -> None:
    """The most used learnings come first, then the most confident patterns that fit."""
    prepared = prepare(filled().document, "auth", room=Room(budget, characters))
    found = [x.id for x in prepared.learnings] + [p.name for p in prepared.patterns]
    assert sorted(found) == sorted(handed)
    assert len(found) + prepared.left_out == 6
    assert characters(prepared) <= budget


@pytest.mark.parametrize("budget", range(21, 160, 6))
def test_says_less_of_what_was_before(budget: int) -> None:
    """Titles are dropped first, then the end of the reason, to fit the budget."""
    seen = tuple(noticed(title="t" * 9) for _ in range(5))
    failed = entry(status="failed", summary="s" * 40, observations=seen)
    diary = diary_of(failed)
    prepared = prepare(diary.document, "auth", room=Room(budget, characters))
    assert characters(prepared) <= budget
    assert prepared.previous_failure_reason.rstrip("…") == "s" * (
        40 if budget >= 60 else budget - 21
    )


def test_refuses_a_budget_for_nothing() -> None:
    """If not even the iteration fits, the error names the minimum."""
    with pytest.raises(RefusedError, match="must be at least 20 characters"):
        prepare(filled().document, "auth", room=Room(19, characters))


@pytest.mark.parametrize(("frictions", "warns"), [(3, False), (4, True)])
def test_warns_of_friction(frictions: int, warns: bool) -> None:
    """Four observations of tooling friction in failed entries warn, three do not."""
    rough = (noticed(category="tooling-friction"),) * frictions
    diary = diary_of(entry("other", status="blocked", observations=rough))
    assert prepare(diary.document, "auth").warnings == [FRICTION_WARNING] * warns


def test_counts_what_was_handed_over() -> None:
    """Each learning that is handed over is referenced, for the entry that will be."""
    diary = filled()
    ids = ("learning-0001", "learning-0005", "learning-0009")
    diary.do(HandOverLearnings(learning_ids=ids, prd_id="A b", iteration=2))
    event: Any = diary.events[-1]
    assert (event.learning_id, event.prd_id, event.entry_id) == (
        "learning-0001",
        "A b",
        "a-b-2",
    )
    assert diary.events[-2].type == "pattern-discovered"


@pytest.mark.parametrize(
    ("fields", "type_"),
    [
        ({"category": "api-issue", "action_taken": "documented"}, "api-convention"),
        ({"category": "test-failure", "action_taken": "documented"}, "test-pattern"),
        ({"category": "tooling-friction", "action_taken": "documented"}, "tool-usage"),
        ({"category": "dependency", "action_taken": "documented"}, "dependency-quirk"),
        ({"category": "architecture"}, "architecture-constraint"),
        ({"category": "architecture", "action_taken": "fixed"}, "architecture-constraint"),
        ({"category": "bug", "action_taken": "documented"}, "codebase-pattern"),
        ({"action_taken": "documented"}, "codebase-pattern"),
        ({"category": "bug", "action_taken": "fixed"}, None),
        ({}, None),
    ],
)
def test_extracts_by_rule(fields: Any, type_: str | None) -> None:
    """A documented observation, or one about the architecture, suggests a learning."""
    diary = diary_of(entry(observations=(noticed(title="short", **fields),)))
    found = extract(diary.document.entries[0])
    assert [learning.type for _, learning in found] == [type_] * (type_ is not None)


def test_extracted_learnings_are_linked_and_numbered() -> None:
    """Each learning gets an id and names its observation; repeating adds nothing."""
    seen = (
        noticed(action_taken="documented", description="long"),
        noticed(),
        noticed(category="architecture", title="short"),
    )
    diary = diary_of(entry("A b", observations=seen))
    proposals = extract(diary.document.entries[0])
    diary.do(AddExtractedLearnings(proposals=proposals), at=AT)
    first, second = diary.document.learnings
    assert (first.id, first.content) == ("learning-0001", "long")
    assert (second.id, second.content) == ("learning-0002", "short")
    assert first.context == "Discovered while working on A b"
    assert (first.source_prd_id, first.source_entry_id) == ("A b", "a-b-1")
    linked = [o.related_learning_id for o in diary.document.entries[0].observations]
    assert linked == ["learning-0001", "", "learning-0002"]
    assert extract(diary.document.entries[0]) == []


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("no key", "no key", Fraction(0)),
        ("missing key", "The KEY is missing!", Fraction(1)),
        ("key missing here", "the key is missing", Fraction(2, 3)),
        ("a b c", "a b c", Fraction(0)),
        ("", "", Fraction(0)),
        ("schlüssel fehlt", "Schlüssel_fehlt", Fraction(1)),
    ],
)
def test_measures_words_in_common(one: str, other: str, alike: Fraction) -> None:
    """The similarity of texts is the share of common words in the shorter one."""
    assert similarity(one, other) == similarity(other, one) == alike


@pytest.mark.parametrize(("failures", "action"), [(2, NOTHING_FOUND), (3, "3 times")])
def test_asks_a_person_after_three_failures(failures: int, action: str) -> None:
    """Unsuccessful entries since the last success are counted against three."""
    tried = [entry(status="failed")] * 4 + [entry()] + [entry(status="blocked")] * failures
    found = recover(diary_of(*tried).document, "auth", failure=KEY)
    assert (found.action, found.failures) == ("manual", failures)
    assert action in found.guidance


def blocked(prd: str = "mail", **fields: Any) -> Any:
    """Return an entry that was blocked by a missing key."""
    return entry(
        prd,
        status="blocked",
        observations=(noticed("blocker", title="Missing provider key", **fields),),
    )


@pytest.mark.parametrize(
    ("resolved", "guidance"),
    [
        (entry("mail", summary="asked Ada"), "asked Ada"),
        (entry("mail", summary="x", context=Context(recovery_guidance="ask Ada")),
         "ask Ada"),
        (entry("mail"), NOTHING_FOUND),
        (entry("other", summary="asked Ada"), NOTHING_FOUND),
        (entry("mail", status="partial", summary="asked Ada"), NOTHING_FOUND),
    ],
)  # fmt: skip
def test_retries_with_what_resolved_a_blocker(resolved: Any, guidance: str) -> None:
    """A similar blocker whose PRD was completed later provides the guidance."""
    found = recover(diary_of(blocked(), resolved).document, "auth", failure=KEY)
    assert found.guidance == guidance
    assert found.action == ("manual" if guidance == NOTHING_FOUND else "retry")
    if found.action == "retry":
        assert (found.entry, found.similarity) == ("mail-1", Fraction(1))


def test_a_learning_of_the_blocker_goes_before() -> None:
    """The learning named by a blocker precedes guidance and summary."""
    diary = diary_of(blocked(), entry("mail", summary="x"))
    from_it = learned("set it in .env", source_entry_id="mail-1")
    diary.do(AddLearning(learning=from_it, observation=1), at=AT)
    assert recover(diary.document, "auth", failure=KEY).guidance == "set it in .env"
    diary.do(RetireLearning(learning_id="learning-0001"))
    assert recover(diary.document, "auth", failure=KEY).guidance == "x"


def test_of_several_alike_the_later_one_counts() -> None:
    """The most similar blocker is used, and of equals the one recorded last."""
    diary = diary_of(
        blocked("a"),
        entry("a", summary="first"),
        blocked("b"),
        entry("b", summary="second"),
    )
    assert recover(diary.document, "auth", failure=KEY).guidance == "second"


def test_retries_with_a_workaround_that_fits() -> None:
    """Without a blocker a similar valid error-workaround provides the guidance."""
    diary = diary_of(entry("mail"))
    for kind in ("tool-usage", "error-workaround"):
        text = f"{kind}: provider key from the vault"
        diary.do(AddLearning(learning=learned(text, type=kind)), at=AT)
    found = recover(diary.document, "auth", failure="no provider key in vault")
    assert (found.action, found.learning) == ("retry", "learning-0002")
    diary.do(RetireLearning(learning_id="learning-0002"))
    found = recover(diary.document, "auth", failure="no provider key in vault")
    assert (found.action, found.guidance) == ("manual", NOTHING_FOUND)


def test_knows_the_failure_by_the_last_entry() -> None:
    """The failure is that of the last entry, unless that was a success."""
    diary = diary_of(blocked("auth"))
    assert failure_of(diary.document, "auth") == "\nMissing provider key"
    diary.do(RecordEntry(entry=entry()), at=AT)
    assert failure_of(diary.document, "auth") == failure_of(diary.document, "x") == ""
