"""Claims that the goal is reached, and the decision on each claim by its evidence.

The order is: claim, measure, decide. Every claim passes `claim_goal`, whichever way it
arrives, and `judge_claim` decides on it. Between two steps nothing is kept in memory, so a
killed loop continues with the claim undecided.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...command import Command
from ...judging.events import MeasuringRun, Metrics
from ...log.event import Event, Takers
from .. import events as f
from ..phases.lifecycle import check_finished
from ..state import document_fields, transitions, words
from ..state.completion import AGENT, CONDITION, PERSON, WRAPPED, listed, open_claim, urgent
from ..state.sprint import Plan, Sprint

if TYPE_CHECKING:
    from ...judging.metrics import Figures

REFUSALS_MAX = 3
"""The number of consecutive refused claims after which a person is needed."""
ACCEPTED, REFUSED, UNVERIFIED = "accepted", "refused", "unverified"
"""The findings: the evidence agrees, contradicts, or does not exist."""


class ClaimResult(NamedTuple):
    """The result of comparing a claim with its evidence."""

    finding: str
    reason: str
    evidence: tuple[int, ...] = ()
    """The versions of the events that contain the evidence."""
    digests: tuple[str, ...] = ()


def awaits_decision(sprint: Sprint) -> f.GoalClaimed | None:
    """Return the open claim if it can be decided now, or None.

    A wrapped loop belongs to another program: without evidence, its claim stays undecided.
    """
    plan = sprint.plan
    claim = open_claim(plan)
    if claim is None or not (sprint.is_running and plan.is_at_goal) or _is_at_work(plan):
        return None
    is_wrapped = claim.source == WRAPPED
    found = judge_claim(sprint, claim.iteration).finding if is_wrapped else None
    return None if found == UNVERIFIED else claim


def is_condition_met(sprint: Sprint) -> bool:
    """Return whether a loop without an explicit goal has reached its condition."""
    plan = sprint.plan
    rules = sprint.knowledge.tracker.rules_at(sprint.version).loop
    if rules.until is None or not plan.iteration or not plan.is_at_goal:
        return False
    goal, claim = str(plan.document.get("goal") or ""), plan.last.claim
    if claim is not None and claim.iteration == plan.iteration:
        # A reviewer refused this iteration.
        return False
    if plan.status != words.IN_PROGRESS or not goal.startswith(document_fields.LOOP_IN):
        return False
    is_counted = _too_early(sprint, plan.iteration, None, CONDITION) is None
    return is_counted and judge_claim(sprint, plan.iteration).finding == ACCEPTED


def claim_goal(
    sprint: Sprint, summary: str | None, source: str, besides: Sequence[Event] = ()
) -> list[Event]:
    """Return the events for a claim: the claim, and the decision if it can be made now.

    A person's claim completes the sprint at once: a person may know more than the measure.
    `besides` contains the other events of the same append. Raise `RefusedError` if the
    sprint cannot be completed.
    """
    check_finished(sprint)
    number = sprint.plan.iteration
    if source == AGENT and _is_at_work(sprint.plan):
        source = WRAPPED
    if early := _too_early(sprint, number, summary, source):
        return [early]
    steps = _open_steps(sprint, besides)
    if source == PERSON:
        found = judge_claim(sprint, number)
        done = f.GoalCompleted(number, summary, steps, source)
        return [*_accepted(number, found), done] if found.finding == ACCEPTED else [done]
    claim = f.GoalClaimed(number, summary, source)
    if source == WRAPPED or _is_due(sprint, number):
        return [claim]
    return [claim, *_decided(sprint, claim, judge_claim(sprint, number), steps)]


def judge_claim(sprint: Sprint, number: int) -> ClaimResult:
    """Return the finding about a claim that an iteration made.

    Evidence is a measurement by sprintlog during which no test changed. With a condition,
    it must meet the condition. Otherwise, no file that git tracks may change, its commands
    must succeed, and its tests, if it printed any, must all pass and not be fewer than the
    baseline's.
    """
    tracker = sprint.knowledge.tracker
    rules = tracker.rules_at(sprint.version).loop
    if (changed := tracker.changed.get(number)) is not None:
        return ClaimResult(REFUSED, changed.advice)
    if tracker.failed is not None and tracker.failed.number == number:
        why = f"iteration {number} could not be measured: {tracker.failed.error}"
        return ClaimResult(REFUSED, why, (tracker.failed_at,))
    last, runs, entry = tracker.last, tracker.last_runs, tracker.entry(number)
    is_own = entry is not None and entry.is_reported
    if last is None or last.number != number or entry is None or is_own or not runs:
        if rules.until is not None:
            why = f"nothing was measured, so {rules.until} is not met"
            return ClaimResult(REFUSED, why)
        return ClaimResult(UNVERIFIED, "nothing was measured")
    digests = tuple(run.output_sha256 for run in runs if run.output_sha256 is not None)
    if last.altered and (rules.until is None or last.altered_measure):
        named = ", ".join(last.altered[:3])
        why = f"the measurement changed {named}, so it proves nothing"
        found = UNVERIFIED if rules.until is None else REFUSED
        return ClaimResult(found, why, (entry.version,), digests)
    base = tracker.baseline_at(sprint.version)
    agrees, why = _agreement(
        last.metrics, base, runs, rules.until, is_incomplete=entry.is_incomplete
    )
    found = {True: ACCEPTED, False: REFUSED, None: UNVERIFIED}[agrees]
    return ClaimResult(found, why, (entry.version,), digests)


def _agreement(
    metrics: Metrics,
    baseline: Metrics | None,
    runs: Sequence[MeasuringRun],
    until: str | None,
    *,
    is_incomplete: bool = False,
) -> tuple[bool | None, str]:
    """Return whether a measurement agrees with a claim, and its result in words.

    The answer is unknown (None) if the measurement neither confirms nor refutes the claim,
    because it states only a score or figures other than tests. `is_incomplete` means that
    it lacks figures which the best iteration has.
    """
    # Imported here and below: most recording commands do not require exact numbers.
    from ...judging.metrics import figures, named

    if any(run.timed_out for run in runs):
        return False, "the measure timed out"
    if until is not None:
        from ...judging.conditions import parse, values_of

        unmet = parse(until).unmet(values_of(metrics, runs))
        return not unmet, "; ".join(unmet) or f"{until} is met"
    failed = next((run.exit_code for run in runs if run.exit_code), 0)
    base = None if baseline is None else figures(baseline)
    if (found := _of_tests(figures(metrics), base)) is not None:
        passes, said = found
        if failed and passes:
            return False, f"{said}, but the measure exited with {failed}"
        return passes, said
    if failed:
        return False, f"the measure exited with {failed}"
    had_tests = base is not None and _of_tests(base, None) is not None
    if had_tests or is_incomplete:
        return False, "the measure no longer states the figures that it stated before"
    stated = {name for name, value in named(metrics).items() if value is not None}
    if stated <= {"build_status"}:
        return True, "the measure exited with 0"
    return None, "the measure states no tests"


def _of_tests(now: "Figures", base: "Figures | None") -> tuple[bool, str] | None:
    """Return whether the tests agree with a claim, and their counts; None without tests."""
    count, passed = now.test_count, now.tests_passed
    if count is None and passed is None and now.tests_failed is None:
        return None
    if count is None or passed is None or now.tests_failed is None:
        return False, "the number of failed tests is not known"
    said = f"{passed} of {count} tests pass"
    before = None if base is None else base.test_count
    if before is not None and count < before:
        return False, f"{said}, and {before} tests ran before the first iteration"
    return now.tests_failed == 0 and passed > 0, said


class DecideClaim(Command, frozen=True):
    """Decide on the open claim, or on a condition that is met, by the evidence.

    With `--review`, a claim that the evidence does not refuse also requires a second
    opinion, and stays open until there is one.
    """

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_exists(sprint)
        claim, events = awaits_decision(sprint), list[Event]()
        if claim is None and not _is_at_work(sprint.plan) and is_condition_met(sprint):
            until = sprint.knowledge.tracker.rules_at(sprint.version).loop.until
            claim = f.GoalClaimed(sprint.plan.iteration, f"{until} is met", CONDITION)
            events = [claim]
        if claim is None:
            return []
        if early := _too_early(sprint, claim.iteration, claim.summary, claim.source):
            return [early]
        if (found := with_review(sprint, judge_claim(sprint, claim.iteration))) is None:
            return events
        return [*events, *_decided(sprint, claim, found, _open_steps(sprint, ()))]


class RecordReview(Command, frozen=True):
    """Record a second opinion on the open claim."""

    accepts: bool
    reason: str
    command: str
    exit_code: int | None = None
    output_sha256: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        claim = awaits_decision(sprint)
        if claim is None or sprint.plan.last.review is not None:
            return []
        how = self.command, self.exit_code, self.output_sha256
        return [f.ClaimReviewed(claim.iteration, self.accepts, self.reason, *how)]


def with_review(sprint: Sprint, found: ClaimResult) -> ClaimResult | None:
    """Return a finding with the second opinion; None if the opinion is still missing.

    A reviewer can refuse a claim, but never outranks a measurement that refuses it, and
    its agreement alone verifies nothing.
    """
    rules = sprint.knowledge.tracker.rules_at(sprint.version).loop
    if rules.review is None or found.finding == REFUSED:
        return found
    if (review := sprint.plan.last.review) is None:
        return None
    if review.accepts:
        return found._replace(reason=f"{found.reason}; the reviewer agrees")
    return found._replace(finding=REFUSED, reason=f"the reviewer refuses: {review.reason}")


def _open_steps(sprint: Sprint, besides: Sequence[Event]) -> tuple[str, ...]:
    # Imported here: `status` asks only whether a claim is open.
    from ..plan.goal_steps import open_steps

    return open_steps(sprint, besides)


def _too_early(
    sprint: Sprint, number: int, summary: str | None, source: str
) -> f.GoalClaimed | None:
    """Return the claim with the reason why no evidence could make it count yet, or None.

    Urgent requests must be decided first, including any deferred to the end of the sprint.
    """
    if number < (minimum := document_fields.min_iterations(sprint.plan.document)):
        reason = f"iteration {number} of at least {minimum}"
        return f.GoalClaimed(number, summary, source, reason)
    if waiting := urgent(sprint, put_off=True):
        reason = f"without a decision: {listed(waiting)}"
        return f.GoalClaimed(number, summary, source, reason, tuple(waiting))
    return None


def _is_at_work(plan: Plan) -> bool:
    """Return whether the agent of a wrapped iteration is still working."""
    last = plan.last.iteration
    return isinstance(last, f.IterationStarted) and last.is_wrapped


def _is_due(sprint: Sprint, number: int) -> bool:
    """Return whether a measurement by rule or a review must precede the decision."""
    tracker = sprint.knowledge.tracker
    rules = tracker.rules_at(sprint.version).loop
    is_measured = tracker.has_failed(number) or tracker.has_measured(number)
    return rules.review is not None or (rules.measure is not None and not is_measured)


def _decided(
    sprint: Sprint, claim: f.GoalClaimed, found: ClaimResult, steps: tuple[str, ...]
) -> list[Event]:
    """Return the events that follow from a finding about a claim."""
    number = claim.iteration
    done = f.GoalCompleted(number, claim.summary, steps, claim.source)
    if found.finding == UNVERIFIED:
        return [done]
    if found.finding == ACCEPTED:
        return [*_accepted(number, found), done]
    refused: list[Event] = [f.ClaimRefused(number, *found[1:])]
    if (sprint.plan.turns.refused + 1) % REFUSALS_MAX == 0:
        why = f"the goal was claimed {REFUSALS_MAX} times in a row, and each claim refused"
        refused.append(f.HumanNeeded("", why, f"the last time: {found.reason}"))
    return refused


def _accepted(number: int, found: ClaimResult) -> list[Event]:
    return [f.ClaimAccepted(number, *found[1:])]


def _evolve_claimed(plan: Plan, event: f.GoalClaimed, at: str) -> None:
    plan.turns.claimed = event.iteration
    plan.last.claim, plan.last.decided, plan.last.review = event, None, None


def _evolve_reviewed(plan: Plan, event: f.ClaimReviewed, at: str) -> None:
    plan.last.review = event


def _evolve_accepted(plan: Plan, event: f.ClaimAccepted, at: str) -> None:
    plan.last.decided, plan.turns.refused = event, 0


def _evolve_refused(plan: Plan, event: f.ClaimRefused, at: str) -> None:
    plan.last.decided = event
    plan.turns.refused += 1


EVOLVE: Takers = {
    f.GoalClaimed: _evolve_claimed,
    f.ClaimReviewed: _evolve_reviewed,
    f.ClaimAccepted: _evolve_accepted,
    f.ClaimRefused: _evolve_refused,
}
