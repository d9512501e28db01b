"""The loop's half for a goal, and the hooks that are run after any iteration."""

from functools import partial
from pathlib import Path

from msgspec import structs

from ...errors import RefusedError
from ...masking import mask
from ...sprint.agent.actions import Action, HookRun
from ...sprint.agent.answers import Verdict
from ...sprint.goal.answers import Turn, read_turn
from ...sprint.goal.hook_tasks import tasks_of
from ...sprint.goal.next import run_of
from ...sprint.goal.prompt import said_in
from ...sprint.goal.settings import hooks_of
from ...sprint.goal.work import EndTurn, StartTurn
from ...sprint.state.words import COMPLETED, IN_PROGRESS, INTERRUPTED, RUNNING, SPAWNED
from ..work_tree.start_files import begun_with
from .driver import Driver, ran_as
from .follow_up import FollowUp
from .hooks import Hooks


class GoalWork:
    """Performs what is next for a goal."""

    def __init__(self, driver: Driver, follow_up: FollowUp) -> None:
        self._driver = driver
        self._follow_up = follow_up
        self.hooks: Hooks | None = None
        """None until the first of them is begun."""

    def iterate(self, action: Action) -> None:
        """Hand the goal to the agent once more."""
        assert action.prompt is not None
        # What a loop that was killed did not come to; before the first the baseline.
        files = self._follow_up.files_at_start()
        self._driver.handle(begun_with(StartTurn(), files))
        self._driver.refresh()
        plan = self._driver.sprint().plan
        number = plan.turns.number
        told = said_in(plan, action.prompt)
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
        self._driver.record(EndTurn(ran, asked.verdict))
        self._driver.compare_sessions()
        self._follow_up.after_work()
        self._rest(number)

    def _rest(self, number: int) -> None:
        """Rest after an iteration that changed nothing: what answers at once costs, too."""
        plan = self._driver.sprint().plan
        ended = plan.is_at_goal and plan.turns.ended == number
        if ended and plan.turns.idle and plan.status == IN_PROGRESS:
            self._driver.refresh()
            self._driver.sleep(self._driver.means.rest_seconds)

    def _read(self, text: str, *, told: str) -> Verdict:
        """Return the verdict on an answer, its prompts as they will be recorded.

        So a step that is named again is known again.
        """
        verdict = read_turn(text, told=told)
        if not isinstance(verdict, Turn) or not self._driver.means.masks:
            return verdict
        pending = (w._replace(prompt=w.prompt and mask(w.prompt)) for w in verdict.pending)
        return structs.replace(verdict, pending=tuple(pending))

    def run_hooks(self, action: Action) -> None:
        """Begin the hooks that are due after an iteration."""
        assert action.iteration is not None
        for hook in action.hooks:
            self._begin_hook(action.iteration, hook)

    def _begin_hook(self, iteration: int, hook: HookRun, *, again: bool = False) -> None:
        chosen = self._with_command(hook)
        if self.hooks is None:
            self.hooks = self._make_hooks()
        self.hooks.begin(iteration, chosen, again=again)

    def take_up_hooks(self) -> None:
        """See that every hook can be run; run again what a loop that was killed ran.

        It held the lock that is ours now, and so did all that it started: nothing of it
        is left.
        """
        plan = self._driver.sprint().plan
        hooks = {hook.id: hook for hook in hooks_of(plan.document)}
        for hook in hooks.values() if plan.status != COMPLETED else ():
            self._with_command(run_of(hook, 1))
        if plan.status not in (IN_PROGRESS, INTERRUPTED, COMPLETED):
            return
        for (number, hook_id), task in list(tasks_of(plan.document).items()):
            if hook_id in hooks and task.get("status") in (SPAWNED, RUNNING):
                self._begin_hook(number, run_of(hooks[hook_id], number), again=True)

    def _with_command(self, hook: HookRun) -> HookRun:
        """Return a hook with the command it is run by; raise `RefusedError` without any."""
        command = hook.command or self._driver.means.hook_command
        if not command:
            raise RefusedError(
                f"hook {hook.id} says no command to run",
                hint="give one with --hook-command, or as `command` of the hook",
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
