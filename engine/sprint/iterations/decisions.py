"""Decisions about measured iterations: advice, selection, rules, and corrections."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ...command import Command, Events
from ...errors import NotFoundError, RefusedError
from ...judging import events as f
from ...judging.loop_rules import CONTINUE, PERSON, LoopChange
from ...judging.tracker import BASELINE_NUMBER
from ...log.event import Event
from ..state.sprint import Sprint
from ..state.transitions import check_exists
from .budgets import ChangeBudgets
from .follow_up import is_answered, loop_rules


class GiveRecommendation(Command, frozen=True):
    """Record a recommendation, unless it repeats the previous recommendation."""

    needs_context = True

    given: f.RecommendationGiven | None = None
    """The recommendation; set by the command's handler."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        given, tracker = self.given, sprint.knowledge.tracker
        last = tracker.recommended
        if given is None or last is None:
            return [] if given is None else [given]
        # A loop that asks by rule requires an event that answers its latest question.
        is_in_force = is_answered(tracker) or loop_rules(sprint).measure is None
        # A person's decision applies until there is new information.
        is_a_persons = last.cause == PERSON and last.number == given.number
        return [] if is_in_force and (given == last or is_a_persons) else [given]


class GoOn(Command, frozen=True):
    """Record a person's decision to continue despite the last judgement."""

    reason: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        if (last := sprint.knowledge.tracker.recommended) is None:
            raise RefusedError(
                f"sprint {sprint.id} has no decision yet: it continues",
                hint="run `sprintlog next` to see the next action",
                command="decide",
            )
        why = self.reason or "a person decided to go on"
        event = f.RecommendationGiven(last.number, CONTINUE, why, 1.0, cause=PERSON)
        return [] if last == event else [event]


class SelectBest(Command, frozen=True):
    """Record which iteration's output is the result of the loop.

    If `number` is given, a person chose that iteration, regardless of the scores.
    """

    needs_context = True

    number: int | None = None
    reason: str | None = None
    """The reason for the selection."""
    selected: f.BestSelected | None = None
    """The selection; set by the command's handler."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        chosen = self.selected
        return [] if chosen in (None, sprint.knowledge.tracker.selected) else [chosen]


class SetRules(Command, frozen=True):
    """Set the weights, limits and policies for all later measurements.

    Rules are events so that a log gives the same result under any configuration (ITR-040).
    """

    rules: f.RulesSet

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        # Imported here: most recording commands do not require exact numbers.
        from ...judging.rules import check_rules

        check_exists(sprint)
        check_rules(self.rules, has_goal=sprint.plan.is_ralph)
        if self.rules == sprint.knowledge.tracker.rules_at(sprint.version):
            return []
        return [self.rules]


class ChangeRules(Command, frozen=True):
    """Change some weights, limits, policies and metrics; the other settings are kept.

    The values of `metrics` are properties of `OwnMetric`, or None to remove the metric.
    """

    weights: dict[str, float] = msgspec.field(default_factory=dict)
    thresholds: dict[str, float | None] = msgspec.field(default_factory=dict)
    verification_required: bool | None = None
    progress_edits: str | None = None
    metrics: dict[str, dict[str, Any] | None] = msgspec.field(default_factory=dict)
    loop: LoopChange | None = None
    budgets: dict[str, float | None] = msgspec.field(default_factory=dict)
    """The sprint's total budgets, by `Budgets` field name."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        # Imported here: most recording commands do not require exact numbers.
        from ...judging import rules

        now = sprint.knowledge.tracker.rules_at(sprint.version)
        named = {name: getattr(self, name) for name in self.__struct_fields__}
        budgets = ChangeBudgets(named.pop("budgets")).decide(sprint, at)
        return [*SetRules(rules.change_rules(now, **named)).decide(sprint, at), *budgets]


def _sets(event: f.RulesSet) -> SetRules:
    return SetRules(event)


