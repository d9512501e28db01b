"""The step due after an iteration: a measurement, a decision, or a rollback.

The current rules determine whether a loop takes the step automatically. All inputs are in
the log, so a restarted loop continues with the same step.
"""

from enum import Enum
from typing import NamedTuple

from ...judging import loop_rules as advised
from ...judging.events import RecommendationGiven
from ...judging.loop_rules import STOP, LoopRules
from ...judging.tracker import BASELINE_NUMBER, Tracker
from ..state.knowledge import newest_first
from ..state.sprint import Plan, Sprint, open_iteration
from ..state.words import COMPLETED, IN_PROGRESS, PAUSED_AT_BREAKPOINT
from . import claims
from .measurement import is_unchanged, unmeasured_iteration
from .snapshots import has_snapshot

UNMEASURED_MAX = 1
"""The maximum number of consecutive unmeasured iterations; one more is a regression."""
JUDGED_IN = (IN_PROGRESS, COMPLETED, PAUSED_AT_BREAKPOINT)
"""The sprint statuses in which the last iteration must be judged first."""


_OF_GOALS = (advised.STALL, advised.CYCLING, advised.INFINITE_LOOP, advised.UNCHANGED)
"""The causes of the advice that a loop towards a goal is not making progress."""


class Do(Enum):
    """The steps that may be due after an iteration."""

    MEASURE = "measure"
    DECIDE = "decide"
    RESTORE = "restore"
    STOP = "stop"
    ASK = "ask"
    """A person is needed."""


class Due(NamedTuple):
    """The step that is due, its iteration, and the reason."""

    do: Do
    number: int
    target: int | None = None
    """The iteration to roll back to."""
    why: str | None = None
    hint: str | None = None


def loop_rules(sprint: Sprint) -> LoopRules:
    """Return the loop rules that are currently in effect."""
    return sprint.knowledge.tracker.rules_at(sprint.version).loop


def is_answered(tracker: Tracker) -> bool:
    """Return whether nothing relevant was recorded after the last recommendation."""
    newest = next(tracker.newest_first(), None)
    rules = tracker.rules[-1][0] if tracker.rules else 0
    accepted = tracker.accepted.version if tracker.accepted is not None else 0
    measured = newest.version if newest is not None else 0
    return tracker.recommended_at > max((measured, tracker.failed_at, rules, accepted))


def due(sprint: Sprint) -> Due | None:
    """Return the step that is due before any other action, or None."""
    plan, rules = sprint.plan, loop_rules(sprint)
    if plan.status not in JUDGED_IN or open_iteration(plan) is not None:
        return None
    if rules.measure is not None:
        if _lacks_baseline(sprint):
            return Due(Do.MEASURE, BASELINE_NUMBER)
        if _is_to_be_measured(sprint):
            return Due(Do.MEASURE, plan.iteration)
    if claims.awaits_decision(sprint) or claims.is_condition_met(sprint):
        return Due(Do.DECIDE, plan.iteration)
    tracker, number = sprint.knowledge.tracker, plan.iteration
    if is_unchanged(sprint):
        last = tracker.recommended
        is_new = last is None or (last.cause, last.number) != (advised.UNCHANGED, number)
        return Due(Do.DECIDE, number) if is_new else _follow(sprint, rules)
    if rules.measure is None or not number or _begun_at(sprint, number) < _since(tracker):
        return None
    if not is_answered(tracker):
        return Due(Do.DECIDE, number)
    return _follow(sprint, rules)


def to_measure(sprint: Sprint) -> int | None:
    """Return the iteration that `measure` would measure, or None.

    This is the iteration that is due, or else the last iteration if its measurement failed:
    the user may have fixed the cause of the failure.
    """
    if (found := due(sprint)) is not None and found.do is Do.MEASURE:
        return found.number
    failed, plan = sprint.knowledge.tracker.failed, sprint.plan
    is_over = plan.status in JUDGED_IN and open_iteration(plan) is None
    if not is_over or loop_rules(sprint).measure is None or failed is None:
        return None
    return failed.number if failed.number == unmeasured_iteration(sprint) else None


def note_of(sprint: Sprint) -> str | None:
    """Return a note for the next prompt about unsuccessful work, or None."""
    advice = sprint.knowledge.tracker.recommended
    if loop_rules(sprint).measure is None or advice is None:
        return None
    if advice.action not in (advised.ROLLBACK, advised.ESCALATE):
        return None
    parts = [f"# Iteration {advice.number} was no success", _reasons(advice)]
    gone = [number for _, number in sprint.knowledge.gone_back[-1:]]
    if gone == [advice.number] and sprint.plan.iteration != advice.number:
        end = f"at the end of iteration {advice.target}"
        when = end if advice.target else "before the first iteration"
        parts.append(
            f"Its work was taken back: plan and files are as they were {when}. Do the work "
            "in another way."
        )
    else:
        parts.append("Its work is still there. Repair that first.")
    return "\n\n".join(parts)


def _reasons(advice: RecommendationGiven) -> str:
    return "\n".join(f"- {reason}" for reason in advice.because or (advice.reason,))


