"""The end of the log for all open pages; a single thread reads the log and answers."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from sprintlog.questions import event_line
from sprintlog.servers import ResidentLog
from sprintlog.workspaces import Workspace

EventLine = Any
Answer = TypeVar("Answer")


class LogReader:
    """Answers questions about a log in the single thread that opened its store.

    The states of sprints stay in memory between questions.
    """

    def __init__(self, opens: Callable[[], Workspace]) -> None:
        self._log = ResidentLog(opens)
        self._thread = ThreadPoolExecutor(1, "reader")

    async def ask(self, question: Callable[[Workspace], Answer]) -> Answer:
        """Return the answer to a question; errors are raised unchanged."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._thread, lambda: question(self._log.workspace())
        )

    def close(self) -> None:
        """Close the log and stop the thread."""
        self._thread.submit(self._log.close)
        self._thread.shutdown(wait=True, cancel_futures=False)


KEPT_MAX = 2048
"""The number of newest events kept in memory for clients that are slightly behind."""
PAGE = 512
"""The number of events per read for clients that missed events."""

ReadPage = Callable[[int, int], Awaitable[Sequence[EventLine]]]
"""Returns the events after a position, up to a maximum number."""


class FellBehindError(Exception):
    """Raised for a client that reads events too slowly; the client must reconnect."""


class Tail:
    """The newest events of a log, for readers that wait for the next event.

    There are no queues: each reader has its own position, and an event is stored only once.
    The object belongs to the server's event loop.
    """

    def __init__(self, position: int, read_page: ReadPage) -> None:
        self.position = position
        """The position of the last known event."""
        self.is_closed = False
        self.problem: str | None = None
        """The reason why the log cannot be read; None if it can."""
        self._read_page = read_page
        self._kept: deque[EventLine] = deque(maxlen=KEPT_MAX)
        self._changed = asyncio.Event()

    def take(self, lines: Sequence[EventLine]) -> None:
        """Add appended events in order."""
        new = [line for line in lines if line.position > self.position]
        self.problem = None
        if new:
            self._kept.extend(new)
            self.position = new[-1].position
            self._wake()

    def fail(self, problem: str) -> None:
        """Record that the log cannot currently be read."""
        self.problem = problem

    def close(self) -> None:
        """Stop all waiting readers."""
        self.is_closed = True
        self._wake()

    async def after(self, position: int) -> AsyncIterator[EventLine]:
        """Yield every event after a position exactly once, including future events.

        Missed events are read from the log in pages. Raise `FellBehindError` if a reader
        that had caught up is now too slow.
        """
        has_caught_up = False
        while not self.is_closed:
            if position >= self.position:
                has_caught_up = True
                await self._changed.wait()
                continue
            page: Sequence[EventLine] | None = self._since(position)
            if page is None:
                if has_caught_up:
                    raise FellBehindError
                page = await self._read_page(position, PAGE)
                if not page:
                    # The event is already in the log and will be received soon.
                    await self._changed.wait()
                    continue
            for line in page:
                yield line
            position = page[-1].position

    def _since(self, position: int) -> list[EventLine] | None:
        """Return buffered events after a position, or None if some events are missing."""
        if not self._kept or self._kept[0].position > position + 1:
            return None
        skipped = position + 1 - self._kept[0].position
        return list(islice(self._kept, skipped, skipped + PAGE))

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def lines_after(workspace: Workspace, after: int, limit: int) -> list[EventLine]:
    """Return at most `limit` events after a position, each as a line."""
    return [*map(event_line, islice(workspace.log.read(after=after), limit))]
