"""Which events are decisions, with their evidence and their consequences."""

from typing import Any

import msgspec
import pytest

from sprintlog.engine.judging.events import (
    BestSelected,
    IterationMeasured,
    MeasurementFailed,
    Metrics,
    RecommendationGiven,
)
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import IN_FORCE, Event
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.effective_history import (
    discarded_by,
    effective_ranges,
    stretches_only_in,
)
from sprintlog.projections.history.decisions import KINDS, LOSS, Decision, decisions

AT = "2026-01-15T09:00:00Z"


def recorded(version: int, type_: str, data: Any, actor: str = "runtime") -> RecordedEvent:
    """Return an event of any type as read from a log."""
    payload = msgspec.json.encode(data)
    schema = CODEC.events[type_].schema_version if type_ in CODEC.events else 1
    return RecordedEvent(
        version, "sprint/s", version, "id", type_, schema, AT, AT, actor, "c", "c",
        None, None, 0, False, b"", payload, b"", b"",
    )  # fmt: skip


def told(*events: Event) -> list[Decision]:
    """Return the decisions among events in a row."""
    recorded_events = [
        recorded(n, event.type, event) for n, event in enumerate(events, start=1)
    ]
    rollbacks = [
        (n, event.to)
        for n, event in enumerate(events, start=1)
        if isinstance(event, f.RolledBack)
    ]
    return decisions(recorded_events, rollbacks, len(events))


def test_every_decision_has_a_kind_and_is_a_event() -> None:
    """A decision has a known kind, and names only fields of its event."""
    kinds = set()
    for event in CODEC.events.values():
        if (how := event.as_decision) is not None:
            kinds.add(how.kind)
            named = {*how.said, *how.evidence, how.judges} - {"reason", "", IN_FORCE}
            assert named <= set(event.__struct_fields__), event.type
    # A loss is part of an import, not an event type.
    assert kinds == {*KINDS} - {LOSS}


def test_what_went_wrong_is_the_evidence() -> None:
    """A person's decision is based on earlier failures there, or above."""
    failed = f.PhaseFailed("a/b", "boom", "network")
    skipped = told(failed, f.PhaseSkipped("a/b", "no use"))[0]
    assert (skipped.said, skipped.evidence) == (
        "no use",
        "version 1: phase-failed a/b by runtime: network: boom",
    )
    resumed = told(failed, f.SprintResumed("ana", "it is there again"))[0]
    assert resumed.said == "by ana, why it is there again"
    assert resumed.evidence.startswith("version 1: phase-failed a/b")
    assert told(failed, f.PhaseSkipped("c"))[0].evidence == ""


def test_a_gate_that_passed_ends_the_trouble() -> None:
    """After a gate passed, its failures are no longer evidence."""
    wrong, right = (f.GateChecked("a", n + 1, code) for n, code in enumerate((2, 0)))
    first, second, paused = told(wrong, right, f.SprintResumed("ana"))
    assert (first.said, second.said) == ("failed with exit code 2", "passed")
    assert first.evidence == "attempt 1, exit code 2"
    assert paused.evidence == ""
    late = f.GateChecked("a", 1, 137, timed_out=True, elsewhere=True)
    assert told(late)[0].said == "timed out, handed in from elsewhere"


@pytest.mark.parametrize(
    "overcome",
    [
        [f.PhaseRetried("a/b"), f.PhaseStarted("a/b"), f.PhaseCompleted("a/b")],
        [f.PhaseStarted("a/b"), f.PhaseCompleted("a/b")],
        [f.PhaseSkipped("a/b")],
        [f.PhaseSkipped("a")],
    ],
)
def test_what_was_overcome_is_no_evidence(overcome: list[Event]) -> None:
    """A failure that work or a person ended does not affect a later decision."""
    failed = f.PhaseFailed("a/b", "boom", "network")
    back = told(f.SprintStarted(), failed, *overcome, f.RolledBack(1))[-1]
    assert (back.kind, back.evidence) == ("rollback", "")
    still = told(f.SprintStarted(), failed, f.PhaseCompleted("c"), f.RolledBack(1))[-1]
    assert still.evidence == "version 2: phase-failed a/b by runtime: network: boom"


