"""The driver of `run`, which prompts and monitors the agent and records its run and items.

The loops for phases and for goals use this driver. `Pulse`, in its own module, reports
whether the agent is working, idle, or hung after printing its result.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from os import urandom
from pathlib import PurePath
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from ...adapters.agents.outcome import Activity
from ...adapters.agents.output import OutputReader, with_errors
from ...adapters.hooks.transcript_calls import StreamCalls
from ...adapters.processes.programs import AgentRun, environment_of, run_agent
from ...adapters.processes.signals import Signals
from ...adapters.zones import moment_at
from ...errors import SprintlogError
from ...judging.loop_rules import MeasureRules
from ...masking import cut
from ...sessions.work import CORRELATION, WITHIN, work_in
from ...sprint.agent.actions import Action, Notice
from ...sprint.answers.verdict import Verdict, judge, said_beside
from ...sprint.events import AgentRan, Budgets, Price
from ...sprint.iterations.budgets import priced
from ...sprint.iterations.outcomes import OUTCOMES
from ...sprint.phases import lifecycle
from ...sprint.state.notes import RUN, UNDELIVERED
from ...sprint.state.sprint import Sprint
from ...sprint.state.words import COMPLETED, USER_STOPPED, is_agent
from ..agent_sessions.ran import AgentRunEnded, alone, figures, outcome
from ..handle import catch_up
from ..learnings import keep_learnings
from ..place.anchor import follow
from ..port import Decide, Envelope, Outcome, Refreshed, Skippable
from ..prompts import passing_notes
from ..work_tree.start_files import ListedFiles
from ..workspace import ServiceWorkspace
from .notices import Notices
from .pulse import LOOK_SECONDS, Pulse
from .spooled_runs import SpooledRun

COMMAND_CHARS_MAX = 512
BEAT_SECONDS = 5 * 60
"""The interval in seconds between heartbeats while an agent is working."""
Tell = Callable[[str], None]
AfterRun = Callable[[AgentRunEnded], None]


class RunSettings(NamedTuple):
    """The settings of a loop."""

    command: Sequence[str]
    """The agent's command, which receives the prompt on standard input."""
    environment: Mapping[str, str]
    timeout_seconds: float
    """The command's time limit."""
    idle_seconds: float | None = None
    """The maximum time without output; see `Pulse`."""
    actor: str = "runtime"
    waits: bool = True
    """Whether to sleep until a retry is due instead of ending."""
    masks: bool = True
    agent_variables: Sequence[str] | None = None
    """Extra variables for agents and hooks; None passes the entire environment."""
    gate_variables: Sequence[str] = ()
    """Additional variables for gate scripts."""
    hook_command: str | None = None
    """The shell command for hooks without a `command`."""
    measure: MeasureRules | None = None
    """The measurement after each iteration; overrides the sprint's rules."""
    measure_variables: Sequence[str] = ()
    """Additional variables for the measurement's commands."""
    rest_seconds: float = 1.0
    """The pause after an iteration that changed nothing, in a loop for a goal."""
    sleep: Callable[[float], None] = time.sleep
    """The function used to wait."""
    show: Callable[[Action | None, float], None] | None = None
    """Displays a pending wait and its remaining seconds; None clears the display."""
    budgets: Budgets = Budgets()
    """The budgets of this run."""
    price: Price | None = None
    """The price of tokens, if the agent does not report its cost."""
    stops_on_request: str | None = None
    """The lowest priority of undecided requests that end the loop."""
    prompt_file: str | None = None
    """The path of a prompt template, relative to the work tree's root."""
    notices: Notices | None = None
    """Sends notices of the loop's events."""
    told_wait_seconds: float = 600.0
    """The minimum length of a wait for which a notice is sent."""
    options: Sequence[str] = ()
    """The command-line options for those settings that no rule contains."""
    fallback: str | None = None
    """The shell command that receives the prompt while a limit blocks `command`."""


class Reply(NamedTuple):
    """The result of prompting the agent: its run, verdict and activity."""

    run: AgentRun
    verdict: Verdict
    activity: Activity
    prompt_sha256: str
    """The SHA-256 of the prompt, in hexadecimal."""
    model: str | None = None
    """The model that the agent was asked to use."""
    is_priced: bool = False
    """Whether the cost was computed from the tokens."""
    is_hung: bool = False
    """Whether the agent hung after its complete result and was ended."""
    fallback: str | None = None
    """The fallback's command, if it was used."""
    changed_files: bool | None = None
    """Whether files changed during the run; None if unknown."""
    interrupted_by: str | None = None
    """The id of the urgent note that ended the run."""


