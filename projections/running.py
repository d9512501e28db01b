"""The reference loop: it performs what `next_action` answers, one thing at a time.

It keeps nothing in memory that the log does not say. Whoever kills it and starts it
again goes on where it was; only an agent's run that was cut short is made once more.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sprintlog.engine.log.fact import Fact
from sprintlog.engine.outside.agent_command import AgentRun, run_agent
from sprintlog.engine.outside.signals import InterruptedBySignal, Signals
from sprintlog.engine.sprint import lifecycle, phases
from sprintlog.engine.sprint import next as nexts
from sprintlog.engine.sprint.answers import Verdict, judge
from sprintlog.engine.sprint.facts import AgentRan, GateChecked
from sprintlog.engine.sprint.gates import verdict_of
from sprintlog.engine.sprint.retry import policy_of
from sprintlog.engine.sprint.state import Sprint
from sprintlog.engine.sprint.times import parse
from sprintlog.engine.sprint.words import FAILED, NEEDS_HUMAN, PASSED
from sprintlog.engine.sprint.work import end_run, start_run

from .catalogue import CODEC
from .gate_running import run_gate
from .refreshing import Refreshed
from .workspace import Outcome, Workspace

BEAT_SECONDS = 5 * 60
"""How often a heartbeat is recorded while an agent works."""


class Means(NamedTuple):
    """What a loop works with."""

    command: Sequence[str]
    """The agent's command; it is given the prompt on its standard input."""
    environment: Mapping[str, str]
    timeout_seconds: float
    """How long the command may take."""
    actor: str = "runtime"
    waits: bool = True
    """Whether it sleeps until a retry is due, or ends there."""
    masks: bool = True


Tell = Callable[[str], None]


