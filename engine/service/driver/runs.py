"""Recording of a run's start and end, even if an error ends the run.

Budgets are checked as well: a warning is recorded before a budget is exhausted, and a cost
budget is rejected if the agent's cost cannot be determined.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePath

from ....engine import errors
from ...adapters.processes import process as processes
from ...adapters.processes.process import host
from ...adapters.processes.signals import InterruptedBySignal
from ...masking import mask
from ...sprint.agent import actions
from ...sprint.agent.actions import Action, of_end
from ...sprint.agent.stops import DONE, ERROR, SIGNAL
from ...sprint.iterations.budgets import WarnOfBudgets, said, to_warn_of
from ...sprint.iterations.run_record import BeginRun, FinishRun, words_of
from ...sprint.state.sprint import Sprint
from ..agent_sessions.at_work import working
from ..lost_runs import record_lost
from ..port import AROUND
from .agent import Driver, RunSettings
from .notices import PATIENCE_SECONDS, SIGNAL_PATIENCE_SECONDS
from .spooled_runs import keep

SAYS_NO_COST = {"agy", "codex", "copilot", "cursor-agent", "droid", "gemini"}
"""The agent programs that report their tokens but not their cost."""
UNRECORDED = errors.NewerVersionError, errors.MovedLogError
"""The errors after which the agent's last run is spooled."""
ExitCode = Callable[[Action | BaseException], int]
"""A function that returns a run's exit status, given the action or error that ended it."""


def recorded(driver: Driver, perform: Callable[[], Action], exit_code: ExitCode) -> Action:
    """Perform a run, record its start and end, and return the action that ended the run.

    An exception that ends the run is raised again, even if the end could not be recorded.
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
            if isinstance(error, errors.MovedLogError):
                whose = "once the log is there again"
            driver.tell(f"the run is recorded by the next `wrap` {whose}")
        code, is_cut = exit_code(error), driver.is_asking
        because = SIGNAL if isinstance(error, InterruptedBySignal) else ERROR
        why = str(error) or type(error).__name__
        _finish(driver, FinishRun(run, because, code, why, is_cut))
        _tell(driver, because, code, why)
        raise
    because = DONE if last.do == actions.DONE else last.because or last.do
    _finish(driver, FinishRun(run, because, exit_code(last), last.why))
    _tell(driver, because, exit_code(last), last.why, last)
    return last


def warn_of_budgets(driver: Driver) -> None:
    """Record and report, once for each budget, that most of it is spent."""
    due = to_warn_of(driver.sprint(), driver.workspace.now())
    if not due:
        return
    driver.handle(WarnOfBudgets())
    for one in due:
        driver.tell(f"budget {one.percent} %: {said(one)}")


def check_cost_is_known(sprint: Sprint, means: RunSettings) -> None:
    """Raise `RefusedError` for a cost budget if the agent's cost cannot be determined.

    For some agents, it is known whether they report their cost; for other commands, the
    last run shows whether they do.
    """
    loops = sprint.knowledge.loops
    limits = (means.budgets.cost_usd, loops.budgets.cost_usd)
    if limits == (None, None):
        return
    if means.fallback:
        # The price of the fallback is unknown.
        other = means._replace(command=means.fallback.split(), fallback=None, price=None)
        check_cost_is_known(sprint, other)
    if means.price is not None:
        return
    words = words_of(means.command)
    words = words if not means.masks else tuple(map(mask, words))
    said_so = loops.says_cost.get(" ".join(words))
    name = PurePath(means.command[0]).name
    if said_so is None:
        said_so = name not in SAYS_NO_COST
    if not said_so:
        raise errors.RefusedError(
            f"cannot enforce a cost budget: {name} does not report its cost",
            hint="add `--price IN/OUT`, in dollars per million input and "
            "output tokens, or use a token budget: `--budget-tokens N`",
            field="price",
        )


def _tell(
    driver: Driver, because: str, code: int, why: str | None, last: Action | None = None
) -> None:
    """Send a notice that the loop has ended, and wait until it is sent."""
    notices = driver.means.notices
    if notices is None:
        return
    at = driver.workspace.now()
    notices.send(of_end(driver.sprint_id, because, code, at=at, last=last, why=why))
    is_signal = because == SIGNAL
    notices.end(patience=SIGNAL_PATIENCE_SECONDS if is_signal else PATIENCE_SECONDS)


def _finish(driver: Driver, finish: FinishRun) -> None:
    try:
        driver.handle(finish, without=AROUND)
    except errors.LostLogError:
        # The caller reports it.
        return
    except (errors.SprintlogError, OSError) as error:
        # A full disk must not hide why the loop ended.
        with suppress(OSError):
            driver.tell(f"warning: the end of this run was not recorded: {error}")
