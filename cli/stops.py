"""How it is told why a sprint does not go on: in words, as an exit code."""

from sprintlog.engine.sprint.agent import actions
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.projections.views.work import STOPPED

from .output import REFUSED
from .waits import waited_for

EXIT_CODES = {
    actions.LIMIT: 20,
    actions.BREAKPOINT: 21,
    actions.PAUSED: 22,
    actions.BLOCKED: 23,
    actions.PERSON: 24,
    actions.BUDGET: 25,
    actions.JUDGE: 26,
}
"""With what `run` ends, by what made it stop (DESIGN.md section 8)."""


def run_ends_with(last: Action) -> int:
    """Return the exit code of a loop by the answer that ended it."""
    if last.do == actions.DONE:
        return 0
    return EXIT_CODES.get(last.because or "", REFUSED)


def stopped_lines(action: Action) -> list[str]:
    """Return why a sprint does not go on, for people; nothing where it does."""
    # When a leaf that failed is tried again stands beside it in the tree.
    is_retry = action.do == actions.WAIT and action.phase and not action.waits_for
    if action.do not in STOPPED or is_retry:
        return []
    until = f"waits {waited_for(action)}: " if action.until else ""
    named = (("why", f"{until}{action.why}"), *_more(action))
    return [f"{name}: {text}" for name, text in named if text]


def reason_lines(action: Action) -> list[str]:
    """Return what an answer says beside its word: why, details and hint."""
    named = (("why", action.why), *_more(action))
    return [f"{name}: {text}" for name, text in named if text]


def _more(action: Action) -> tuple[tuple[str, str | None], ...]:
    return (
        ("error", action.error),
        ("details", action.details),
        ("hint", action.hint),
    )