class Driver(msgspec.Struct, eq=False):
    """Runs an agent's command for a sprint, and records the results."""

    workspace: ServiceWorkspace
    sprint_id: str
    means: RunSettings
    signals: Signals
    lock: int
    """The lock inherited by every process, so that none outlives the loop unnoticed."""
    tell: Tell
    after_run: AfterRun | None = None
    correlation: str = ""
    """The correlation id of everything that this run and its agents record."""
    is_asking: bool = False
    """Whether an agent is working."""
    unrecorded: SpooledRun | None = None
    """The agent's last run, until it is recorded."""
    ended: AgentRunEnded | None = None
    """The agent's last run, until its sessions are compared."""
    beaten: float = msgspec.field(default_factory=time.monotonic)
    """The time of the last heartbeat, by the monotonic clock."""
    looked: float = 0.0
    """The time of the last search for an urgent note, by the monotonic clock."""
    interrupted_by: str | None = None
    """The id of the urgent note that ended the agent's last run, if any."""

    def __post_init__(self) -> None:
        self.correlation = work_in(self.means.environment) or urandom(16).hex()

    def notify(self, notice: Notice) -> None:
        """Send a notice, if notices are enabled."""
        if self.means.notices is not None:
            self.means.notices.send(notice)

    def sprint(self) -> Sprint:
        """Return the current sprint."""
        return self.workspace.sprint(self.sprint_id)

    def environment(self, actor: str) -> dict[str, str]:
        """Return the environment of a command that records as this actor."""
        given, more = self.means.environment, self.means.agent_variables
        return {
            **(given if more is None else environment_of(given, extra=more)),
            "SPRINT_ID": self.sprint_id,
            "SPRINTLOG_SPRINT": self.sprint_id,
            "SPRINTLOG_ACTOR": actor,
            CORRELATION: self.correlation,
            # A nested `wrap` belongs to the iteration that is recorded here.
            WITHIN: "run",
        }

    def with_notes(self, action: Action) -> Action:
        """Return the action with the notes for the agent in its prompt.

        Their delivery is recorded first.
        """
        run, name = self.sprint().knowledge.loops.open, self.sprint_id
        to = f"{RUN}{run.run if run else ''}"
        with passing_notes(self.workspace, name, to, **self.envelope()) as part:
            prompt = f"{part}\n\n{action.prompt}" if part else action.prompt
        return replace(action, prompt=prompt)

    def _watch(self, pulse: Pulse, supervisor: int, has_printed: bool) -> float:
        """Do as `Pulse.watch`, but also end the program for a new urgent note."""
        if time.monotonic() - self.looked >= LOOK_SECONDS:
            self.looked = time.monotonic()
            # A log that is briefly unavailable must not end the agent.
            with suppress(SprintlogError):
                notes = self.sprint().knowledge.notes.items()
                due = (i for i, x in notes if x.now and x.state == UNDELIVERED)
                self.interrupted_by = next(due, None)
        left = pulse.watch(supervisor, has_printed)
        return 0 if self.interrupted_by else min(left, LOOK_SECONDS)

    def ask(
        self,
        prompt: str,
        own: Mapping[str, str],
        *,
        read: Callable[[str], Verdict] | None = None,
        told: str = "",
        is_fallback: bool = False,
    ) -> Reply:
        """Run the agent with a prompt; return its reply, including the verdict."""
        self.beaten = time.monotonic()
        calls, files = StreamCalls(), ListedFiles(self.workspace)
        since, means = self.workspace.log.head().position, self.means
        other = means.fallback if is_fallback else None
        command = ("/bin/sh", "-c", other) if other else means.command
        program = other.split()[0] if other else command[0]
        is_known, tell = is_agent(program), self.tell
        idle, also = means.idle_seconds, calls.take
        pulse = Pulse(is_agent=is_known, idle=idle, tell=tell, also=also)
        hearing = OutputReader(told=told, also=pulse.take)
        self.is_asking, self.interrupted_by = True, None
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
                watch=partial(self._watch, pulse),
            )
        self.is_asking, self.unrecorded = False, self._spooled(run, command)
        follow(self.workspace)
        # A complete result counts, regardless of how its program was ended.
        errors, is_hung = run.errors.text(), run.timed_out and pulse.is_hung
        note = self.interrupted_by if run.timed_out and not is_hung else None
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
        if note is not None:
            verdict = replace(verdict, status=USER_STOPPED, error=f"interrupted by {note}")
        elif run.timed_out and pulse.silent is not None:
            why = f"ended after {pulse.silent:.0f} s without output"
            verdict = replace(verdict, error=why)
        self.tell(f"       {_said(run, verdict, is_hung=is_hung)}")
        is_only = work_in(self.means.environment) is None
        self.ended = AgentRunEnded(self.correlation, since, is_only, activity.agent, calls)
        if not answer.is_cut:
            place = self.workspace, self.sprint_id, said_beside(answer.text, told=told)
            verdict = replace(verdict, said=keep_learnings(*place, **self.envelope()))
        found = {**outcome(verdict), **figures(activity)}
        ran = AgentRan("", output_sha256=run.output.sha256, **found)
        took = alone(self.workspace, ran, since=since).usage
        # The price is that of the loop's own agent.
        used = took if other else priced(took, means.price)
        is_priced, verdict = used != took, replace(verdict, usage=used)
        digest, model = sha256(prompt.encode()).hexdigest(), own.get("SPRINTLOG_MODEL")
        more = digest, model, is_priced, is_hung, other, files.changed(), note
        return Reply(run, verdict, activity, *more)

    def _spooled(self, run: AgentRun, command: Sequence[str]) -> SpooledRun:
        words, said = " ".join(command), (run.output.text(), run.errors.text())
        ended = run.exit_code, run.duration_ms, self.workspace.now()
        return SpooledRun(urandom(8).hex(), self.sprint_id, words, *ended, *said)

    def compare_sessions(self) -> None:
        """Start comparing the run with the agent's hooks, once the run is recorded."""
        ended, self.ended = self.ended, None
        self.unrecorded = None
        if ended is not None and self.after_run is not None:
            self.after_run(ended)

    def _beat(self) -> None:
        """Record a heartbeat if one is due; called every minute."""
        if time.monotonic() - self.beaten < BEAT_SECONDS:
            return
        self.beaten = time.monotonic()
        follow(self.workspace)
        self.handle(lifecycle.RecordHeartbeat())
        self.refresh()

    def sleep(self, seconds: float) -> None:
        """Sleep for the given time; a signal interrupts the sleep."""
        with self.signals.interruptible():
            self.means.sleep(max(seconds, 0.0))

    def handle(self, decide: Decide, *, without: Collection[Skippable] = ()) -> Outcome:
        """Apply a decision function to the current sprint, and append the events."""
        return self.workspace.handle_with(
            self.sprint_id, decide, without=without, **self.envelope()
        )

    def record(self, result: Decide) -> Outcome:
        """Record a program's result, even if the program edited the state file."""
        return self.handle(result, without={"refuse_edits"})

    def envelope(self) -> Envelope:
        """Return the metadata shared by all events that this loop records."""
        return {
            "actor": self.means.actor,
            "is_loop": True,
            "masks": self.means.masks,
            "correlation_id": self.correlation,
        }

    def refresh(self) -> Refreshed:
        """Update the state files, and report any problems.

        This includes the journal's file if an agent's learnings were recorded.
        """
        refreshed = self.workspace.refresh(self.sprint_id)
        if refreshed.problem:
            self.tell(f"warning: {refreshed.problem}")
        for problem in catch_up(self.workspace, is_failing=True):
            self.tell(f"warning: {problem}")
        return refreshed


