"""What a person should know of the iterations before going on: quality, alerts, advice."""

from typing import NamedTuple

from sprintlog.engine.iterations.evaluation import Judgement
from sprintlog.engine.iterations.loop_rules import CONTINUE, ROLLBACK
from sprintlog.engine.iterations.recommend import Recommendation
from sprintlog.engine.service.streams.judged import Judged
from sprintlog.engine.sprint.iterations.measurement import unmeasured_iteration
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.starts import newest_first
from sprintlog.engine.sprint.state.words import COMPLETED


class IterationStanding(NamedTuple):
    """How good the iterations are, and what was not answered yet."""

    best: Judgement | None
    last: Judgement | None
    """The one measured last on the path."""
    advice: Recommendation | None
    """What is advised other than to continue, while nothing was done about it."""


def standing(judged: Judged) -> IterationStanding:
    """Return how good the iterations of a sprint are, and what waits for an answer."""
    last = None if judged.last is None else judged.one(judged.last)
    given = pending_advice(judged)
    is_more = given is not None and given.action != CONTINUE
    return IterationStanding(judged.best(), last, given if is_more else None)


def advice_in_force(judged: Judged) -> Recommendation | None:
    """Return what to do after what was measured last; None before anything was."""
    is_due = judged.last is not None or unmeasured_iteration(judged.sprint) is not None
    return judged.recommendation() if is_due else None


def pending_advice(judged: Judged) -> Recommendation | None:
    """Return what to do now, as long as nobody did it and there is something to do."""
    if judged.sprint.plan.status == COMPLETED:
        return None
    given = advice_in_force(judged)
    last = None if judged.last is None else judged.one(judged.last)
    is_rollback = given is not None and given.action == ROLLBACK
    return None if is_rollback and _has_files_back(judged, last) else given


def _has_files_back(judged: Judged, last: Judgement | None) -> bool:
    """Tell whether earlier files came back since and stayed, with the plan or without."""
    since = 0 if last is None else last.version
    knowledge = judged.sprint.knowledge
    later = [one.event for one in knowledge.restored if one.version > since]
    return bool(later) and not (later[-1].undoes or later[-1].rollback in knowledge.undid)


def iteration_of_files(sprint: Sprint) -> int | None:
    """Return the iteration whose files were brought back, all of them, since the last."""
    knowledge = sprint.knowledge
    _, since = next(newest_first(knowledge.starts), (0, 0))
    later = [one.event for one in knowledge.restored if one.version > since]
    if not later or later[-1].undoes or later[-1].rollback in knowledge.undid:
        return None
    back = later[-1]
    return None if back.paths or back.into else back.iteration