class ApplyArtifacts(Command, frozen=True):
    """Record which of the selected iteration's files were copied, and where to."""

    source: str
    destination: str
    files_copied: Sequence[str] = ()

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        tracker = sprint.knowledge.tracker
        if tracker.selected is None:
            raise RefusedError(
                f"nothing can be applied: no iteration of sprint {sprint.id} was selected",
                hint="use `sprintlog iteration select` to select one",
                command="apply",
            )
        event = f.ArtifactsApplied(self.source, self.destination, tuple(self.files_copied))
        return [] if tracker.applied[-1:] == [event] else [event]


REASON_CHARS_MAX = 1000


class RetractMeasurement(Command, frozen=True):
    """Retract the measurement of an iteration, so that it no longer affects judgements.

    The iteration may be measured again. Earlier recommendations are not changed.
    """

    needs_context = True

    number: int
    reason: str
    retracted: f.MeasurementRetracted | None = None
    """The effects on other iterations; set by the command's handler."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_retraction(sprint, self.number, self.reason)
        return [self.retracted or f.MeasurementRetracted(self.number, self.reason)]


def check_retraction(sprint: Sprint, number: int, reason: str) -> None:
    """Raise an error unless an iteration's measurement can be retracted."""
    check_exists(sprint)
    _check_reason(reason)
    tracker = sprint.knowledge.tracker
    if number == BASELINE_NUMBER:
        if tracker.baseline is None:
            raise NotFoundError("no baseline was measured", iteration=number)
        if tracker.highest or tracker.baselines:
            raise RefusedError(
                "the baseline cannot be retracted: other iterations were compared with it",
                hint="use `sprintlog iteration baseline --from N` to choose another "
                "baseline",
                iteration=number,
                command="retract",
            )
        return
    if tracker.entry(number) is None:
        raise _unmeasured(f"cannot retract iteration {number}", number)
    if tracker.baseline_number == number:
        raise RefusedError(
            f"iteration {number} cannot be retracted: it is the baseline",
            hint="use `sprintlog iteration baseline --from N` to choose another baseline "
            "first",
            iteration=number,
            command="retract",
        )


class AcceptInstruments(Command, frozen=True):
    """Accept an iteration's tests and measure: later iterations are compared with them."""

    needs_context = True

    number: int
    reason: str
    accepted: f.InstrumentsAccepted | None = None
    """The effects on the iterations; set by the command's handler."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        _check_reason(self.reason)
        tracker, given = sprint.knowledge.tracker, self.accepted
        entry, accepted = tracker.entry(self.number), tracker.accepted
        if entry is None or given is None:
            raise _unmeasured(f"cannot accept iteration {self.number}", self.number)
        if sprint.knowledge.instruments_at(entry.version) is None:
            raise RefusedError(
                f"cannot accept iteration {self.number}: its tests were not saved",
                hint="measure an iteration with this version of sprintlog first",
                iteration=self.number,
                command="accept",
            )
        return [] if accepted and accepted.measured_at == entry.version else [given]


class ReplaceBaseline(Command, frozen=True):
    """Compare later measurements with another iteration; 0 is the original baseline."""

    needs_context = True

    number: int
    reason: str | None = None
    metrics: f.Metrics | None = None
    """The iteration's metrics; set by the command's handler."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        if self.reason is not None:
            _check_reason(self.reason)
        tracker, number = sprint.knowledge.tracker, self.number
        is_there = (
            tracker.baseline is not None
            if number == BASELINE_NUMBER
            else tracker.entry(number) is not None
        )
        if not is_there or self.metrics is None:
            raise _unmeasured(f"iteration {number} cannot be the baseline", number)
        is_in_force = tracker.baseline_number == number
        if is_in_force and tracker.baseline_at(sprint.version) == self.metrics:
            return []
        return [f.BaselineReplaced(number, self.metrics, self.reason)]


def _unmeasured(problem: str, number: int) -> NotFoundError:
    hint = "run `sprintlog list` to see the measured iterations"
    return NotFoundError(f"{problem}: it has no measurement", hint=hint, iteration=number)


def _check_reason(reason: str) -> None:
    if not 0 < len(reason.strip()) <= REASON_CHARS_MAX:
        raise RefusedError(
            f"a reason must have 1 to {REASON_CHARS_MAX} characters, not {len(reason)}",
            field="reason",
        )


CAUSED: Events = {f.RulesSet: _sets, f.ArtifactsApplied: ApplyArtifacts}
