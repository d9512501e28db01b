"""Output about a loop that ended or is waiting: exit statuses, messages and countdowns."""

from collections.abc import Iterator
from typing import Any

from sprintlog.engine.service.streams.evaluation import Judged
from sprintlog.engine.sprint.agent import actions
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.text.stops import Told, headline, reasons, standing, waited_for
from sprintlog.projections.views.work import Status

from .named_sprint import with_it
from .output import REFUSED, clear_counting, counting_line
from .screen import times


def show_waiting(wait: Any, left: float) -> None:
    """Show on stderr the notice that the loop is waiting; None clears the line."""
    if wait is None:
        clear_counting()
        return
    minutes, seconds = divmod(int(left) + 1, 60)
    hours, minutes = divmod(minutes, 60)
    left_time = f"{hours}:{minutes:02d}:{seconds:02d} left"
    counting_line(f"       waits {waited_for(wait, times.when)}: {left_time}")


EXIT_CODES = {
    actions.LIMIT: 20,
    actions.BREAKPOINT: 21,
    actions.PAUSED: 22,
    actions.BLOCKED: 23,
    actions.PERSON: 24,
    actions.BUDGET: 25,
    actions.JUDGE: 26,
}
"""The exit status of `run` for each reason to stop."""


def run_ends_with(last: Action) -> int:
    """Return a loop's exit status for its last action."""
    if last.do == actions.DONE:
        return 0
    return EXIT_CODES.get(last.because or "", REFUSED)


def reason_lines(action: Action) -> list[str]:
    """Return lines with an action's reason, details and hint."""
    return [f"{name}: {text}" for name, text in reasons(action)]


def standing_told(
    sprint: Sprint, found: Status, action: Action, judged: Judged | None
) -> Iterator[Told]:
    """Yield the outcome with the next command, since when, and details."""
    told = standing(sprint, found, action, times.when, judged)
    for word, text in headline(sprint, told, action, times.when)[0]:
        yield word, with_it(text) or text
