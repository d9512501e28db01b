"""A run of the loop as it is recorded: that it began, and on every way out how it ended."""

import os
from collections.abc import Callable
from contextlib import suppress

from ...adapters.processes import process as processes
from ...adapters.processes.signals import InterruptedBySignal
from ...errors import LostLogError, MovedLogError, NewerVersionError, SprintlogError
from ...sprint.agent import actions
from ...sprint.agent.actions import Action
from ...sprint.agent.ends import DONE, ERROR, SIGNAL
from ...sprint.agent.notices import of_end
from ...sprint.runs.record import BeginRun, FinishRun
from ..agent_sessions.at_work import working
from ..lost_runs import AROUND, record_lost
from ..place.host import host
from .budget_watch import check_cost_is_known
from .driver import Driver
from .notices import PATIENCE_SECONDS, SIGNAL_PATIENCE_SECONDS
from .spooled_runs import keep

UNRECORDED = NewerVersionError, MovedLogError
"""The errors at which the agent's last run waits in a file."""
ExitCode = Callable[[Action | BaseException], int]
"""With what code a run ends, by the answer or the error that ended it."""


def recorded(driver: Driver, perform: Callable[[], Action], exit_code: ExitCode) -> Action:
    """Perform a run and return the answer that ended it; its begin and end are recorded.

    What ends it early goes on, whether or not its end could be recorded.
    """
    run = os.urandom(8).hex()
    record_lost(driver.workspace, driver.sprint(), holds_lock=True)
    check_cost_is_known(driver.sprint(), driver.means)
    means = driver.means
    this, command = processes.process(), (*means.command,)
    begin = BeginRun(
        *(run, host(), *this, command, means.budgets, means.price, (*means.options,)),
        means.fallback,
    )
    driver.handle(begin)
    words = f"`sprintlog run` of sprint {driver.sprint_id}"
    location, now = driver.workspace.location, driver.workspace.now()
    try:
        with working(location, words, now=now):
            last = perform()
    except BaseException as error:
        if isinstance(error, UNRECORDED) and driver.unrecorded is not None:
            keep(location, driver.unrecorded, means.environment)
            whose = "of a newer sprintlog"
            if isinstance(error, MovedLogError):
                whose = "once the log is there again"
            driver.tell(f"the run is recorded by the next `wrap` {whose}")
        code, is_cut = exit_code(error), driver.is_asking
        because = SIGNAL if isinstance(error, InterruptedBySignal) else ERROR
        why = str(error) or type(error).__name__
        _finish(driver, FinishRun(run, because, code, why, is_cut))
        _tell(driver, because, code, why, is_signal=because == SIGNAL)
        raise
    because = DONE if last.do == actions.DONE else last.because or last.do
    _finish(driver, FinishRun(run, because, exit_code(last), last.why))
    _tell(driver, because, exit_code(last), last.why, last)
    return last


def _tell(
    driver: Driver,
    because: str,
    code: int,
    why: str | None,
    last: Action | None = None,
    *,
    is_signal: bool = False,
) -> None:
    """Tell somebody how it ended, and wait until that is told."""
    notices = driver.means.notices
    if notices is None:
        return
    at = driver.workspace.now()
    notices.send(of_end(driver.sprint_id, because, code, at=at, last=last, why=why))
    notices.end(patience=SIGNAL_PATIENCE_SECONDS if is_signal else PATIENCE_SECONDS)


def _finish(driver: Driver, finish: FinishRun) -> None:
    try:
        driver.handle(finish, without=AROUND)
    except LostLogError:
        # The one who started the run reports it.
        return
    except (SprintlogError, OSError) as error:
        # A disk that is full keeps nobody from saying why the loop ended.
        with suppress(OSError):
            driver.tell(f"warning: how this run ended is not recorded: {error}")
