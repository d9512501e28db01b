"""The events of the loop: its iterations and the runs of an agent."""

from typing import ClassVar

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
    """Which iteration it was, in a run for the goal."""
