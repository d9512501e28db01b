"""The events of the loop: its iterations and the runs of an agent."""

from typing import ClassVar

import msgspec

from ...iterations.events import Usage
from ...log.event import AsDecision, Event, Kind, Reach, Subject


class IterationStarted(Event, frozen=True):
    """A loop iteration began; numbers are never given twice."""

    type: ClassVar[str] = "iteration-started"
    subject: ClassVar[Subject] = Subject("iteration", ("phase", "number"), "phase")
    reach: ClassVar[Reach] = Reach.TOP
    ends: ClassVar[tuple[str, ...]] = ("iteration-failed",)
    number: int
    max_iterations: int | None = None
    phase: str | None = None
    """The leaf that it is begun for; all attempts on it belong to the iteration."""
    beyond_limit: bool = False
    """True when it was begun on purpose although no more were allowed."""
    is_wrapped: bool = False
    """True when somebody else's loop runs it, of whose steps we know nothing."""


class IterationsLimited(Event, frozen=True):
    """How many iterations the loop allows was said; no iteration begins with it."""

    type: ClassVar[str] = "iterations-limited"
    subject: ClassVar[Subject] = Subject("loop")
    reach: ClassVar[Reach] = Reach.TOP
    as_decision: ClassVar[AsDecision | None] = AsDecision("goal", ("max_iterations",))
    max_iterations: int
    """0 for no limit."""


class IterationEnded(Event, frozen=True):
    """A loop iteration ended; the start of the next one ends one that was left open."""

    type: ClassVar[str] = "iteration-ended"
    subject: ClassVar[Subject] = Subject("iteration", ("number",))
    reach: ClassVar[Reach] = Reach.TOP
    ends: ClassVar[tuple[str, ...]] = ("iteration-failed",)
    number: int
    summary: str | None = None
    output_sha256: str | None = None
    """sha256 of the agent's output by which it was ended."""


class GitState(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a repository stands."""

    head: str | None = None
    """The commit; None before the first one."""
    is_dirty: bool | None = None
    """Whether the work tree differs from it; None where that could not be found out."""


class AgentRan(Event, frozen=True):
    """An agent's command ended, or was ended at its time limit."""

    type: ClassVar[str] = "agent-ran"
    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    subject: ClassVar[Subject] = Subject("agent", ("phase",), "phase")
    reach: ClassVar[Reach] = Reach.NOTHING
    is_quiet: ClassVar[bool] = True
    phase: str
    """The address of what it worked on; empty for the goal."""
    status: str
    """What its run means: completed, failed or needs-human."""
    exit_code: int | None = None
    """Minus the number of the signal that ended it."""
    timed_out: bool = False
    duration_ms: int | None = None
    is_repair: bool = False
    """True when it was to repair what a gate found."""
    output: str = ""
    """What it printed; of long output head and tail."""
    output_bytes: int = 0
    """How long all of the output was."""
    output_sha256: str | None = None
    """sha256 of all of the output's bytes, in hexadecimal."""
    errors: str = ""
    """What it printed on standard error, in the same way."""
    usage: Usage | None = None
    """Tokens, cost and turns, as far as the agent says."""
    iteration: int | None = None
    """Which iteration it was, where it was in one."""
    command: str | None = None
    """What was run, where somebody else's loop ran it."""
    agent: str | None = None
    """Whose output it is: claude, codex, gemini, copilot, opencode, cursor."""
    agent_version: str | None = None
    """That of the agent's program, where its output says so."""
    models: tuple[str, ...] = ()
    """The models that it asked, by the agent's own names."""
    sessions: tuple[str, ...] = ()
    """The agent's own sessions; the first ones, where there are many."""
    tool_calls: int | None = None
    """How many tools it called, as far as its output says."""
    unknown_lines: int = 0
    """How many lines of its output were not understood."""
    lines: int = 0
    """How many lines the output had."""
    error: str | None = None
    """Why it failed, where no other event says it."""
    error_kind: str | None = None
    """What kind of failure that is: rate-limit, network, timeout, validation, logic."""
    git_before: GitState | None = None
    """Where the repository stood when it began."""
    git_after: GitState | None = None
    """Where it stood when it had ended."""
    found_in: str | None = None
    """`transcript` where nobody saw its end, and its transcript says what it cost."""
