"""How an agent that `run` asked is doing: at work, idle, or hung after its result."""

import time
from collections.abc import Callable

from ...adapters.agents.items import AgentEnded, Called, Item, Returned, Said
from ...adapters.processes.process import Marks, marks_of_child

IDLE_SECONDS = 600.0
"""After so long without output an agent is ended that streamed items of its work."""
GRACE_SECONDS = 10.0
"""How long after its complete result an agent may stay."""
AT_ONCE_SECONDS = 0.25
"""A process that began so shortly before the result was read may have begun after it."""
LOOK_SECONDS = 1.0


class Pulse:
    """Takes what an agent prints as it comes, and decides whether to end its program.

    Its complete result is known from its output. After that the program should end; if
    it is the agent's own program, and it writes and forks nothing more, it hangs.
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
        """Take whether the program is a known agent, and after how long it is idle.

        Without `idle` the default applies to an agent that streams its work and waits for
        no tool; 0 is never.
        """
        self._is_agent, self._idle = is_agent, idle
        self._tell, self._also, self._clock, self._look = tell, also, clock, look
        self._printed = clock()
        """When it printed last."""
        self._calls: set[str] = set()
        """The calls of tools that did not return yet."""
        self._streams = self._has_result = self._forked = self._is_told = False
        self._ended = self._rested = 0.0
        """When it printed its result, and since when it has written nothing after that."""
        self._marks: Marks | None = None
        self.silent: float | None = None
        """For how many seconds it printed nothing, if it is ended for that."""

    @property
    def is_hung(self) -> bool:
        """Return whether an agent's own program that is ended has printed its result."""
        return self._has_result and self._is_agent

    def take(self, agent: str, item: Item) -> None:
        """Take an item of the agent's output."""
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
        """Return after how many seconds to ask again; 0 if the program must be ended."""
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
            self._tell("warning: the agent gave its result, and its command still runs")
        return min(left, LOOK_SECONDS)

    def _idle_left(self, now: float) -> float:
        """Return how long the program may still be silent."""
        most = self._idle
        if most is None:
            # A script may work on after its agent's result; a tool may take its time.
            at_work = self._calls or (self._has_result and not self._is_agent)
            most = IDLE_SECONDS if self._streams and not at_work else 0
        return self._printed + most - now if most else IDLE_SECONDS

    def _look_at(self, supervisor: int, now: float) -> None:
        """Take notice that the program wrote or forked since it was looked at last."""
        before, after = self._marks, self._look(supervisor)
        if after is not None and before is None:
            self._forked |= after.age < now - self._ended + AT_ONCE_SECONDS
        elif after is not None and before is not None:
            self._forked |= after.has_forked_since(before)
            self._rested = self._rested if after.written == before.written else now
        self._marks = after
