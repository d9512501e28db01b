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


def waited_for(wait: Any) -> str:
    """Return until when is waited, and for what: `until 05:00 for the usage limit`."""
    # Imported here, as below: most commands tell of no wait.
    from sprintlog.engine.sprint.agent.limits import WAITS_FOR

    from .screen import phrases

    what = WAITS_FOR.get(wait.waits_for or "")
    return f"until {phrases.when(wait.until)}" + (f" for {what}" if what else "")


def show_waiting(wait: Any, left: float) -> None:
    """Show on stderr what is waited for, for `left` more seconds; None takes it away."""
    from .output import clear_counting, counting_line

    if wait is None:
        clear_counting()
        return
    minutes, seconds = divmod(int(left) + 1, 60)
    hours, minutes = divmod(minutes, 60)
    counting_line(
        f"       waits {waited_for(wait)}: {hours}:{minutes:02d}:{seconds:02d} left"
    )