class Runner:
    """Runs one sprint until it is done or a person is needed."""

    def __init__(
        self,
        workspace: Workspace,
        sprint_id: str,
        *,
        means: Means,
        signals: Signals,
        lock: int,
        tell: Tell,
    ) -> None:
        self._workspace = workspace
        self._id = sprint_id
        self._means = means
        self._signals = signals
        self._lock = lock
        """Held by every process that is started, so that none outlives its loop unseen."""
        self._tell = tell
        self._beaten = time.monotonic()
        self._perform: dict[str, Callable[[nexts.Action], None]] = {
            nexts.START: self._start,
            nexts.RESUME: self._resume,
            nexts.WORK: self._work,
            nexts.GATE: self._gate,
            nexts.END: self._end,
            nexts.RETRY: self._retry,
            nexts.WAIT: self._wait,
            nexts.COMPLETE: self._complete,
        }

    def run(self) -> nexts.Action:
        """Perform what is next, again and again; return the answer that ended it.

        A signal ends what is being run and is recorded as `sprint-interrupted`; it is
        raised again as `InterruptedBySignal`.
        """
        # Who was killed before may have left the state file behind the log.
        self._refresh()
        try:
            while True:
                with self._signals.interruptible():
                    action = self._next()
                if action.do not in self._perform:
                    return action
                if action.do == nexts.WAIT and not self._means.waits:
                    return action
                self._perform[action.do](action)
                self._refresh()
        except InterruptedBySignal as signal:
            why = f"the loop was ended by {signal}"
            self._act(lambda sprint, at: _interrupted(sprint, why))
            self._refresh()
            raise

    def _next(self) -> nexts.Action:
        sprint = self._workspace.sprint(self._id)
        return nexts.next_action(sprint, now=self._workspace.now())

    def _start(self, action: nexts.Action) -> None:
        self._act(lambda sprint, at: lifecycle.start_sprint(sprint))

    def _resume(self, action: nexts.Action) -> None:
        self._act(lambda sprint, at: lifecycle.resume_sprint(sprint))

    def _complete(self, action: nexts.Action) -> None:
        self._act(lambda sprint, at: lifecycle.complete_sprint(sprint))

    def _retry(self, action: nexts.Action) -> None:
        self._act(lambda sprint, at: phases.retry_phase(sprint, phase=action.phase))

    def _wait(self, action: nexts.Action) -> None:
        assert action.until is not None
        self._tell(f"wait   {action.phase} until {action.until}: {action.why}")
        left = parse(action.until) - parse(self._workspace.now())
        self._sleep(left.total_seconds())

    def _end(self, action: nexts.Action) -> None:
        assert action.phase is not None
        phase = action.phase

        def decide(sprint: Sprint, at: str) -> list[Fact]:
            done = phases.done_work(sprint.plan, phase)
            summary = done.summary if done else None
            return phases.complete_phase(sprint, phase=phase, summary=summary)

        self._act(decide)

    def _work(self, action: nexts.Action) -> None:
        assert action.phase is not None
        phase = action.phase
        self._act(lambda sprint, at: start_run(sprint, phase=phase))
        self._refresh()
        again = "again, it was cut short" if action.resumed else f"attempt {action.attempt}"
        self._tell(f"work   {phase} ({again})")
        ran, verdict = self._agent(action, is_repair=False)
        self._act(lambda sprint, at: end_run(sprint, ran=ran, verdict=verdict, at=at))

    def _gate(self, action: nexts.Action) -> None:
        if action.prompt is not None and not self._repair(action):
            return
        self._tell(f"gate   {action.phase} (attempt {action.attempt})")
        with self._signals.interruptible():
            ran = run_gate(
                self._workspace,
                self._id,
                environment=self._means.environment,
                phase=action.phase,
                actor=self._means.actor,
                masks=self._means.masks,
            )
        for fact in map(CODEC.decode, ran.outcome.events):
            if isinstance(fact, GateChecked):
                passed = verdict_of(fact) == PASSED
                how = "" if passed else f": exit code {fact.exit_code}"
                self._tell(f"       {'passed' if passed else 'failed'}{how}")

    def _repair(self, action: nexts.Action) -> bool:
        """Let the agent repair what a gate found; tell whether the gate is to be run.

        A failure that is worth another attempt waits as the policy has it.
        """
        policy = policy_of(self._workspace.sprint(self._id).document)
        for tried in range(policy.attempts_max + 1):
            self._tell(f"repair {action.phase} (before attempt {action.attempt})")
            ran, verdict = self._agent(action, is_repair=True)
            needs_human = verdict.status == NEEDS_HUMAN
            self._act(partial(_repaired, ran=ran, verdict=verdict))
            if verdict.status != FAILED or verdict.category not in policy.retry_on:
                return not needs_human
            self._sleep(policy.wait_ms(tried) / 1000)
        return True

    def _agent(self, action: nexts.Action, *, is_repair: bool) -> tuple[AgentRan, Verdict]:
        """Hand a prompt to the agent; return how that ended and what it means."""
        assert action.phase is not None
        assert action.prompt is not None
        own = {
            "SPRINT_ID": self._id,
            "SPRINTLOG_SPRINT": self._id,
            "PHASE_ID": action.phase,
            "ATTEMPT_NUMBER": str(action.attempt),
            **({"SPRINTLOG_MODEL": action.model} if action.model else {}),
        }
        self._beaten = time.monotonic()
        with self._signals.interruptible():
            run = run_agent(
                self._means.command,
                prompt=action.prompt,
                folder=self._workspace.location.root,
                environment={**self._means.environment, **own},
                timeout_seconds=self._means.timeout_seconds,
                held=[self._lock],
                tick=self._beat,
            )
        verdict = judge(
            output=run.output.answer,
            errors=run.errors.text(),
            exit_code=run.exit_code,
            timed_out=run.timed_out,
        )
        self._tell(f"       {_said(run, verdict)}")
        return _fact(action.phase, run, verdict, is_repair=is_repair), verdict

    def _beat(self) -> None:
        """Record a heartbeat when none was for a while; called every minute."""
        if time.monotonic() - self._beaten < BEAT_SECONDS:
            return
        self._beaten = time.monotonic()
        self._act(lambda sprint, at: lifecycle.beat(sprint))
        self._refresh()

    def _sleep(self, seconds: float) -> None:
        with self._signals.interruptible():
            time.sleep(max(seconds, 0.0))

    def _act(self, decide: Callable[[Sprint, str], list[Fact]]) -> Outcome:
        return self._workspace.act(
            self._id, decide, actor=self._means.actor, masks=self._means.masks
        )

    def _refresh(self) -> Refreshed:
        refreshed = self._workspace.refresh(self._id)
        if refreshed.problem:
            self._tell(f"warning: {refreshed.problem}")
        return refreshed


def _interrupted(sprint: Sprint, why: str) -> list[Fact]:
    return lifecycle.interrupt_sprint(sprint, reason=why) if sprint.is_running else []


def _repaired(sprint: Sprint, at: str, *, ran: AgentRan, verdict: Verdict) -> list[Fact]:
    if verdict.status != NEEDS_HUMAN or not sprint.is_running:
        return [ran]
    why = f"repairing the gate of {ran.phase}: {verdict.error}"
    return [ran, *lifecycle.block_sprint(sprint, reason=why)]


def _fact(phase: str, run: AgentRun, verdict: Verdict, *, is_repair: bool) -> AgentRan:
    return AgentRan(
        phase,
        verdict.status,
        exit_code=run.exit_code,
        timed_out=run.timed_out,
        duration_ms=run.duration_ms,
        is_repair=is_repair,
        output=run.output.text(),
        output_bytes=run.output.bytes,
        output_sha256=run.output.sha256,
        errors=run.errors.text(),
        usage=verdict.usage,
    )


def _said(run: AgentRun, verdict: Verdict) -> str:
    """Return how a run ended, on one line."""
    words = (verdict.error or verdict.summary or "").strip().split("\n")[0]
    took = f" in {run.duration_ms / 1000:.1f} s" if run.duration_ms is not None else ""
    return f"{verdict.status}{took}" + (f": {words}" if words else "")
