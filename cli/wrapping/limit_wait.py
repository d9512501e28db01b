"""Waiting for the last run's limit to expire, as used by `wait` and `wrap --wait`."""

import os

from sprintlog.engine.adapters.processes.signals import InterruptedBySignal, Signals
from sprintlog.engine.service.driver.agent import Driver, RunSettings
from sprintlog.engine.service.driver.waits import wait_for_limit
from sprintlog.engine.sprint.agent.actions import STOP, Action

from .. import context, output, stops


def wait(sprint_id: str | None, actor: str) -> tuple[str, Action | None]:
    """Wait until a sprint's limit expires; return the sprint's id and any next action."""
    show = stops.show_waiting if output.shows_counting() else None
    means = RunSettings((), context.environment(), 0, actor=actor, show=show)
    with context.open_workspace() as workspace, Signals() as signals:
        chosen = workspace.choose(sprint_id)
        driver = Driver(workspace, chosen, means, signals, -1, output.progress)
        return chosen, wait_for_limit(driver)


def wait_after_wrap(sprint_id: str | None) -> int:
    """Wait after a wrapped command; return the signal that ended the wait, or 0."""
    try:
        chosen, last = wait(sprint_id or os.environ.get("SPRINTLOG_SPRINT"), "runtime")
    except InterruptedBySignal as signal:
        return signal.number
    if last is not None and last.do == STOP:
        output.note(f"{chosen} needs a person: {last.why}")
    return 0