def _follow(sprint: Sprint, rules: LoopRules) -> Due | None:
    """Return the step that follows from the current advice under the rules, or None."""
    advice = sprint.knowledge.tracker.recommended
    if advice is None or advice.number != sprint.plan.iteration:
        # The advice is about work that was discarded.
        return None
    if advice.action == advised.CONTINUE or advice.cause == advised.MAXIMUM:
        # The limit is reported by the attempt to start another iteration.
        return None
    if advice.cause in _OF_GOALS and not sprint.plan.is_at_goal:
        # In a plan, every completed phase is progress, regardless of the measurements.
        return None
    if advice.action == STOP:
        if _is_over(sprint.plan):
            return None
        return Due(Do.STOP, advice.number, why=_why(advice), hint=_GO_ON)
    if advice.action == advised.ESCALATE and advice.cause != advised.UNMEASURED:
        if _is_over(sprint.plan):
            return None
        return Due(Do.ASK, advice.number, why=_why(advice), hint=_GO_ON)
    unmeasured = sprint.knowledge.tracker.unmeasured
    is_first = advice.cause == advised.UNMEASURED and unmeasured <= UNMEASURED_MAX
    policy = rules.on_tamper if advice.cause == advised.TAMPERED else rules.on_regression
    if policy == advised.CONTINUE or (is_first and not _is_over(sprint.plan)):
        return None
    if _went_back(sprint):
        # The person who undid that rollback wants to keep the work.
        return None
    if policy == advised.ROLLBACK:
        return _roll_back(sprint, advice, rules)
    return Due(Do.STOP, advice.number, advice.target, _why(advice), _ways(sprint, advice))


def _roll_back(sprint: Sprint, advice: RecommendationGiven, rules: LoopRules) -> Due:
    """Return the rollback of files and state, or a stop if the rollback is impossible."""
    begun, target = len(sprint.knowledge.gone_back), advice.target
    why, hint = _why(advice), _ways(sprint, advice)
    if begun >= rules.rollbacks_max:
        times = "once" if begun == 1 else f"{begun} times"
        why = f"it went back {times}, as often as it may; now {why}"
        allowed = begun + rules.rollbacks_max or 1
        more = f"run `sprintlog iteration rules set --rollbacks-max {allowed}`"
        return Due(Do.STOP, advice.number, target, why, f"{more}; {hint}")
    if target is None:
        why = f"{why}; there is no iteration to go back to"
        return Due(Do.STOP, advice.number, None, why, hint)
    if not has_snapshot(sprint, target):
        why = f"{why}; the files of iteration {target} were not kept"
        return Due(Do.STOP, advice.number, target, why, hint)
    return Due(Do.RESTORE, advice.number, target, why)


_GO_ON = "use `sprintlog iteration decide --go-on` to continue anyway"
_AGAIN = "use `sprintlog iteration measure --by-rules` to measure the iteration again"


def _ways(sprint: Sprint, advice: RecommendationGiven) -> str:
    """Return the commands with which a person can continue."""
    ways = [_AGAIN] if advice.cause == advised.UNMEASURED else []
    if advice.target is not None and has_snapshot(sprint, advice.target):
        ways.append(f"use `sprintlog rollback iter:{advice.target}` to roll back")
    return "; ".join([*ways, _GO_ON])


def _why(advice: RecommendationGiven) -> str:
    said = "; ".join(advice.because) or advice.reason
    if said.startswith(f"iteration {advice.number} "):
        return said
    return f"iteration {advice.number}: {said}"


def _went_back(sprint: Sprint) -> bool:
    """Return whether a rollback has already followed the current advice."""
    at = sprint.knowledge.tracker.recommended_at
    return any(version > at for version, _ in sprint.knowledge.gone_back[-1:])


def _is_over(plan: Plan) -> bool:
    """Return whether no work is left, so that another iteration could not fix anything."""
    return plan.status == COMPLETED or (not plan.is_ralph and not plan.tree.open_leaf())


def _lacks_baseline(sprint: Sprint) -> bool:
    """Return whether the baseline must be measured before the first iteration is judged."""
    tracker = sprint.knowledge.tracker
    if sprint.plan.status != IN_PROGRESS or not tracker.lacks_baseline:
        return False
    since = _since(tracker)
    _, begun = next(newest_first(sprint.knowledge.starts), (0, 0))
    has_failed = tracker.failed is not None and tracker.failed_at > since
    return begun < since and not has_failed


def _is_to_be_measured(sprint: Sprint) -> bool:
    """Return whether the last effective iteration has ended but was not measured."""
    tracker, number = sprint.knowledge.tracker, sprint.plan.iteration
    if not number or tracker.has_measured(number) or tracker.has_failed(number):
        return False
    return _begun_at(sprint, number) > _since(tracker)


def _since(tracker: Tracker) -> int:
    """Return the version since which the rules require iterations to be measured."""
    since = 0
    for version, rules in reversed(tracker.rules):
        if rules.loop.measure is None:
            break
        since = version
    return since


def _begun_at(sprint: Sprint, number: int) -> int:
    return next((at for n, at in newest_first(sprint.knowledge.starts) if n == number), 0)
