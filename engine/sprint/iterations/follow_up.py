"""What is due once an iteration is over: to measure it, to decide, to go back; pure.

The rules in force say whether a loop does that by itself. All that it must know from one
question to the next is in the log: so whoever asks again goes on where it was.
"""

from enum import Enum
from typing import NamedTuple

from ...judging.events import RecommendationGiven
from ...judging.loop_rules import (
    CONTINUE,
    CYCLING,
    ESCALATE,
    INFINITE_LOOP,
    MAXIMUM,
    ROLLBACK,
    STALL,
    STOP,
    UNMEASURED,
    LoopRules,
)
from ...judging.tracker import BASELINE_NUMBER, Tracker
from ..state.knowledge import newest_first
from ..state.sprint import Plan, Sprint, open_iteration
from ..state.words import COMPLETED, IN_PROGRESS, PAUSED_AT_BREAKPOINT
from .measurement import unmeasured_iteration
from .snapshots import has_snapshot

UNMEASURED_MAX = 1
"""So many iterations in a row may go without a measurement; the next is a regression."""
JUDGED_IN = (IN_PROGRESS, COMPLETED, PAUSED_AT_BREAKPOINT)
"""The statuses of a sprint in which its last iteration is judged before all else."""


_OF_GOALS = (STALL, CYCLING, INFINITE_LOOP)
"""What says of a loop towards a goal that it gets nowhere."""


class Do(Enum):
    """What is to be done about an iteration that is over."""

    MEASURE = "measure"
    DECIDE = "decide"
    RESTORE = "restore"
    STOP = "stop"
    ASK = "ask"
    """A person is needed."""


class Due(NamedTuple):
    """What is due, about which iteration, and why."""

    do: Do
    number: int
    target: int | None = None
    """The iteration to go back to."""
    why: str | None = None
    hint: str | None = None


def loop_rules(sprint: Sprint) -> LoopRules:
    """Return what a loop does by itself, by the rules in force."""
    return sprint.knowledge.tracker.rules_at(sprint.version).loop


def is_answered(tracker: Tracker) -> bool:
    """Tell whether nothing new is known since it was last answered what to do."""
    newest = next(tracker.newest_first(), None)
    rules = tracker.rules[-1][0] if tracker.rules else 0
    known = (newest.version if newest is not None else 0, tracker.failed_at, rules)
    return tracker.recommended_at > max(known)


def due(sprint: Sprint) -> Due | None:
    """Return what is due before anything else is done; None for nothing."""
    plan, rules = sprint.plan, loop_rules(sprint)
    if plan.status not in JUDGED_IN or open_iteration(plan) is not None:
        return None
    if rules.measure is not None:
        if _lacks_baseline(sprint):
            return Due(Do.MEASURE, BASELINE_NUMBER)
        if _is_to_be_measured(sprint):
            return Due(Do.MEASURE, plan.iteration)
    tracker, number = sprint.knowledge.tracker, plan.iteration
    if rules.measure is None or not number or _begun_at(sprint, number) < _since(tracker):
        return None
    if not is_answered(tracker):
        return Due(Do.DECIDE, number)
    return _follow(sprint, rules)


def to_measure(sprint: Sprint) -> int | None:
    """Return which iteration is measured by rule when somebody asks for it; None for none.

    That is what is due, else the last one as long as its measurement failed: whoever put
    right what kept it from being measured has it measured again.
    """
    found = due(sprint)
    if found is not None and found.do is Do.MEASURE:
        return found.number
    failed, plan = sprint.knowledge.tracker.failed, sprint.plan
    is_over = plan.status in JUDGED_IN and open_iteration(plan) is None
    if not is_over or loop_rules(sprint).measure is None or failed is None:
        return None
    return failed.number if failed.number == unmeasured_iteration(sprint) else None


