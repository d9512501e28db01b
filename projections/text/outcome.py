"""The outcome of a sprint so far: the result, its evidence, and the iteration to use."""

from collections.abc import Iterator, Sequence

from sprintlog.engine.judging.exact import shown
from sprintlog.engine.judging.loop_rules import ROLLBACK
from sprintlog.engine.service.streams.evaluation import Judged
from sprintlog.engine.sprint.agent import actions
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.engine.sprint.events import ClaimAccepted, GoalCompleted
from sprintlog.engine.sprint.iterations.claims import UNVERIFIED, judge_claim
from sprintlog.engine.sprint.iterations.measurement import measured_on_path
from sprintlog.engine.sprint.state import completion, words
from sprintlog.engine.sprint.state.document_fields import goal_said, min_iterations
from sprintlog.engine.sprint.state.sprint import Sprint

from ..views.iteration_quality import pending_advice
from .phrases import counted

LOOKED_AT_MAX = 100
"""The number of newest iterations examined to find since when all tests pass."""
VERIFIED, CLAIMED, REFUSED, OPEN = "verified", "claimed", "refused", "open"
"""Whether a goal is reached."""
_COMPLETES = (None, actions.LIMIT, actions.BUDGET, actions.JUDGE)
"""The reasons to stop after which a goal can be completed by hand."""


def goal_word(sprint: Sprint) -> str | None:
    """Return whether the goal is reached, in one word; None without a goal."""
    plan = sprint.plan
    if not plan.is_ralph:
        return None
    if plan.status == words.COMPLETED:
        if not isinstance(plan.last.sprint, GoalCompleted):
            return OPEN
        return VERIFIED if isinstance(plan.last.decided, ClaimAccepted) else CLAIMED
    if completion.refusal_of(plan):
        return REFUSED
    return OPEN if completion.open_claim(plan) is None else CLAIMED


def result_said(sprint: Sprint, judged: Judged | None) -> list[str]:
    """Return the result of a sprint and its evidence, as parts of a sentence."""
    plan = sprint.plan
    if plan.status == words.COMPLETED:
        return [*_of_completed(sprint)]
    claim, parts = plan.last.claim, list[str]()
    if claim is not None and claim.iteration == plan.iteration:
        if why := completion.refusal_of(plan):
            parts.append(f"claim refused: {why}")
        elif completion.open_claim(plan) is not None:
            found = judge_claim(sprint, claim.iteration)
            why = f": {found.reason}" if found.finding == UNVERIFIED else ""
            parts.append(f"claimed, not verified{why}")
    said = (_measured_said(judged) if judged is not None else None) or ""
    is_known = any(said.partition(" in ")[0] in part for part in parts)
    return parts if is_known or not said else [*parts, said]


def _of_completed(sprint: Sprint) -> Iterator[str]:
    plan = sprint.plan
    if plan.is_ralph:
        done = plan.last.sprint
        if isinstance(done, GoalCompleted) or getattr(done, "abandons_goal", False):
            yield f"the goal is {completion.goal_standing(plan)}"
    elif total := sum(plan.tree.phases.values()):
        yield f"{plan.tree.phases[words.COMPLETED]} of {counted(total, 'phase')} completed"


def usable(sprint: Sprint, judged: Judged | None) -> int | None:
    """Return the iteration whose files are the result so far, or None if it is unknown."""
    tracker, done = sprint.knowledge.tracker, sprint.plan.last.sprint
    if tracker.selected is not None:
        return tracker.selected.number
    if sprint.plan.status == words.COMPLETED and isinstance(done, GoalCompleted):
        return done.iteration or None
    return None if judged is None else judged.target()


def use_said(sprint: Sprint, judged: Judged | None) -> str | None:
    """Return which iteration to use, with its figures unless it is the last one."""
    number = usable(sprint, judged)
    if not number:
        return None if number is None else "use the files from before the first iteration"
    is_other = judged is not None and number in {*judged.tracker.numbers()} - {judged.last}
    figures = _figures(judged, number) if judged is not None and is_other else ""
    return f"use iteration {number}" + (f" ({figures})" if figures else "")


def has_measurements(sprint: Sprint) -> bool:
    """Return whether any measurement was recorded, even a failed one."""
    tracker = sprint.knowledge.tracker
    return bool(tracker.highest or tracker.baseline or tracker.failed)


def continues(sprint: Sprint, action: Action, judged: Judged | None) -> str | None:
    """Return how to accept a changed measure, or to complete a goal whose tests pass."""
    plan = sprint.plan
    if plan.status == words.COMPLETED or judged is None:
        return None
    changed = judged.tracker.changed.get(judged.last or 0)
    if changed is not None and changed.words in (action.why or ""):
        accept = f"`sprintlog iteration accept {judged.last} --reason TEXT`"
        return "; ".join(filter(None, (f"{accept} if that is correct", action.hint)))
    if goal_said(plan.document) is None:
        return None
    advice = pending_advice(judged)
    may_complete = (
        plan.is_at_goal
        and plan.iteration >= min_iterations(plan.document)
        and action.because in _COMPLETES
        and plan.iteration in _all_pass(judged)
        and not (completion.refusal_of(plan) or completion.urgent(sprint, put_off=True))
        and not (advice is not None and advice.action == ROLLBACK)
    )
    return "`sprintlog goal complete` if that is the goal" if may_complete else None


def _measured_said(judged: Judged) -> str | None:
    """Return the figures of the last measured iteration, with any changed measure."""
    if (last := judged.last) is None:
        return None
    if (changed := judged.tracker.changed.get(last)) is not None:
        return f"iteration {last} changed its measure: {changed.words}"
    if since := _all_pass(judged):
        count = judged.one(last).figures.test_count
        said = "the test passes" if count == 1 else f"all {count} tests pass"
        leaf = judged.sprint.plan.tree.open_leaf() if judged.sprint.plan.is_ralph else None
        more = "" if leaf is None else f"; phase {leaf.address} precedes the goal"
        return f"{said} since iteration {since[-1]}{more}"
    said = _figures(judged, last)
    return said and f"{said} in iteration {last}"


def _figures(judged: Judged, number: int) -> str:
    """Return an iteration's tests or, if they are unknown, its score."""
    one = judged.one(number)
    count, passed = one.figures.test_count, one.figures.tests_passed
    if count is not None and passed is not None:
        return f"{passed} of {counted(count, 'test')} pass"
    return "" if one.score.value is None else f"score {shown(one.score.value, 2)}"


def _all_pass(judged: Judged) -> Sequence[int]:
    """Return the newest consecutive iterations in which all tests pass, newest first."""
    found = list[int]()
    for number in reversed(measured_on_path(judged.sprint)[-LOOKED_AT_MAX:]):
        figures = judged.one(number).figures
        fails = not figures.test_count or figures.tests_passed != figures.test_count
        if fails or number in judged.tracker.changed:
            break
        found.append(number)
    return found