def test_what_a_person_went_on_from_is_no_evidence() -> None:
    """Once the sprint continues, the cause of its stop is no longer evidence."""
    for stop in (f.HumanNeeded("a", "?"), f.SprintBlocked("x"), f.GateBlocked("a", "no")):
        resumed, back = told(stop, f.SprintResumed("ana", "repaired"), f.RolledBack(1))[-2:]
        assert resumed.evidence.startswith("version 1: ")
        assert back.evidence == ""


def test_a_rollback_takes_troubles_back_and_brings_them_again() -> None:
    """Problems are those on the path."""
    failed = f.PhaseFailed("a", "boom", "logic")
    events: list[Event] = [
        f.SprintStarted(),
        failed,
        f.RolledBack(1),
        f.PhaseBlocked("c", "x"),
    ]
    assert told(*events, f.SprintResumed("ana"))[-1].evidence.startswith("version 4")
    assert told(*events[:3], f.SprintResumed("ana"))[-1].evidence == ""
    again = [f.SprintStarted(), failed, f.PhaseRetried("a"), f.RolledBack(2)]
    assert told(*again, f.SprintResumed("ana"))[-1].evidence.startswith("version 2")


def test_a_rollback_stands_on_the_judgement_in_force() -> None:
    """Measured iterations, their alerts and the advice are the evidence."""
    good, bad = Metrics(10, 10), Metrics(9, 9)
    events: list[Event] = [
        f.IterationStarted(1),
        IterationMeasured(1, good),
        f.IterationStarted(2),
        IterationMeasured(2, bad, 1),
        RecommendationGiven(2, "rollback", "Rollback to iteration 1", 0.9, 1),
        f.RolledBack(2),
    ]
    advice, back = told(*events)
    judged = (
        "iteration 2: regression, quality 1.00 with 45% unknown; CRITICAL test_deletion: "
        "Test count decreased from 10 to 9; HIGH functionality_loss: "
        "Passing tests decreased from 10 to 9"
    )
    assert advice.evidence == f"confidence 0.9; {judged}"
    assert back.evidence == (
        f"{judged}; version 5: recommendation-given by runtime: "
        "rollback: Rollback to iteration 1"
    )
    more = told(*events, f.IterationStarted(3), f.RolledBack(1))[-1]
    assert more.evidence == (
        "iteration 1: nothing before it, quality 1.00 with 45% unknown"
    )
    selected = told(*events[:4], BestSelected(1, 2, is_verified=True))[-1]
    assert selected.evidence.startswith("iteration 1: nothing before it, quality 1.00")
    undo = told(*events, f.RolledBack(5, undoes=6))[-1]
    assert undo.evidence == "version 6: rolled-back by runtime"


def test_a_measurement_that_failed_is_evidence_until_there_is_one() -> None:
    """Advice to ask is based on the reason of the missing measurement."""
    asked = RecommendationGiven(1, "escalate", "Escalate", 0.2)
    failed: list[Event] = [f.IterationStarted(1), MeasurementFailed(1, "no report"), asked]
    why = "version 2: measurement-failed by runtime: no report"
    assert told(*failed)[0].evidence == f"confidence 0.2; {why}"
    assert told(*failed, f.RolledBack(1))[-1].evidence.startswith(why)
    found = told(*failed, IterationMeasured(1, Metrics(1, 1)), f.RolledBack(1))[-1]
    assert found.evidence.startswith("iteration 1: ")
    later = [f.IterationStarted(2), IterationMeasured(2, Metrics(1, 1)), f.RolledBack(1)]
    assert told(*failed, *later)[-1].evidence.startswith("iteration 2: ")


