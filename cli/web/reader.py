"""The one thread that has the log open for reading, and answers one question at a time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

from sprintlog.projections.workspace import Workspace

Answer = TypeVar("Answer")
OpenWorkspace = Callable[[], Workspace]


class LogReader:
    """Answers questions about a log; a store belongs to the thread that opened it.

    The states of sprints stay in memory from one question to the next.
    """

    def __init__(self, open_workspace: OpenWorkspace) -> None:
        self._open = open_workspace
        self._thread = ThreadPoolExecutor(1, "reader")
        self._held = ExitStack()
        self._workspace: Workspace | None = None

    async def ask(self, question: Callable[[Workspace], Answer]) -> Answer:
        """Return the answer to a question; errors of the engine are raised as they are."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._answer, question)

    def close(self) -> None:
        """Close the log, and let the thread end."""
        self._thread.submit(self._held.close)
        self._thread.shutdown(wait=True, cancel_futures=False)

    def _answer(self, question: Callable[[Workspace], Answer]) -> Answer:
        if self._workspace is None:
            self._workspace = self._held.enter_context(self._open())
        return question(self._workspace)