def agent_of(means: RunSettings, program: str) -> str:
    """Return the actor for events recorded by the agent, named after its program."""
    if means.actor.startswith("agent:"):
        return means.actor
    return f"agent:{PurePath(program).name or 'command'}"[:128]


def ran_as(
    phase: str, reply: Reply, *, is_repair: bool = False, iteration: int | None = None
) -> AgentRan:
    """Return the event that records an agent's run."""
    run, verdict = reply.run, reply.verdict
    return AgentRan(
        phase,
        verdict.status,
        exit_code=run.exit_code,
        timed_out=run.timed_out and not (reply.is_hung or reply.interrupted_by),
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
        changed_files=reply.changed_files,
        interrupted_by=reply.interrupted_by,
        command=reply.fallback and cut(reply.fallback, COMMAND_CHARS_MAX),
        **figures(reply.activity),
    )


def _said(run: AgentRun, verdict: Verdict, *, is_hung: bool) -> str:
    """Return a one-line description of how a run ended."""
    words = (
        (verdict.reason or verdict.error or verdict.summary or "").strip().split("\n")[0]
    )
    took = f" in {run.duration_ms / 1000:.1f} s" if run.duration_ms is not None else ""
    status = "hung" if is_hung and verdict.status == COMPLETED else verdict.status
    how = "rate-limited" if verdict.limit else OUTCOMES.get(status, status)
    return f"{how}{took}" + (f": {words}" if words else "")
