"""What both loops of `run` stand on: the agent is asked, what came of it is recorded."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from os import urandom
from pathlib import PurePath
from typing import NamedTuple, Unpack

from msgspec.structs import replace

from ...adapters.agents.activity import Activity
from ...adapters.agents.calls import StreamCalls
from ...adapters.agents.output import Hearing, with_errors
from ...adapters.processes.gate_script import AgentRun, environment_of, run_agent
from ...adapters.processes.signals import Signals
from ...adapters.zones import moment_at
from ...judging.loop_rules import MeasureRules
from ...masking import cut
from ...sessions.names import CORRELATION, work_in
from ...sprint.agent.actions import Action
from ...sprint.agent.notices import Notice
from ...sprint.answers.items import SaidItems
from ...sprint.answers.verdict import Verdict, judge, said_beside
from ...sprint.events import AgentRan, Budgets, Price
from ...sprint.iterations.agent_runs import OUTCOMES
from ...sprint.phases import lifecycle
from ...sprint.runs.budgets import priced
from ...sprint.state.sprint import Sprint
from ...sprint.state.words import COMPLETED, is_agent
from ...usage import Usage
from ..after_commit import catch_up
from ..agent_sessions.ran import figures
from ..agent_sessions.run_ended import AgentRunEnded
from ..place.anchor import follow
from ..port import Decide, Envelope, Outcome, Refreshed, Skippable
from ..resumed import taken_alone
from ..workspace import ServiceWorkspace
from .notices import Notices
from .pulse import Pulse
from .spooled_runs import SpooledRun


def items_in(
    workspace: ServiceWorkspace,
    sprint_id: str,
    text: str,
    *,
    told: str,
    **envelope: Unpack[Envelope],
) -> SaidItems | None:
    """Return what final words say, once the journal that is open has the learnings.

    What only repeats lines of `told` says nothing.
    """
    said = said_beside(text, told=told)
    if said is None or not said.learnings:
        return said
    # Imported here: few agents say what they learned.
    from ..learnings import keep_learnings

    return keep_learnings(workspace, sprint_id, said, **envelope)


COMMAND_CHARS_MAX = 512
BEAT_SECONDS = 5 * 60
"""How often a heartbeat is recorded while an agent works."""


class Means(NamedTuple):
    """What a loop works with."""

    command: Sequence[str]
    """The agent's command; it is given the prompt on its standard input."""
    environment: Mapping[str, str]
    timeout_seconds: float
    """How long the command may take."""
    idle_seconds: float | None = None
    """How long it may print nothing: see `Pulse`."""
    actor: str = "runtime"
    waits: bool = True
    """Whether it sleeps until a retry is due, or ends there."""
    masks: bool = True
    agent_variables: Sequence[str] | None = None
    """What agents and hooks get of the environment beside what a script gets; None: all."""
    gate_variables: Sequence[str] = ()
    """What more of the environment is passed on to a gate's script."""
    hook_command: str | None = None
    """What a shell runs for each hook that has no `command` of its own."""
    measure: MeasureRules | None = None
    """What is run and read after each iteration, before what the rules say of it."""
    measure_variables: Sequence[str] = ()
    """What more of the environment is passed on to what is run for that."""
    rest_seconds: float = 1.0
    """How long it rests after an iteration towards a goal in which nothing changed."""
    sleep: Callable[[float], None] = time.sleep
    """What lets it wait."""
    show: Callable[[Action | None, float], None] | None = None
    """Shows what is waited for, and for how many seconds more; None takes it away."""
    budgets: Budgets = Budgets()
    """What this run may spend."""
    price: Price | None = None
    """What tokens cost where the agent does not say it."""
    stops_on_request: str | None = None
    """At an undecided request of this priority or a higher one it ends at once."""
    prompt_file: str | None = None
    """A template for the prompt, by its path from the work tree's root."""
    notices: Notices | None = None
    """What tells somebody what happens."""
    told_wait_seconds: float = 600.0
    """A wait that is longer is told."""
    options: Sequence[str] = ()
    """What a person types to say the same of this that no rule says."""
    fallback: str | None = None
    """What a shell runs for a prompt while a limit prevents `command`."""


