"""The waits of a loop: for a retry, or for the limit that ended the agent's latest run.

It sleeps in short intervals and checks the wall clock, because a process's sleep does not
count the time during which a laptop was suspended.
"""

import time
from collections import deque
from collections.abc import Callable
from datetime import datetime

from ...sprint.agent import actions
from ...sprint.agent.actions import ASK_NOW, NEEDS_PERSON, Action, is_over, of_wait
from ...sprint.agent.next import next_action
from ...sprint.events import AgentRan
from ...sprint.phases import lifecycle
from ...sprint.phases.waits import wait_after
from ...sprint.state.sprint import Sprint
from ...sprint.state.times import parse
from ...sprint.state.words import NEEDS_HUMAN
from ..streams.evaluation import StreamEvents
from .agent import Driver

NAP_SECONDS = 1.0
EXPLAINED_SECONDS = 5.0
"""The minimum length of a wait for which `run` prints how to continue earlier."""
BEAT_SECONDS = 10 * 60
"""The heartbeat interval, shorter than the time after which a sprint counts as stale."""
CLOCK_STEP_SECONDS = 30.0
"""The deviation of the wall clock during a sleep that indicates that the clock was set."""


class Waits:
    """The waits of a single loop."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._told: tuple[str | None, str | None] | None = None
        self._beaten = time.monotonic()
        self._is_explained = False
        """Whether instructions for continuing earlier were printed."""

    def wait(self, action: Action, *, version: int, has_news: Callable[[], bool]) -> None:
        """Wait until the action's time, or until the next action may have changed.

        It may have changed if events were recorded after `version`, if `has_news` returns
        true, or if a clock was set. A signal ends the wait at once.
        """
        assert action.until is not None
        self._tell(action)
        until, driver = parse(action.until), self._driver
        try:
            while (left := (until - self._now()).total_seconds()) > 0:
                if driver.means.show is not None:
                    driver.means.show(action, left)
                wall, clock = self._now(), time.monotonic()
                driver.sleep(min(left, NAP_SECONDS))
                slept = time.monotonic() - clock
                if abs((self._now() - wall).total_seconds() - slept) > CLOCK_STEP_SECONDS:
                    return
                if has_news() or driver.sprint().version != version or self._beat():
                    return
        finally:
            if driver.means.show is not None:
                driver.means.show(None, 0)

    def _now(self) -> datetime:
        return parse(self._driver.workspace.now())

    def _tell(self, action: Action) -> None:
        """Report why and until when the loop waits, once per wait."""
        if self._told == (told := (action.phase, action.until)):
            return
        self._told, self._beaten = told, time.monotonic()
        where = action.phase or f"iteration {action.iteration}"
        self._driver.tell(f"wait   {where} until {action.until}: {action.why}")
        assert action.until is not None
        left = (parse(action.until) - self._now()).total_seconds()
        if left > EXPLAINED_SECONDS and not self._is_explained:
            self._is_explained = True
            self._driver.tell(f"       {ASK_NOW}")
        if left > self._driver.means.told_wait_seconds:
            name, now = self._driver.sprint_id, self._driver.workspace.now()
            self._driver.notify(of_wait(name, action, at=now))

    def _beat(self) -> bool:
        """Record a heartbeat if one is due; return whether it was recorded."""
        if time.monotonic() - self._beaten < BEAT_SECONDS:
            return False
        self._beaten = time.monotonic()
        self._driver.handle(lifecycle.RecordHeartbeat())
        return True


def wait_for_limit(driver: Driver) -> Action | None:
    """Wait until no limit applies; return the last action, or None if there was no limit.

    The action is a wait that has ended, or a stop that requires a person.
    """
    waits, last = Waits(driver), None
    while True:
        action = _standing(driver)
        if action is None:
            return last
        if action.do != actions.WAIT or is_over(str(action.until), driver.workspace.now()):
            return action
        last, version = action, driver.sprint().version
        waits.wait(action, version=version, has_news=lambda: False)


def _standing(driver: Driver) -> Action | None:
    """Return the sprint's current wait, a stop that requires a person, or None."""
    sprint = driver.sprint()
    action = next_action(sprint, now=driver.workspace.now(), has_budgets=False)
    needs_person = action.do == actions.STOP and action.because in NEEDS_PERSON
    if needs_person or action.do == actions.WAIT:
        return action
    found = _last_run(driver, sprint)
    waiting = sprint.plan.waiting
    if found is None:
        return actions.waits(waiting) if waiting is not None else None
    ran, ended = found
    if ran.limit is None:
        needs_person = ran.status == NEEDS_HUMAN
        stop = Action(actions.STOP, because=actions.PERSON, why=ran.error)
        return stop if needs_person else None
    if waiting is None or not waiting.is_of(ran.phase, ran.iteration):
        driver.handle(lambda sprint, at: [wait_after(sprint, ran, ended)])
        waiting = driver.sprint().plan.waiting
        assert waiting is not None
    return actions.waits(waiting)


def _last_run(driver: Driver, sprint: Sprint) -> tuple[AgentRan, str] | None:
    """Return the latest run of an agent, and the time of its end."""
    events = StreamEvents(driver.workspace.log, sprint.id, sprint.version)
    runs = ((ran, at) for _, at, ran in events.all(AgentRan) if ran.found_in is None)
    last = deque((one for one in runs if not one[0].is_rest), maxlen=1)
    return last[0] if last else None
