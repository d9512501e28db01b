"""Runs the hooks of iterations, some of them beside the loop; records what becomes of each.

Only the loop's own thread records. What runs beside it is ended with the loop at the
latest, whatever ends that.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from ...adapters.processes.hook_command import run_hook_command
from ...sprint.agent.actions import HookRun
from ...sprint.goal.hook_tasks import CompleteHook, FailHook, RunHook, SpawnHook
from .driver import Driver


class _News(NamedTuple):
    """What a thread has to say: the process of its hook runs, or has ended."""

    iteration: int
    hook: HookRun
    pid: int | None
    error: str | None = None


class Hooks:
    """The hooks of one loop."""

    def __init__(self, driver: Driver, directory: Path | None) -> None:
        self._driver = driver
        self._directory = directory
        """The sprint's directory; without one no transcript is kept."""
        self._news: SimpleQueue[_News] = SimpleQueue()
        self._beside: dict[str, threading.Thread] = {}
        self._end, self._ends = os.pipe()
        """Nothing is written here: the end of it is what tells all hooks to end."""

    def begin(self, iteration: int, hook: HookRun, *, again: bool = False) -> None:
        """Run a hook to its end, or begin to when it may run beside the loop.

        One that is still running for an earlier iteration is waited for.
        """
        while hook.id in self._beside:
            self._take()
        self._driver.handle(SpawnHook(hook.id, iteration, None, hook.transcript, again))
        self._driver.tell(f"hook   {hook.id} of iteration {iteration}")
        if hook.parallel:
            thread = threading.Thread(target=self._work, args=(iteration, hook))
            self._beside[hook.id] = thread
            thread.start()
            self._take()
            return
        with self._driver.signals.interruptible():
            error = self._run(iteration, hook, lambda pid: None)
        self._ended(iteration, hook, error)

    def has_news(self) -> bool:
        """Tell whether anything became of the hooks that run beside the loop."""
        return not self._news.empty()

    def collect(self) -> None:
        """Record what became of the hooks that run beside the loop."""
        while not self._news.empty():
            self._take()

    def wait(self) -> None:
        """Wait for all hooks that run beside the loop, and record how they ended."""
        while self._beside:
            self._take()

    def stop(self) -> None:
        """End what still runs; nothing is recorded of it, so that it is run again."""
        os.close(self._ends)
        for thread in self._beside.values():
            thread.join()
        os.close(self._end)

    def _work(self, iteration: int, hook: HookRun) -> None:
        def started(pid: int) -> None:
            self._news.put(_News(iteration, hook, pid))

        error: str | None = "it could not be run"
        try:
            error = self._run(iteration, hook, started)
        finally:
            # Somebody waits for this, whatever happened.
            self._news.put(_News(iteration, hook, None, error))

    def _run(
        self, iteration: int, hook: HookRun, started: Callable[[int], None]
    ) -> str | None:
        driver = self._driver
        path = self._directory / hook.transcript if self._directory else None
        own = {
            "HOOK_ID": hook.id,
            "HOOK_WORKFLOW": hook.workflow or "",
            "HOOK_TRANSCRIPT": str(path or ""),
            "ITERATION_NUMBER": str(iteration),
        }
        return run_hook_command(
            hook.command or "",
            prompt=hook.prompt or "",
            folder=driver.workspace.location.root,
            environment={**driver.environment("agent:hook"), **own},
            timeout_seconds=driver.means.timeout_seconds,
            transcript=path,
            held=[driver.lock],
            stop=self._end,
            started=started,
        )

    def _take(self) -> None:
        """Wait for what a thread has to say, and record it."""
        with self._driver.signals.interruptible():
            iteration, hook, pid, error = self._news.get()
        if pid is not None:
            self._driver.record(RunHook(hook.id, iteration, pid))
            return
        self._beside.pop(hook.id).join()
        self._ended(iteration, hook, error)

    def _ended(self, iteration: int, hook: HookRun, error: str | None) -> None:
        if error is None:
            self._driver.record(CompleteHook(hook.id, iteration))
            return
        self._driver.tell(f"       hook {hook.id} of iteration {iteration} failed: {error}")
        self._driver.record(FailHook(hook.id, iteration, error))
