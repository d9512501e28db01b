"""The reference loop: performs the actions that `next_action` returns, one at a time.

All its state is in the log: when a killed loop is started again, it continues from the
recorded state and repeats only an interrupted agent run. A prompt file may be missing
briefly while a program replaces it.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from ...adapters.processes.signals import InterruptedBySignal
from ...errors import NotFoundError, RefusedError
from ...log.event import Event
from ...sprint.agent import actions, runs, stops
from ...sprint.agent.actions import PERSON, Action
from ...sprint.agent.next import next_action, with_fallback
from ...sprint.answers.verdict import Verdict
from ...sprint.events import AgentRan, GateChecked, RetryScheduled
from ...sprint.iterations import budgets, measurement
from ...sprint.phases import gate, leaves, lifecycle, retry
from ...sprint.state.completion import done_work
from ...sprint.state.sprint import Sprint
from ...sprint.state.words import NO_SUCCESS, PASSED
from .. import learnings, prompts
from ..middlewares import Handling, refuse_edits
from ..streams.catalogue import CODEC
from ..work_tree.start_files import begun_with
from ..workspace import JOURNAL, ServiceWorkspace
from . import agent, follow_up, goal
from .gate import run_gate
from .runs import warn_of_budgets
from .waits import Waits

PATIENCE_SECONDS = 5.0
"""The maximum wait for a missing file, because some programs replace files in two steps."""
_AGAIN_SECONDS = 0.25


class Runner:
    """Runs a sprint until it is done or requires a person."""

    def __init__(self, driver: agent.Driver) -> None:
        self._driver = driver
        self._asked_at = 0
        """The sprint's version when the last action was determined."""
        self._follow_up = follow_up.FollowUp(driver)
        self._goal = goal.GoalWork(driver, self._follow_up)
        self._prompts = Prompts(
            driver.workspace, driver.means.prompt_file, sleep=driver.means.sleep
        )
        self._waits = Waits(driver)

    def run(self) -> actions.Action:
        """Perform actions until one of them ends the loop; return that action.

        A signal ends the running command and is recorded as `sprint-interrupted`; then
        `InterruptedBySignal` is raised again.
        """
        workspace = self._driver.workspace
        workspace.finish_restores(self._driver.sprint())
        # Rejected edits of state files must not be overwritten either.
        sprint = self._driver.sprint()
        refuse_edits(Handling(workspace, sprint, workspace.now(), {}))
        # A killed loop may not have updated the state files.
        if learnings.journal_is_open(workspace):
            workspace.behind.add(JOURNAL)
        self._driver.refresh()
        try:
            self._goal.take_up_hooks()
            return self._follow_up.select(self._go_on())
        except InterruptedBySignal as signal:
            why = f"the loop was ended by {signal}"
            self._driver.record(lambda sprint, at: _interrupted(sprint, why, at))
            self._driver.refresh()
            raise
        finally:
            if self._goal.hooks is not None:
                self._goal.hooks.stop()

    def _go_on(self) -> actions.Action:
        performs, has_begun = self._performs(), False
        while True:
            warn_of_budgets(self._driver)
            with self._driver.signals.interruptible():
                action = self._next()
            ends = action.do == actions.WAIT and not self._driver.means.waits
            if ends or action.do not in performs:
                if self._goal.hooks is not None:
                    self._goal.hooks.wait()
                    self._driver.refresh()
                return action
            if not has_begun and action.do in (actions.WORK, actions.ITERATE):
                measurement.check_until(self._driver.sprint())
                has_begun = True
            try:
                performs[action.do](action)
            except RefusedError:
                # Another process recorded an event, so the next action may differ.
                if self._next() == action:
                    raise
            if self._goal.hooks is not None:
                self._goal.hooks.collect()
            self._driver.refresh()

    def _performs(self) -> dict[str, Callable[[actions.Action], object]]:
        """Return the functions by action; any action without a function ends the loop."""
        handle = self._driver.handle
        return {
            actions.START: lambda _: handle(lifecycle.StartSprint()),
            actions.RESUME: lambda _: handle(lifecycle.ResumeSprint()),
            actions.WORK: self._work,
            actions.ITERATE: self._goal.iterate,
            actions.HOOKS: self._goal.run_hooks,
            actions.GATE: self._gate,
            actions.END: self._end,
            actions.RETRY: lambda action: handle(leaves.RetryPhase(action.phase)),
            actions.WAIT: self._wait,
            actions.COMPLETE: lambda _: handle(lifecycle.CompleteSprint()),
            **self._follow_up.performs(),
        }

    def _next(self) -> actions.Action:
        sprint = self._driver.sprint()
        self._asked_at = sprint.version
        now = self._driver.workspace.now()
        action = next_action(sprint, now=now)
        if self._driver.means.fallback:
            action = with_fallback(sprint, action, now=now)
        action = stops.stop_by_budget(sprint, action, now, of=budgets.OF_RUN) or action
        priority = self._driver.means.stops_on_request
        if priority is not None and action.do not in (actions.STOP, actions.DONE):
            action = stops.on_request(sprint, priority=priority) or action
        return self._prompts.told(sprint, action)

    def _wait(self, action: actions.Action) -> None:
        # Events recorded since the action was determined end the wait.
        self._waits.wait(action, version=self._asked_at, has_news=self._has_news)

    def _has_news(self) -> bool:
        return self._goal.hooks is not None and self._goal.hooks.has_news()

    def _end(self, action: actions.Action) -> None:
        assert action.phase is not None
        phase = action.phase

        def decide(sprint: Sprint, at: str) -> list[Event]:
            done = done_work(sprint.plan, phase)
            summary = done.summary if done else None
            return leaves.CompletePhase(phase=phase, summary=summary).decide(sprint, at)

        self._driver.handle(decide)

    def _work(self, action: actions.Action) -> None:
        assert action.phase is not None
        phase = action.phase
        files = self._follow_up.files_at_start()
        plan = self._driver.handle(begun_with(runs.StartRun(phase), files)).sprint.plan
        self._driver.refresh()
        how = "again, it was cut short" if action.resumed else f"attempt {action.attempt}"
        has_waited = plan.waiting is not None and plan.waiting.is_of(phase, None)
        again = "again, after the wait" if has_waited else how
        again = "by the fallback" if action.is_fallback else again
        self._driver.tell(f"work   {phase} ({again})")
        ran, verdict = self._agent(action, is_repair=False)
        self._driver.record(runs.EndRun(ran, verdict))
        self._driver.compare_sessions()
        self._follow_up.after_work()

    def _gate(self, action: actions.Action) -> None:
        if action.prompt is not None:
            self._repair(action)
            return
        self._driver.tell(f"gate   {action.phase} (attempt {action.attempt})")
        ran = run_gate(
            self._driver.workspace,
            self._driver.sprint_id,
            environment=self._driver.means.environment,
            pass_on=self._driver.means.gate_variables,
            phase=action.phase,
            actor=self._driver.means.actor,
            masks=self._driver.means.masks,
            interruptible=self._driver.signals.interruptible,
        )
        for event in map(CODEC.decode, ran.outcome.events):
            if isinstance(event, GateChecked):
                passed = gate.verdict_of(event) == PASSED
                why = "time limit" if event.timed_out else f"exit code {event.exit_code}"
                how = "" if passed else f": {why}"
                self._driver.tell(f"       {'passed' if passed else 'failed'}{how}")

    def _repair(self, action: actions.Action) -> None:
        """Run the agent to repair a failed gate.

        If the retry policy allows another attempt, a failed repair is repeated after a
        wait.
        """
        assert action.phase is not None
        policy = retry.policy_of(self._driver.sprint().document)
        files = self._follow_up.files_at_start()
        self._driver.handle(begun_with(runs.StartRepair(action.phase), files))
        for tried in range(policy.attempts_max + 1):
            self._driver.tell(f"repair {action.phase} (before attempt {action.attempt})")
            ran, verdict = self._agent(action, is_repair=True)
            fails = verdict.status in NO_SUCCESS and verdict.category in policy.retry_on
            again = fails and tried < policy.attempts_max and ran.interrupted_by is None
            ended = self._driver.record(runs.EndRepair(ran, verdict, again))
            self._driver.compare_sessions()
            if any(event.type == RetryScheduled.type for event in ended.events):
                # The loop waits for the limit before it continues the repair.
                return
            if not again:
                break
            self._driver.sleep(policy.wait_ms(tried) / 1000)
        self._follow_up.after_work()

    def _agent(
        self, action: actions.Action, *, is_repair: bool
    ) -> tuple[AgentRan, Verdict]:
        """Run the agent with a prompt; return the event for the run, and the verdict."""
        action = self._driver.with_notes(action)
        assert action.phase is not None
        assert action.prompt is not None
        own = {
            "PHASE_ID": action.phase,
            "ATTEMPT_NUMBER": str(action.attempt),
            **({"ITERATION_NUMBER": str(action.iteration)} if action.iteration else {}),
            **({"SPRINTLOG_MODEL": action.model} if action.model else {}),
        }
        to, is_fallback = action.prompt, action.is_fallback
        asked = self._driver.ask(to, own, told=to, is_fallback=is_fallback)
        return agent.ran_as(action.phase, asked, is_repair=is_repair), asked.verdict


class Prompts(NamedTuple):
    """Adds the agent's prompts to actions."""

    workspace: ServiceWorkspace
    file: str | None
    sleep: Callable[[float], None] = time.sleep

    def told(self, sprint: Sprint, action: Action) -> Action:
        """Return an action with its prompt, or a stop if its prompt file is unreadable."""
        tries = round(PATIENCE_SECONDS / _AGAIN_SECONDS)
        while True:
            try:
                return prompts.with_prompt(self.workspace, sprint, action, file=self.file)
            except NotFoundError as error:
                if tries <= 0:
                    return self._stop(action, error)
            except RefusedError as error:
                return self._stop(action, error)
            tries -= 1
            self.sleep(_AGAIN_SECONDS)

    def _stop(self, action: Action, error: RefusedError) -> Action:
        hint = "fix it, then run the same command again"
        return actions.stop(PERSON, f"the prompt file: {error.message}", hint, action)


def _interrupted(sprint: Sprint, why: str, at: str) -> list[Event]:
    if not sprint.is_running:
        return []
    return lifecycle.InterruptSprint(why).decide(sprint, at)
