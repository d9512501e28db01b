"""The hooks that run after each iteration (LOOP-050 to LOOP-055) and their commands."""

import re
from typing import Any

from msgspec.structs import replace

from ...command import Command, Events
from ...errors import NotFoundError, RefusedError
from ...log.event import Event
from ..events import HookTaskCompleted, HookTaskFailed, HookTaskRunning, HookTaskSpawned
from ..state.document_fields import Hook, hooks_of, list_of
from ..state.sprint import Evolve, Evolves, Plan, Sprint
from ..state.transitions import check_exists
from ..state.tree import Data
from ..state.words import COMPLETED, FAILED, RUNNING, SPAWNED
from .loop import last_ended_iteration

Said = HookTaskRunning | HookTaskCompleted | HookTaskFailed

TASK_FROM = {RUNNING: (SPAWNED,), COMPLETED: (SPAWNED, RUNNING), FAILED: (SPAWNED, RUNNING)}
"""The statuses from which each status can be reached (LOOP-053)."""


class SpawnHook(Command, frozen=True):
    """Record that a hook is about to run; `again` is set if its earlier process died."""

    hook_id: str
    iteration: int | None = None
    pid: int | None = None
    transcript: str | None = None
    again: bool = False

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        number, task = _find(sprint, self.hook_id, self.iteration)
        if not any(hook.id == self.hook_id for hook in hooks_of(sprint.plan.document)):
            raise NotFoundError(f"no active hook {self.hook_id}", hook=self.hook_id)
        place = self.transcript or transcript_of(number, self.hook_id)
        _check_transcript(place)
        event = HookTaskSpawned(number, self.hook_id, place, self.pid)
        if task is None or (self.again and task.get("status") in (SPAWNED, RUNNING)):
            return [event]
        if sprint.plan.last.hooks.of(self.hook_id) == event:
            return []
        raise _refused(number, self.hook_id, task, SPAWNED)


class RunHook(Command, frozen=True):
    """Record that a hook's process is running."""

    hook_id: str
    iteration: int | None = None
    pid: int | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        running = HookTaskRunning(0, self.hook_id, self.pid)
        return _say(sprint, RUNNING, running, self.iteration)


class CompleteHook(Command, frozen=True):
    """Record that a hook succeeded."""

    hook_id: str
    iteration: int | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        return _say(sprint, COMPLETED, HookTaskCompleted(0, self.hook_id), self.iteration)


class FailHook(Command, frozen=True):
    """Record that a hook failed."""

    hook_id: str
    iteration: int | None = None
    error: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        failed = HookTaskFailed(0, self.hook_id, self.error)
        return _say(sprint, FAILED, failed, self.iteration)


def hooks_due(plan: Plan) -> list[Hook]:
    """Return the hooks not yet started for the iteration that ended last."""
    number, hooks = last_ended_iteration(plan), hooks_of(plan.document)
    tasks = tasks_of(plan.document) if number and hooks else {}
    return [hook for hook in hooks if number and (number, hook.id) not in tasks]


def tasks_of(document: Data) -> dict[tuple[int, str], Data]:
    """Return the recorded executions of hooks, by iteration and hook id."""
    return {
        (task["iteration"], task["hook-id"]): task
        for task in list_of(document, "hook-tasks")
        if isinstance(task, dict)
        and type(task.get("iteration")) is int
        and isinstance(task.get("hook-id"), str)
    }


def transcript_of(number: int, hook_id: str) -> str:
    """Return the path of a hook's transcript, relative to the sprint's directory.

    Characters that are unsafe in a file name are replaced.
    """
    return f"transcripts/iter-{number}-{re.sub(r'[^A-Za-z0-9._-]', '_', hook_id)}.jsonl"


def _check_transcript(path: str) -> None:
    parts = path.replace("\\", "/").split("/")
    if path.startswith(("/", "\\")) or ".." in parts or not path.isprintable():
        raise RefusedError(
            f"transcript: {path[:60]!r} is outside the sprint's directory",
            field="transcript",
        )


def _say(sprint: Sprint, word: str, event: Said, iteration: int | None) -> list[Event]:
    number, task = _find(sprint, event.hook_id, iteration)
    event = replace(event, iteration=number)
    if task is None:
        raise NotFoundError(
            f"hook {event.hook_id} of iteration {number} was not spawned",
            hint=f"run `sprintlog hook-task spawned {event.hook_id} --iteration {number}` "
            "first",
            hook=event.hook_id,
            iteration=number,
        )
    if sprint.plan.last.hooks.of(event.hook_id) == event:
        return []
    if task.get("status") not in TASK_FROM[word]:
        raise _refused(number, event.hook_id, task, word)
    return [event]


def _find(sprint: Sprint, hook_id: str, iteration: int | None) -> tuple[int, Data | None]:
    check_exists(sprint)
    number = sprint.plan.iteration if iteration is None else iteration
    if number < 1:
        raise RefusedError(
            f"hook {hook_id}: no iteration has started", field="iteration", hook=hook_id
        )
    return number, _task(sprint.plan.document, number, hook_id)


def _task(document: Data, number: int, hook_id: str) -> Data | None:
    """Return the record of a hook's execution in an iteration, or None."""
    for task in reversed(list_of(document, "hook-tasks")):
        if (
            isinstance(task, dict)
            and task.get("iteration") == number
            and task.get("hook-id") == hook_id
        ):
            return task
    return None


def _refused(number: int, hook_id: str, task: Data, word: str) -> RefusedError:
    state = task.get("status")
    allowed = [name for name, states in TASK_FROM.items() if state in states]
    return RefusedError(
        f"hook {hook_id} of iteration {number} is {state}: it cannot be {word}; "
        f"allowed: {', '.join(allowed) or 'nothing'}",
        hook=hook_id,
        state=state,
        command=word,
        allowed=allowed,
    )


def _evolves(word: str) -> Evolve:
    def evolve(plan: Plan, event: Any, at: str) -> None:
        task = _task(plan.document, event.iteration, event.hook_id)
        if word == SPAWNED and task is None:
            tasks = plan.document.get("hook-tasks")
            if not isinstance(tasks, list):
                tasks = plan.document["hook-tasks"] = []
            task = {"iteration": event.iteration, "hook-id": event.hook_id}
            tasks.append(task)
        # An observed event may refer to a task that does not exist.
        if task is None:
            return
        task["status"] = word
        # Only a hook that runs in the background has a process (LOOP-052).
        task["pid"] = getattr(event, "pid", None)
        if word == SPAWNED:
            task["transcript"] = event.transcript
        plan.last.hooks[event.hook_id] = event

    return evolve


EVOLVE: Evolves = {
    HookTaskSpawned: _evolves(SPAWNED),
    HookTaskRunning: _evolves(RUNNING),
    HookTaskCompleted: _evolves(COMPLETED),
    HookTaskFailed: _evolves(FAILED),
}


CAUSED: Events = {
    HookTaskSpawned: SpawnHook,
    HookTaskRunning: RunHook,
    HookTaskCompleted: CompleteHook,
    HookTaskFailed: FailHook,
}