def note_of(sprint: Sprint) -> str | None:
    """Return what the next prompt says of work that was no success; None for nothing."""
    advice = sprint.knowledge.tracker.recommended
    if loop_rules(sprint).measure is None or advice is None:
        return None
    if advice.action not in (ROLLBACK, ESCALATE):
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
    """Return what follows from the advice in force, by the rules."""
    advice = sprint.knowledge.tracker.recommended
    if advice is None or advice.number != sprint.plan.iteration:
        # It was about work that was taken back.
        return None
    if advice.action == CONTINUE or advice.cause == MAXIMUM:
        # That no more may begin is said where one would begin.
        return None
    if advice.cause in _OF_GOALS and not sprint.plan.is_at_goal:
        # In a plan each phase that is completed is progress, whatever is measured.
        return None
    if advice.action == STOP:
        if _is_over(sprint.plan):
            return None
        return Due(Do.STOP, advice.number, why=_why(advice), hint=_GO_ON)
    if advice.action == ESCALATE and advice.cause != UNMEASURED:
        if _is_over(sprint.plan):
            return None
        return Due(Do.ASK, advice.number, why=_why(advice), hint=_GO_ON)
    unmeasured = sprint.knowledge.tracker.unmeasured
    is_first = advice.cause == UNMEASURED and unmeasured <= UNMEASURED_MAX
    if rules.on_regression == CONTINUE or (is_first and not _is_over(sprint.plan)):
        return None
    if _went_back(sprint):
        # Whoever took that back goes on with the work as it is.
        return None
    if rules.on_regression == ROLLBACK:
        return _roll_back(sprint, advice, rules)
    return Due(Do.STOP, advice.number, advice.target, _why(advice), _ways(sprint, advice))


def _roll_back(sprint: Sprint, advice: RecommendationGiven, rules: LoopRules) -> Due:
    """Return that files and state are to go back, or why they cannot."""
    begun, target = len(sprint.knowledge.gone_back), advice.target
    why, hint = _why(advice), _ways(sprint, advice)
    if begun >= rules.rollbacks_max:
        times = "once" if begun == 1 else f"{begun} times"
        why = f"it went back {times}, as often as it may; now {why}"
        more = f"`sprintlog rules set --rollbacks-max {begun + rules.rollbacks_max or 1}`"
        return Due(Do.STOP, advice.number, target, why, f"{more}; {hint}")
    if target is None:
        why = f"{why}; there is no iteration to go back to"
        return Due(Do.STOP, advice.number, None, why, hint)
    if not has_snapshot(sprint, target):
        why = f"{why}; the files of iteration {target} were not kept"
        return Due(Do.STOP, advice.number, target, why, hint)
    return Due(Do.RESTORE, advice.number, target, why)


_GO_ON = "`sprintlog decide --go-on` goes on all the same"
_AGAIN = "`sprintlog iteration measure --by-rules` measures it again"


def _ways(sprint: Sprint, advice: RecommendationGiven) -> str:
    """Return what a person can type who has looked at it."""
    ways = [_AGAIN] if advice.cause == UNMEASURED else []
    if advice.target is not None and has_snapshot(sprint, advice.target):
        ways.append(f"`sprintlog rollback iter:{advice.target}` goes back")
    return "; ".join([*ways, _GO_ON])


def _why(advice: RecommendationGiven) -> str:
    said = "; ".join(advice.because) or advice.reason
    if said.startswith(f"iteration {advice.number} "):
        return said
    return f"iteration {advice.number}: {said}"


def _went_back(sprint: Sprint) -> bool:
    """Tell whether the advice in force was followed before."""
    at = sprint.knowledge.tracker.recommended_at
    return any(version > at for version, _ in sprint.knowledge.gone_back[-1:])


def _is_over(plan: Plan) -> bool:
    """Tell whether nothing is left to be done: no other iteration can mend anything."""
    return plan.status == COMPLETED or (not plan.is_ralph and not plan.tree.open_leaf())


def _lacks_baseline(sprint: Sprint) -> bool:
    """Tell whether the work is to be measured before the first iteration is judged."""
    tracker = sprint.knowledge.tracker
    if sprint.plan.status != IN_PROGRESS or tracker.baseline or tracker.highest:
        return False
    since, (_, begun) = _since(tracker), _newest_start(sprint)
    has_failed = tracker.failed is not None and tracker.failed_at > since
    return begun < since and not has_failed


def _is_to_be_measured(sprint: Sprint) -> bool:
    """Tell whether the last iteration on the path is over and was not measured."""
    tracker, number = sprint.knowledge.tracker, sprint.plan.iteration
    if not number or tracker.entry(number) is not None:
        return False
    if tracker.failed is not None and tracker.failed.number == number:
        return False
    return _begun_at(sprint, number) > _since(tracker)


def _since(tracker: Tracker) -> int:
    """Return the version since which iterations are measured by rule."""
    since = 0
    for version, rules in reversed(tracker.rules):
        if rules.loop.measure is None:
            break
        since = version
    return since


def _begun_at(sprint: Sprint, number: int) -> int:
    started = newest_first(sprint.knowledge.starts)
    return next((at for n, at in started if n == number), 0)


def _newest_start(sprint: Sprint) -> tuple[int, int]:
    return next(newest_first(sprint.knowledge.starts), (0, 0))
