"""How it is told what ended a loop: as an exit code, and in words."""

from sprintlog.engine.sprint.agent import actions
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.projections.words.stops import reasons

from .output import REFUSED

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


def reason_lines(action: Action) -> list[str]:
    """Return what an answer says beside its word: why, details and hint."""
    return [f"{name}: {text}" for name, text in reasons(action)]
