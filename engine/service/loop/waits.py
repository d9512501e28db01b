"""How `run` waits: by the clock on the wall, in short naps, and awake for all else.

A laptop that was suspended wakes up after the time that was waited for, and the sleep of
a process does not count what passed meanwhile: so the clock is read again after each nap.
"""

import time
from collections.abc import Callable
from datetime import datetime

from ...sprint.agent.actions import ASK_NOW, Action
from ...sprint.agent.notices import of_wait
from ...sprint.phases import lifecycle
from ...sprint.state.times import parse
from .driver import Driver

NAP_SECONDS = 1.0
EXPLAINED_SECONDS = 5.0
"""How long a wait must be for `run` to print how to continue earlier."""
BEAT_SECONDS = 10 * 60
"""How often a heartbeat is recorded: sooner than a sprint is called stale."""
CLOCK_STEP_SECONDS = 30.0
"""By more than this no two clocks drift apart in a nap: one of them was set."""


class Waits:
    """The waits of one loop."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._told: tuple[str | None, str | None] | None = None
        self._beaten = time.monotonic()
        self._is_explained = False
        """Whether it was printed how to continue earlier."""

    def wait(self, action: Action, *, version: int, has_news: Callable[[], bool]) -> None:
        """Wait until the time has come, or until there is a reason to ask what is next.

        That is whatever was recorded after `version`, or is to be, by `has_news`; or a
        clock that was set. A signal ends it at once.
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
        """Say what is waited for, once for each wait."""
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
        """Record a heartbeat when none was for a while; tell whether that was done."""
        if time.monotonic() - self._beaten < BEAT_SECONDS:
            return False
        self._beaten = time.monotonic()
        self._driver.handle(lifecycle.RecordHeartbeat())
        return True
