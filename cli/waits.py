"""Waits for limits on the command line: how one is typed, and how it counts down."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sprintlog.engine.sprint.phases.waits import ScheduleRetry

_LIMITS = {"rate-limit": "usage-limit", "network": "network"}


def wait_until(
    until: str, why: str, category: str, phase: str | None = None
) -> "ScheduleRetry":
    """Return the command that a limit is waited for; raise `UsageError` for another end."""
    # Imported here: who records a failure seldom waits for a limit.
    from sprintlog.engine.sprint.phases.waits import ScheduleRetry

    if category not in _LIMITS:
        raise click.UsageError(
            f"--until waits for a limit, and category {category} is none: "
            "give --category rate-limit or network"
        )
    return ScheduleRetry(until, why, _LIMITS[category], "--until", phase)


def show_waiting(wait: Any, left: float) -> None:
    """Show on stderr what is waited for, for `left` more seconds; None takes it away."""
    # Imported here: most commands tell of no wait.
    from sprintlog.projections.words.stops import waited_for

    from .output import clear_counting, counting_line
    from .screen import phrases

    if wait is None:
        clear_counting()
        return
    minutes, seconds = divmod(int(left) + 1, 60)
    hours, minutes = divmod(minutes, 60)
    left_time = f"{hours}:{minutes:02d}:{seconds:02d} left"
    counting_line(f"       waits {waited_for(wait, phrases.when)}: {left_time}")
