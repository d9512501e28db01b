"""Iteration quality, alerts and advice, for a person deciding how to continue."""

from typing import Any, NamedTuple

from msgspec import Struct

from sprintlog.engine.judging import evaluation, loop_rules, recommend
from sprintlog.engine.judging.exact import BY_EXIT_CODE, shown
from sprintlog.engine.judging.score import BUILD, Score
from sprintlog.engine.service.streams.evaluation import Judged
from sprintlog.engine.sprint.events import OF_ITERATION
from sprintlog.engine.sprint.iterations import measurement
from sprintlog.engine.sprint.state.knowledge import newest_first
from sprintlog.engine.sprint.state.sprint import Knowledge, Sprint, open_iteration
from sprintlog.engine.sprint.state.words import COMPLETED


class ScorePart(Struct, frozen=True):
    """A part of a score, with the points for its components."""

    weight: float
    points: float | None
    contribution: float | None
    components: dict[str, float | None]


def score_fields(score: Score) -> dict[str, Any]:
    """Return the answer fields that describe a score."""
    return {
        "score": plain(score.value),
        "is_score_given": score.is_given,
        "measured_share": float(score.share),
        "dimensions": {
            one.name: ScorePart(
                float(one.weight),
                plain(one.points),
                plain(one.contribution),
                {c.name: plain(c.points) for c in one.components},
            )
            for one in score.dimensions
        },
    }


def plain(value: Any) -> Any:
    """Return a number as a JSON value."""
    return value if value is None or isinstance(value, int | str) else float(value)


class IterationStanding(NamedTuple):
    """The best and the last iteration, and the pending advice."""

    best: evaluation.Judgement | None
    last: evaluation.Judgement | None
    """The most recently measured effective iteration."""
    advice: recommend.Recommendation | None
    """The pending advice, unless the advice is to continue."""


def standing(judged: Judged) -> IterationStanding:
    """Return the quality of a sprint's iterations, and the pending advice."""
    last = None if judged.last is None else judged.one(judged.last)
    given = pending_advice(judged)
    is_more = given is not None and given.action != loop_rules.CONTINUE
    return IterationStanding(judged.best(), last, given if is_more else None)


def advice_in_force(judged: Judged) -> recommend.Recommendation | None:
    """Return the advice after the last measurement, or None before the first one."""
    waits = measurement.unmeasured_iteration(judged.sprint) is not None
    return judged.recommendation() if judged.last is not None or waits else None


def pending_advice(judged: Judged) -> recommend.Recommendation | None:
    """Return advice that has not been followed yet, or None if there is nothing to do."""
    if judged.sprint.plan.status == COMPLETED:
        return None
    given = advice_in_force(judged)
    if given is None or given.action != loop_rules.ROLLBACK:
        return given
    # Earlier files may have been restored since, with or without the plan.
    since = 0 if judged.last is None else judged.one(judged.last).version
    return None if _files_since(judged.sprint.knowledge, since) != AS_LEFT else given


def is_behind(judged: Judged, number: int) -> bool:
    """Return whether an iteration is worse than the best one."""
    best = judged.best_in_force()
    if best is None or number == best.number:
        return False
    is_measured = judged.tracker.entry(number) is not None
    return not (is_measured and recommend.is_as_good(judged.one(number), best))


class FilesNow(NamedTuple):
    """The iteration whose files are in the work tree, as far as the log shows."""

    iteration: int
    is_brought_back: bool
    """False if the files are unchanged since the iteration."""


def files_now(sprint: Sprint) -> FilesNow | None:
    """Return whose files are in the work tree, or None if that is unclear.

    It is unclear if the files are mixed or an iteration is open.
    """
    knowledge = sprint.knowledge
    number, since = next(newest_first(knowledge.starts), (0, 0))
    if not number:
        return None
    found = _files_since(knowledge, since)
    if found != AS_LEFT:
        return None if found is None else FilesNow(found, is_brought_back=True)
    is_open = open_iteration(sprint.plan) is not None
    return None if is_open else FilesNow(number, is_brought_back=False)


def brought_back(sprint: Sprint) -> str | None:
    """Return a note about restored files in the work tree, until the next iteration."""
    now = files_now(sprint)
    if now is None or not now.is_brought_back:
        return None
    return f"restored from iteration {now.iteration}"


def files_said(judged: Judged) -> str | None:
    """Return a note about whose files are in the work tree, if that is unexpected.

    The files were restored, or they are from an iteration that is worse than the best one.
    """
    now = files_now(judged.sprint)
    if now is None:
        return None
    best = judged.best()
    if (said := brought_back(judged.sprint)) is not None:
        which = as_the_best(judged, now.iteration)
        if best is not None and best.number == now.iteration:
            which = "the best"
        elif which and best is not None:
            which += f", iteration {best.number}"
        return f"{said}: {which}" if which else said
    if best is None or not is_behind(judged, now.iteration):
        return None
    is_measured = judged.tracker.entry(now.iteration) is not None
    word = judged.one(now.iteration).classification if is_measured else "not measured"
    said = f"as iteration {now.iteration} left them ({word or 'measured'})"
    value = best.score.value
    score = "" if value is None else f" ({shown(value, 2)})"
    return f"{said}; the best is iteration {best.number}{score}"


AS_LEFT = -1
"""Stands for the iteration that left the files."""


def _files_since(knowledge: Knowledge, since: int) -> int | None:
    """Return the iteration whose files were restored since a version and are still present.

    Return `AS_LEFT` if no files were restored, and None if only some were.
    """
    now: int | None = AS_LEFT
    before: dict[str, int | None] = {}
    whole = {one.snapshot for one in knowledge.snapshots if one.purpose == OF_ITERATION}
    for back in (one.event for one in knowledge.restored if one.version > since):
        if back.into:
            continue
        before[back.before] = now
        if back.iteration is None:
            # An undo or redo restores the files from before another restore.
            now = before.get(back.snapshot)
        else:
            now = back.iteration if back.snapshot in whole and not back.paths else None
    return now


def as_the_best(judged: Judged, number: int | None) -> str:
    """Return a phrase about how an iteration ties with the best one; "" if it does not."""
    best = judged.tracker.best
    if best is None or number is None or number <= best.number or is_behind(judged, number):
        return ""
    is_same = judged.has_same_files(best.number, number)
    return "the same files as the best" if is_same else "as good as the best"


def equals_by_exit_code(judged: Judged) -> str:
    """Return a note if other iterations tie with the best one on exit codes alone."""
    best = judged.best()
    if best is None or best.score.components != {BUILD}:
        return ""
    scores = judged.hundredths()
    count = sum(scores[number] == scores[best.number] for number in scores)
    return "" if count < 2 else f"{count} iterations have this score, by {BY_EXIT_CODE}"


TESTS_LOOKED_AT = 100
"""The number of iterations before the best one whose test counts are compared."""


def removed_tests(judged: Judged, best: evaluation.Judgement) -> str:
    """Return a note if the best iteration has fewer tests than an earlier one, or ""."""
    count = best.figures.test_count
    on_path = [n for n in measurement.measured_on_path(judged.sprint) if n < best.number]
    before = [judged.one(number) for number in on_path[-TESTS_LOOKED_AT:]]
    before += [base] if (base := judged.baseline()) is not None else []
    known = [(one.figures.test_count, one.number) for one in before]
    most, number = max(((c, n) for c, n in known if c is not None), default=(0, 0))
    if count is None or count >= most:
        return ""
    return (
        f"{count} in iteration {best.number}, {most} in iteration {number}: "
        "some were removed"
    )