def agent_of(means: Means, program: str) -> str:
    """Return who the agent is in what it records itself: its program's name."""
    if means.actor.startswith("agent:"):
        return means.actor
    return f"agent:{PurePath(program).name or 'command'}"[:128]


class Reply(NamedTuple):
    """What became of a prompt that was handed to the agent."""

    run: AgentRun
    verdict: Verdict
    activity: Activity
    prompt_sha256: str
    """sha256 of the prompt, in hexadecimal."""
    model: str | None = None
    """The one that it was told to use."""
    is_priced: bool = False
    """Whether its cost is computed from its tokens."""
    is_hung: bool = False
    """Whether it was ended after its complete result."""
    fallback: str | None = None
    """The command of the fallback, if that was asked."""


Tell = Callable[[str], None]
AfterRun = Callable[[AgentRunEnded], None]


class Driver:
    """Knows one sprint, an agent's command, and how to record."""

    def __init__(
        self,
        workspace: ServiceWorkspace,
        sprint_id: str,
        means: Means,
        signals: Signals,
        lock: int,
        tell: Tell,
        after_run: AfterRun | None = None,
    ) -> None:
        self.workspace = workspace
        self.sprint_id = sprint_id
        self.means = means
        self.signals = signals
        self.lock = lock
        """Held by every process that is started, so that none outlives its loop unseen."""
        self.tell = tell
        self._beaten = time.monotonic()
        self.correlation = work_in(means.environment) or urandom(16).hex()
        """Names all that this run records, and what its agents do."""
        self._after_run = after_run
        self._ended: AgentRunEnded | None = None
        """The agent's last run, until its sessions were compared."""
        self.is_asking = False
        """Whether an agent is at work."""
        self.unrecorded: SpooledRun | None = None
        """The agent's last run, until it is recorded."""

    def notify(self, notice: Notice) -> None:
        """Tell somebody what happened, where anybody wants to hear."""
        if self.means.notices is not None:
            self.means.notices.send(notice)

    def sprint(self) -> Sprint:
        """Return the sprint as it is."""
        return self.workspace.sprint(self.sprint_id)

    def environment(self, actor: str) -> dict[str, str]:
        """Return the environment of what is run, which records as this actor."""
        given, more = self.means.environment, self.means.agent_variables
        return {
            **(given if more is None else environment_of(given, extra=more)),
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
        is_fallback: bool = False,
    ) -> Reply:
        """Hand a prompt to the agent; return how that ended and what it means."""
        self._beaten = time.monotonic()
        calls = StreamCalls()
        since = self.workspace.log.head().position
        means = self.means
        other = means.fallback if is_fallback else None
        command = ("/bin/sh", "-c", other) if other else means.command
        program = other.split()[0] if other else command[0]
        pulse = Pulse(
            is_agent=is_agent(program),
            idle=means.idle_seconds,
            tell=self.tell,
            also=calls.take,
        )
        hearing = Hearing(told=told, also=pulse.take)
        self.is_asking = True
        follow(self.workspace)
        with self.signals.interruptible():
            run = run_agent(
                command,
                prompt=prompt,
                folder=self.workspace.location.root,
                environment={**self.environment(agent_of(means, program)), **own},
                timeout_seconds=self.means.timeout_seconds,
                held=[self.lock],
                listen=hearing.feed,
                tick=self._beat,
                watch=pulse.watch,
            )
        self.is_asking = False
        self.unrecorded = self._spooled(run, command)
        follow(self.workspace)
        errors = run.errors.text()
        # The end of a complete result counts, not how its program was ended.
        is_hung = run.timed_out and pulse.is_hung
        code = 0 if is_hung else run.exit_code
        answer, activity = with_errors(hearing.heard(), errors, exit_code=code)
        verdict = judge(
            answer,
            errors=errors,
            exit_code=code,
            timed_out=run.timed_out and not is_hung,
            unknown=run.unknown,
            read=read,
            moment=moment_at(self.workspace.now()),
        )
        if run.timed_out and pulse.silent is not None:
            why = f"ended after {pulse.silent:.0f} s without output"
            verdict = replace(verdict, error=why)
        self.tell(f"       {_said(run, verdict, is_hung=is_hung)}")
        is_only = work_in(self.means.environment) is None
        self._ended = AgentRunEnded(self.correlation, since, is_only, activity.agent, calls)
        if not answer.is_cut:
            place = self.workspace, self.sprint_id, answer.text
            verdict = replace(verdict, said=items_in(*place, told=told, **self._envelope()))
        took = self._taken(run, verdict, activity, since)
        # The price is that of the loop's own agent.
        used = took if other else priced(took, means.price)
        is_priced, verdict = used != took, replace(verdict, usage=used)
        digest, model = sha256(prompt.encode()).hexdigest(), own.get("SPRINTLOG_MODEL")
        return Reply(*(run, verdict, activity, digest, model, is_priced, is_hung, other))

    def _taken(
        self, run: AgentRun, verdict: Verdict, activity: Activity, since: int
    ) -> Usage | None:
        """Return the usage of a run without the part that its sessions have recorded."""
        return taken_alone(
            self.workspace,
            verdict.usage,
            agent=activity.agent,
            sessions=activity.sessions,
            output_sha256=run.output.sha256,
            since=since,
        )

    def _spooled(self, run: AgentRun, command: Sequence[str]) -> SpooledRun:
        words, said = " ".join(command), (run.output.text(), run.errors.text())
        ended = run.exit_code, run.duration_ms, self.workspace.now()
        return SpooledRun(urandom(8).hex(), self.sprint_id, words, *ended, *said)

    def compare_sessions(self) -> None:
        """Let what the agent's hooks said be compared, once its run is recorded."""
        ended, self._ended = self._ended, None
        self.unrecorded = None
        if ended is not None and self._after_run is not None:
            self._after_run(ended)

    def _beat(self) -> None:
        """Record a heartbeat when none was for a while; called every minute."""
        if time.monotonic() - self._beaten < BEAT_SECONDS:
            return
        self._beaten = time.monotonic()
        follow(self.workspace)
        self.handle(lifecycle.RecordHeartbeat())
        self.refresh()

    def sleep(self, seconds: float) -> None:
        """Wait, unless a signal comes."""
        with self.signals.interruptible():
            self.means.sleep(max(seconds, 0.0))

    def handle(self, decide: Decide, *, without: Collection[Skippable] = ()) -> Outcome:
        """Let the sprint decide, and append that."""
        envelope = self._envelope()
        return self.workspace.handle_with(
            self.sprint_id, decide, without=without, **envelope
        )

    def record(self, result: Decide) -> Outcome:
        """Record the result of a program that ran, even if it edited the state file."""
        return self.handle(result, without={"refuse_edits"})

    def _envelope(self) -> Envelope:
        return {
            "actor": self.means.actor,
            "masks": self.means.masks,
            "correlation_id": self.correlation,
        }

    def refresh(self) -> Refreshed:
        """Bring the state files up to date, and tell what is wrong with them.

        The journal's is among them where an agent's learnings went into it.
        """
        refreshed = self.workspace.refresh(self.sprint_id)
        if refreshed.problem:
            self.tell(f"warning: {refreshed.problem}")
        for problem in catch_up(self.workspace, is_failing=True):
            self.tell(f"warning: {problem}")
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
        timed_out=run.timed_out and not reply.is_hung,
        duration_ms=run.duration_ms,
        is_repair=is_repair,
        output=run.output.text(),
        output_bytes=run.output.bytes,
        output_sha256=run.output.sha256,
        errors=run.errors.text(),
        usage=verdict.usage,
        iteration=iteration,
        model=reply.model,
        prompt_sha256=reply.prompt_sha256,
        limit=verdict.limit,
        is_priced=reply.is_priced,
        is_hung=reply.is_hung,
        is_fallback=reply.fallback is not None,
        command=reply.fallback and cut(reply.fallback, COMMAND_CHARS_MAX),
        **figures(reply.activity),
    )


def _said(run: AgentRun, verdict: Verdict, *, is_hung: bool) -> str:
    """Return how a run ended, on one line."""
    words = (
        (verdict.reason or verdict.error or verdict.summary or "").strip().split("\n")[0]
    )
    took = f" in {run.duration_ms / 1000:.1f} s" if run.duration_ms is not None else ""
    status = "hung" if is_hung and verdict.status == COMPLETED else verdict.status
    how = "rate-limited" if verdict.limit else OUTCOMES.get(status, status)
    return f"{how}{took}" + (f": {words}" if words else "")