def test_what_follows_is_about_the_same() -> None:
    """The consequence is the next event there or below, without heartbeats and notes."""
    skip = f.PhaseSkipped("a/b")
    quiet = [f.ActivitySeen(), f.NoteAdded("x", "a/b"), f.PhaseStarted("c")]
    assert told(skip, *quiet)[0].followed == ""
    followed = told(skip, *quiet, f.PhaseReopened("a/b"))[0].followed
    assert followed == "version 5: phase-reopened a/b by runtime"
    gate = told(f.GateChecked("a", 1, 1), f.PhaseStarted("a/b/c"))[0]
    assert gate.followed == "version 2: phase-started a/b/c by runtime"


def test_whatever_comes_follows_a_stop() -> None:
    """If the sprint waits, the next event of any kind is the consequence."""
    stopped = told(f.HumanNeeded("a", "which way?"), f.SprintResumed("ana", "left"))[0]
    assert stopped.followed == "version 2: sprint-resumed by runtime"


def test_a_review_is_told_from_a_pause() -> None:
    """Going on after a breakpoint is its review, going on after a pause is not."""
    kinds = [d.kind for d in told(f.BreakpointReached("a"), f.SprintResumed())]
    assert kinds == ["breakpoint", "breakpoint"]
    assert [d.kind for d in told(f.SprintPaused(), f.SprintResumed())] == ["human"] * 2


def test_rollbacks_say_what_they_took_and_brought_back() -> None:
    """A discarded decision has the version of its rollback, and a rollback its versions."""
    events: list[Event] = [f.SprintStarted(), f.PhaseSkipped("a"), f.RolledBack(1, "no")]
    skip, back = told(*events)
    assert (skip.in_force, skip.followed) == (False, "discarded at version 3")
    assert (back.in_force, back.followed) == (True, "no longer in force: 2")
    skip, back, undo = told(*events, f.RolledBack(2, undoes=3))
    assert (skip.in_force, skip.followed) == (True, "")
    assert undo.followed == "no longer in force: 3; in force again: 2"


def test_knowledge_stays_in_force() -> None:
    """An observed edit stays effective despite rollbacks."""
    edit = f.EditObserved("PROGRESS.yaml", "00", "kept", 1)
    found = told(f.SprintStarted(), edit, f.RolledBack(1))
    assert [d.in_force for d in found] == [True, True]
    assert found[0].evidence == "the file of version 1"


def test_injections_name_what_came() -> None:
    """Nodes and files are listed by id and path, and the rest is omitted."""
    came = f.PhaseInjected(
        [{"id": "x", "prompt": "p"}, {"id": "y"}],
        f.InjectionPosition("after", "a"),
        into="",
        after="a",
        sources=(f.Source("w.yaml"),),
    )
    (decision,) = told(came)
    assert (decision.said, decision.evidence) == ("nodes x, y, after a", "sources w.yaml")


def test_erased_decisions_are_there() -> None:
    """A decision whose payload was erased is still listed, without text."""
    event = msgspec.structs.replace(
        recorded(1, "phase-skipped", {}), payload=None, salt=None
    )
    (decision,) = decisions([event], [], 1)
    assert (decision.kind, decision.said) == ("skip", "")


@pytest.mark.parametrize(
    ("rollbacks", "version", "by"),
    [
        ([], 5, None),
        ([(6, 3)], 5, 6),
        ([(6, 3)], 3, None),
        ([(6, 3), (7, 5)], 5, None),
        ([(6, 3), (7, 5), (8, 2)], 5, 8),
        ([(6, 3), (8, 2)], 5, 6),
    ],
)
def test_the_rollback_that_took_a_version(
    rollbacks: list[tuple[int, int]], version: int, by: int | None
) -> None:
    """The last rollback that discarded a version, if any."""
    assert discarded_by([version], rollbacks).get(version) == by


def test_paths_are_compared() -> None:
    """The ranges of events on one path and not on another are compared."""
    one, two = effective_ranges([(6, 3)], 8), effective_ranges([(6, 3), (9, 5)], 10)
    assert stretches_only_in(one, two) == [(6, 8)]
    assert stretches_only_in(two, one) == [(4, 5), (9, 10)]
    assert stretches_only_in(one, one) == []
