"""The one thread that has the log open for reading, and answers one question at a time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sprintlog.projections.workspace import Workspace

from ..resident_log import OpenWorkspace, ResidentLog

Answer = TypeVar("Answer")


class LogReader:
    """Answers questions about a log; a store belongs to the thread that opened it.

    The states of sprints stay in memory from one question to the next.
    """

    def __init__(self, opens: OpenWorkspace) -> None:
        self._log = ResidentLog(opens)
        self._thread = ThreadPoolExecutor(1, "reader")

    async def ask(self, question: Callable[[Workspace], Answer]) -> Answer:
        """Return the answer to a question; errors of the engine are raised as they are."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._thread, lambda: question(self._log.workspace())
        )

    def close(self) -> None:
        """Close the log, and let the thread end."""
        self._thread.submit(self._log.close)
        self._thread.shutdown(wait=True, cancel_futures=False)
