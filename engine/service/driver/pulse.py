"""The state of an agent that `run` started: working, idle, or hung after its result."""

import time
from collections.abc import Callable

from ...adapters.agents.items import AgentEnded, Called, Item, Returned, Said
from ...adapters.processes.process import Marks, marks_of_child

IDLE_SECONDS = 600.0
"""The time without output after which an agent that streams its work is ended."""
GRACE_SECONDS = 10.0
"""The time within which an agent must exit after its complete result."""
AT_ONCE_SECONDS = 0.25
"""The uncertainty when a process's start is compared with the time of the result."""
LOOK_SECONDS = 1.0


class Pulse:
    """Processes an agent's output on arrival, and decides whether to end the program.

    The output shows when the result is complete. The program should end after that; if it
    is the agent's own program and neither writes nor forks any more, it has hung.
    """

    def __init__(
        self,
        *,
        is_agent: bool,
        idle: float | None,
        tell: Callable[[str], None],
        also: Callable[[str, Item], None] = lambda agent, item: None,
        clock: Callable[[], float] = time.monotonic,
        look: Callable[[int], Marks | None] = marks_of_child,
    ) -> None:
        """Set whether the program is a known agent, and when it counts as idle.

        `idle` is in seconds; 0 means never. Without it, the default applies to an agent
        that streams its work and is not waiting for a tool.
        """
        self._is_agent, self._idle = is_agent, idle
        self._tell, self._also, self._clock, self._look = tell, also, clock, look
        self._printed = clock()
        """The time of the program's last output."""
        self._calls: set[str] = set()
        """The tool calls that have not returned yet."""
        self._streams = self._has_result = self._forked = self._is_told = False
        self._ended = self._rested = 0.0
        """The time of the result, and the time since which nothing has been written."""
        self._marks: Marks | None = None
        self.silent: float | None = None
        """The number of seconds without output, if the program is ended for this reason."""

    @property
    def is_hung(self) -> bool:
        """Return whether the program is an agent that has printed its result."""
        return self._has_result and self._is_agent

    def take(self, agent: str, item: Item) -> None:
        """Process an item of the agent's output."""
        self._also(agent, item)
        self._streams = True
        if isinstance(item, AgentEnded) and not item.failed:
            self._has_result, self._forked, self._marks = True, False, None
            self._ended = self._rested = self._clock()
            self._calls.clear()
        elif isinstance(item, Said | Called):
            self._has_result = False
        if isinstance(item, Called) and item.key:
            self._calls.add(item.key)
        elif isinstance(item, Returned):
            self._calls.discard(str(item.key))

    def watch(self, supervisor: int, has_printed: bool) -> float:
        """Return the number of seconds to the next check; 0 to end the program."""
        now = self._clock()
        if has_printed:
            self._printed = now
        if (left := self._idle_left(now)) <= 0:
            self.silent = None if self.is_hung else now - self._printed
            return 0
        if not self._has_result:
            return left
        self._look_at(supervisor, now)
        if now - max(self._rested, self._printed) < GRACE_SECONDS:
            return LOOK_SECONDS
        if self._is_agent and self._marks is not None and not self._forked:
            return 0
        if not self._is_told:
            self._is_told = True
            self._tell(
                "warning: the agent reported its result, but its command is still running"
            )
        return min(left, LOOK_SECONDS)

    def _idle_left(self, now: float) -> float:
        """Return the number of seconds for which the program may still be silent."""
        most = self._idle
        if most is None:
            # A script may continue after its agent's result, and a tool may run for long.
            at_work = self._calls or (self._has_result and not self._is_agent)
            most = IDLE_SECONDS if self._streams and not at_work else 0
        return self._printed + most - now if most else IDLE_SECONDS

    def _look_at(self, supervisor: int, now: float) -> None:
        """Check whether the program has written or forked since the last check."""
        before, after = self._marks, self._look(supervisor)
        if after is not None and before is None:
            self._forked |= after.age < now - self._ended + AT_ONCE_SECONDS
        elif after is not None and before is not None:
            self._forked |= after.has_forked_since(before)
            self._rested = self._rested if after.written == before.written else now
        self._marks = after
