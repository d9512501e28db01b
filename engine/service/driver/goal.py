"""The part of the loop for goals, and the hooks that run after every iteration.

Only the loop's own thread records events. Hooks that run in parallel with the loop end no
later than the loop, even if an error or a signal ends it.
"""

import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from msgspec import structs

from ...adapters.processes.programs import run_hook_command
from ...errors import RefusedError
from ...masking import mask
from ...sprint.agent import prompt, runs
from ...sprint.agent.actions import Action, HookRun
from ...sprint.agent.next import run_of
from ...sprint.answers.verdict import Turn, Verdict, read_turn
from ...sprint.iterations import hook_tasks
from ...sprint.state import document_fields, words
from ..work_tree.start_files import begun_with
from .agent import Driver, ran_as
from .follow_up import FollowUp


class _News(NamedTuple):
    """A message from a hook's thread: its process has started, or has ended."""

    iteration: int
    hook: HookRun
    pid: int | None
    error: str | None = None


class Hooks:
    """The hooks of a single loop."""

    def __init__(self, driver: Driver, directory: Path | None) -> None:
        self._driver = driver
        self._directory = directory
        """The sprint's directory for transcripts; None to store no transcripts."""
        self._news: SimpleQueue[_News] = SimpleQueue()
        self._beside: dict[str, threading.Thread] = {}
        self._end, self._ends = os.pipe()
        """A pipe that is never written to: closing it ends all hooks."""

    def begin(self, iteration: int, hook: HookRun, *, again: bool = False) -> None:
        """Run a hook to its end, or start it if it may run in parallel with the loop.

        Wait first if the same hook is still running for an earlier iteration.
        """
        while hook.id in self._beside:
            self._take()
        self._driver.handle(
            hook_tasks.SpawnHook(hook.id, iteration, None, hook.transcript, again)
        )
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
        """Return whether parallel hooks have sent messages."""
        return not self._news.empty()

    def collect(self) -> None:
        """Record the pending messages of parallel hooks."""
        while not self._news.empty():
            self._take()

    def wait(self) -> None:
        """Wait for all parallel hooks, and record how they ended."""
        while self._beside:
            self._take()

    def stop(self) -> None:
        """End the running hooks without recording their ends, so that they run again."""
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
            # The loop waits for this message in any case.
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
        """Wait for a message from a thread, and record it."""
        with self._driver.signals.interruptible():
            iteration, hook, pid, error = self._news.get()
        if pid is not None:
            self._driver.record(hook_tasks.RunHook(hook.id, iteration, pid))
            return
        self._beside.pop(hook.id).join()
        self._ended(iteration, hook, error)

    def _ended(self, iteration: int, hook: HookRun, error: str | None) -> None:
        if error is None:
            self._driver.record(hook_tasks.CompleteHook(hook.id, iteration))
            return
        self._driver.tell(f"       hook {hook.id} of iteration {iteration} failed: {error}")
        self._driver.record(hook_tasks.FailHook(hook.id, iteration, error))


class GoalWork:
    """Performs the next actions of a goal."""

    def __init__(self, driver: Driver, follow_up: FollowUp) -> None:
        self._driver = driver
        self._follow_up = follow_up
        self.hooks: Hooks | None = None
        """The hooks; None until the first hook starts."""

    def iterate(self, action: Action) -> None:
        """Run the agent for one iteration of the goal."""
        # Catch up on steps that a killed loop missed; at first, that is the baseline.
        self._driver.handle(begun_with(runs.StartTurn(), self._follow_up.files_at_start()))
        self._driver.refresh()
        action = self._driver.with_notes(action)
        assert action.prompt is not None
        plan = self._driver.sprint().plan
        number = plan.turns.number
        told = prompt.said_in(plan, action.prompt)
        attempt = f", attempt {action.attempt}" if action.attempt != 1 else ""
        how = ", reflects" if action.reflection else ""
        how += ", by the fallback" if action.is_fallback else ""
        self._driver.tell(f"work   iteration {number}{attempt}{how}")
        own = {
            "ITERATION_NUMBER": str(number),
            "ATTEMPT_NUMBER": str(action.attempt),
            **({"SPRINTLOG_MODEL": action.model} if action.model else {}),
        }
        read = partial(self._read, told=told)
        asked = self._driver.ask(
            action.prompt, own, read=read, told=told, is_fallback=action.is_fallback
        )
        ran = ran_as("", asked, iteration=number)
        self._driver.record(runs.EndTurn(ran, asked.verdict))
        self._driver.compare_sessions()
        self._follow_up.after_work()
        self._rest(number)

    def _rest(self, number: int) -> None:
        """Pause after an iteration without changes: even immediate answers cost money."""
        plan = self._driver.sprint().plan
        ended = plan.is_at_goal and plan.turns.ended == number
        if ended and plan.turns.idle and plan.status == words.IN_PROGRESS:
            self._driver.refresh()
            self._driver.sleep(self._driver.means.rest_seconds)

    def _read(self, text: str, *, told: str) -> Verdict:
        """Return the verdict on an answer, with prompts masked as in recorded events.

        A step that the agent reports again can therefore be recognized.
        """
        verdict = read_turn(text, told=told)
        if not isinstance(verdict, Turn) or not self._driver.means.masks:
            return verdict
        pending = (w._replace(prompt=w.prompt and mask(w.prompt)) for w in verdict.pending)
        return structs.replace(verdict, pending=tuple(pending))

    def run_hooks(self, action: Action) -> None:
        """Start the hooks that are due after an iteration."""
        assert action.iteration is not None
        for hook in action.hooks:
            self._begin_hook(action.iteration, hook)

    def _begin_hook(self, iteration: int, hook: HookRun, *, again: bool = False) -> None:
        chosen = self._with_command(hook)
        if self.hooks is None:
            self.hooks = self._make_hooks()
        self.hooks.begin(iteration, chosen, again=again)

    def take_up_hooks(self) -> None:
        """Check that every hook has a command; rerun the unfinished hooks of a killed loop.

        This loop holds the lock that the killed loop and all its processes held, so none of
        these processes is still running.
        """
        plan = self._driver.sprint().plan
        hooks = {hook.id: hook for hook in document_fields.hooks_of(plan.document)}
        for hook in hooks.values() if plan.status != words.COMPLETED else ():
            self._with_command(run_of(hook, 1))
        if plan.status not in (words.IN_PROGRESS, words.INTERRUPTED, words.COMPLETED):
            return
        for (number, hook_id), task in list(hook_tasks.tasks_of(plan.document).items()):
            if hook_id in hooks and task.get("status") in (words.SPAWNED, words.RUNNING):
                self._begin_hook(number, run_of(hooks[hook_id], number), again=True)

    def _with_command(self, hook: HookRun) -> HookRun:
        """Return a hook with its command; raise `RefusedError` if it has none."""
        command = hook.command or self._driver.means.hook_command
        if not command:
            raise RefusedError(
                f"hook {hook.id} has no command",
                hint="specify one with --hook-command, or as the hook's `command`",
                hook=hook.id,
            )
        return structs.replace(hook, command=command)

    def _make_hooks(self) -> Hooks:
        workspace, sprint = self._driver.workspace, self._driver.sprint()
        place = sprint.plan.place
        directory: Path | None = None
        if place is not None and workspace.tree.has(sprint.knowledge.own_tree):
            directory = (workspace.location.root / place.path).parent
        return Hooks(self._driver, directory)
