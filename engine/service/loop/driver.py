"""What both loops of `run` stand on: the agent is asked, what came of it is recorded."""

import time
from collections.abc import Callable, Mapping, Sequence
from os import urandom
from pathlib import PurePath
from typing import NamedTuple

from ...adapters.agents.activity import Activity
from ...adapters.agents.output import Hearing, with_errors
from ...adapters.agents.ran import figures
from ...adapters.processes.agent_command import AgentRun, run_agent
from ...adapters.processes.signals import Signals
from ...sprint.agent.answers import Verdict, judge
from ...sprint.events import AgentRan
from ...sprint.phases import lifecycle
from ...sprint.state.sprint import Sprint
from ..agent_sessions.places import CORRELATION
from ..port import Decide, Outcome
from ..state_files import Refreshed
from ..workspace import ServiceWorkspace

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
    gate_variables: Sequence[str] = ()
    """What more of the environment is passed on to a gate's script."""
    hook_command: str | None = None
    """What a shell runs for each hook that has no `command` of its own."""
    keeps_files: bool = False
    """Whether the work tree's files are kept at the end of each iteration."""
    rest_seconds: float = 1.0
    """How long it rests after an iteration towards a goal in which nothing changed."""
    sleep: Callable[[float], None] = time.sleep
    """What lets it wait."""
    stops_on_request: str | None = None
    """At an undecided request of this priority or a higher one it ends at once."""


def agent_of(means: Means) -> str:
    """Return who the agent is in what it records itself: its command's name."""
    if means.actor.startswith("agent:"):
        return means.actor
    return f"agent:{PurePath(means.command[0]).name or 'command'}"[:128]


class Reply(NamedTuple):
    """What became of a prompt that was handed to the agent."""

    run: AgentRun
    verdict: Verdict
    activity: Activity


Tell = Callable[[str], None]


class Driver:
    """Knows one sprint, an agent's command, and how to record."""

    def __init__(
        self,
        workspace: ServiceWorkspace,
        sprint_id: str,
        *,
        means: Means,
        signals: Signals,
        lock: int,
        tell: Tell,
    ) -> None:
        self.workspace = workspace
        self.sprint_id = sprint_id
        self.means = means
        self.signals = signals
        self.lock = lock
        """Held by every process that is started, so that none outlives its loop unseen."""
        self.tell = tell
        self._beaten = time.monotonic()
        self.correlation = means.environment.get(CORRELATION) or urandom(16).hex()
        """Names all that this run records, and what its agents do."""

    def sprint(self) -> Sprint:
        """Return the sprint as it is."""
        return self.workspace.sprint(self.sprint_id)

    def environment(self, actor: str) -> dict[str, str]:
        """Return the environment of what is run, which records as this actor."""
        return {
            **self.means.environment,
            "SPRINT_ID": self.sprint_id,
            "SPRINTLOG_SPRINT": self.sprint_id,
            "SPRINTLOG_ACTOR": actor,
            CORRELATION: self.correlation,
            # What is wrapped within is part of the iteration that is recorded here.
            "SPRINTLOG_WITHIN": "run",
        }

    def ask(
        self,
        prompt: str,
        own: Mapping[str, str],
        *,
        read: Callable[[str], Verdict] | None = None,
        told: str = "",
    ) -> Reply:
        """Hand a prompt to the agent; return how that ended and what it means."""
        self._beaten = time.monotonic()
        hearing = Hearing(told=told)
        with self.signals.interruptible():
            run = run_agent(
                self.means.command,
                prompt=prompt,
                folder=self.workspace.location.root,
                environment={**self.environment(agent_of(self.means)), **own},
                timeout_seconds=self.means.timeout_seconds,
                held=[self.lock],
                listen=hearing.feed,
                tick=self._beat,
            )
        errors = run.errors.text()
        answer, activity = with_errors(hearing.heard(), errors, exit_code=run.exit_code)
        verdict = judge(
            answer,
            errors=errors,
            exit_code=run.exit_code,
            timed_out=run.timed_out,
            read=read,
        )
        self.tell(f"       {_said(run, verdict)}")
        return Reply(run, verdict, activity)

    def _beat(self) -> None:
        """Record a heartbeat when none was for a while; called every minute."""
        if time.monotonic() - self._beaten < BEAT_SECONDS:
            return
        self._beaten = time.monotonic()
        self.handle(lifecycle.RecordHeartbeat())
        self.refresh()

    def sleep(self, seconds: float) -> None:
        """Wait, unless a signal comes."""
        with self.signals.interruptible():
            self.means.sleep(max(seconds, 0.0))

    def handle(self, decide: Decide) -> Outcome:
        """Let the sprint decide, and append that."""
        return self.workspace.handle_with(
            self.sprint_id,
            decide,
            actor=self.means.actor,
            masks=self.means.masks,
            correlation_id=self.correlation,
        )

    def refresh(self) -> Refreshed:
        """Bring the state files up to date, and tell what is wrong with them."""
        refreshed = self.workspace.refresh(self.sprint_id)
        if refreshed.problem:
            self.tell(f"warning: {refreshed.problem}")
        return refreshed


def ran_as(
    phase: str,
    reply: Reply,
    *,
    is_repair: bool = False,
    iteration: int | None = None,
) -> AgentRan:
    """Return what is recorded of an agent's run."""
    run, verdict = reply.run, reply.verdict
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
        iteration=iteration,
        **figures(reply.activity),
    )


def _said(run: AgentRun, verdict: Verdict) -> str:
    """Return how a run ended, on one line."""
    words = (
        (verdict.reason or verdict.error or verdict.summary or "").strip().split("\n")[0]
    )
    took = f" in {run.duration_ms / 1000:.1f} s" if run.duration_ms is not None else ""
    return f"{verdict.status}{took}" + (f": {words}" if words else "")
