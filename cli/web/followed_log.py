"""The end of a log for all open pages; a single thread reads the log and answers."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import islice
from typing import Any, TypeVar

import msgspec

from sprintlog.errors import SprintlogError
from sprintlog.events import RecordedEvent
from sprintlog.pages import LivePages
from sprintlog.questions import event_line, grouped
from sprintlog.servers import LogFollower, ResidentLog
from sprintlog.workspaces import Workspace

EventLine = Any
Answer = TypeVar("Answer")
OpenWorkspace = Callable[[], Workspace]
ANSWER_SECONDS = 5
"""The time limit for a log's part of the overview."""
PROBLEMS = (SprintlogError, OSError, TimeoutError)


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

    def __init__(self, position: int, read_page: ReadPage | None = None) -> None:
        """Start after a position; without `read_page`, old events are skipped."""
        self.first = self.position = position
        """The position of the last known event."""
        self.is_closed = False
        self.problem: str | None = None
        """The reason why the log cannot be read; None if it can."""
        self._read_page = read_page or self._newest
        self._kept: deque[EventLine] = deque(maxlen=KEPT_MAX)
        self._changed = asyncio.Event()

    def take(self, lines: Sequence[EventLine]) -> None:
        """Add appended events in order."""
        new = [line for line in lines if line.position > self.position]
        if new:
            self._kept.extend(new)
            self.position = new[-1].position
            self._wake()

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

    async def _newest(self, position: int, limit: int) -> list[EventLine]:
        return [*self._kept]

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class LogNews(msgspec.Struct, frozen=True):
    """A change of one of several logs; its position counts the changes of all logs."""

    position: int
    log: str
    event: EventLine | None
    """The appended event; None if the log became readable or unreadable."""


class FollowedLog:
    """A log that is served: its pages, its newest events, and the answers to questions.

    A single thread opens its store and answers; the states of sprints stay in memory.
    """

    def __init__(self, name: str, opens: OpenWorkspace, pages: LivePages) -> None:
        self.name, self.opens, self.pages = name, opens, pages
        self.tail = Tail(0, lambda n, most: self.ask(lambda w: lines_after(w, n, most)))
        self._log, self._thread = ResidentLog(opens), ThreadPoolExecutor(1, "reader")
        self._follower: LogFollower | None = None

    async def ask(self, question: Callable[[Workspace], Answer]) -> Answer:
        """Return the answer to a question; errors are raised unchanged."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._thread, lambda: question(self._log.workspace())
        )

    async def start(self, tell: Callable[[str], None], hear: Callable[..., None]) -> None:
        """Start to follow the log, which is retried while the log cannot be read.

        `hear` receives the log's name and its new events; none if its state changed.
        """
        loop = asyncio.get_running_loop()
        with suppress(*PROBLEMS):
            async with asyncio.timeout(ANSWER_SECONDS):
                self.tail.position = await self.ask(lambda w: w.log.head().position)

        def took(lines: list[EventLine], problem: str | None) -> None:
            is_news, self.tail.problem = problem != self.tail.problem, problem
            self.tail.take(lines)
            if problem and is_news:
                tell(f"{self.name}: {problem}" if self.name else problem)
            if lines or is_news:
                hear(self.name, lines)

        def hand(page: Sequence[RecordedEvent], problem: str | None = None) -> bool:
            # The event loop may already be closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(took, [*map(event_line, page)], problem)
            return True

        self._follower = LogFollower(
            self.opens,
            after=self.tail.position,
            take=hand,
            fail=lambda error: hand((), error.message),
        )
        self._follower.start()

    async def part(self, query: str, name: str) -> Any:
        """Return the log's part of the overview, or the reason why it cannot be read."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self.ask(lambda w: self.pages.part(w, query, name))
        except PROBLEMS as error:
            return self.pages.unreadable(name, error)

    def end(self) -> None:
        """Stop following, and close the log."""
        if self._follower is not None:
            self._follower.end()
        self._thread.submit(self._log.close)
        self._thread.shutdown(wait=True, cancel_futures=False)


def lines_after(workspace: Workspace, after: int, limit: int) -> list[EventLine]:
    """Return at most `limit` events after a position, each as a line."""
    return [*map(event_line, islice(workspace.log.read(after=after), limit))]


def results_of(logs: Sequence[FollowedLog], by: str) -> str:
    """Return the page of the results in all logs that can be read, which this opens."""
    opened, left_out = dict[str, Workspace](), list[str]()
    with ExitStack() as stack:
        for log in logs:
            try:
                opened[log.name] = stack.enter_context(log.opens())
            except PROBLEMS as error:
                left_out.append(f"without {log.name or 'the log'}: {error}")
        return LivePages.results(grouped(opened, by), left_out)
