"""The events of a phase's gate: its script's runs and what they came to."""

from typing import ClassVar

from ...log.event import AsDecision, Event, Reach
from .phases import AboutPhase


class AboutGate(AboutPhase, frozen=True):
    """What happened to the gate of a node; what is below may be derived anew."""

    reach: ClassVar[Reach] = Reach.BRANCH


class GateStarted(AboutGate, frozen=True):
    """The script of a phase's gate is about to be run."""

    type: ClassVar[str] = "gate-started"
    stays: ClassVar[tuple[str, ...]] = ("phase", "run", "process_started", "boot_id")
    only_caused: ClassVar[str] = "`sprintlog gate run` records it before it runs the script"
    is_quiet: ClassVar[bool] = True
    attempt: int
    run: str
    """Names this run: only its own result counts."""
    pid: int
    """The process that runs it and will record the result."""
    process_started: str
    """When that process began, as its system tells it."""
    boot_id: str
    """Which start of the machine that was."""
    timeout_ms: int


class GateChecked(AboutGate, frozen=True):
    """A gate's script ended, or was ended at its time limit."""

    type: ClassVar[str] = "gate-checked"
    as_decision: ClassVar[AsDecision | None] = AsDecision(
        "gate", (), ("attempt", "exit_code", "timed_out", "duration_ms", "output_sha256")
    )
    as_evidence: ClassVar[tuple[str, ...] | None] = ("exit_code",)
    attempt: int
    exit_code: int
    """128 and the signal's number when a signal ended it."""
    timed_out: bool = False
    duration_ms: int | None = None
    output: str = ""
    """What it printed; of long output head and tail."""
    output_bytes: int | None = None
    """How long all of the output was."""
    output_sha256: str | None = None
    """sha256 of all of the output's bytes, in hexadecimal."""
    left_behind: int = 0
    """How many processes it left running; they were ended."""
    elsewhere: bool = False
    """True for a result that was handed in: sprintlog did not run the script."""


class GateInterrupted(AboutGate, frozen=True):
    """A gate's run ended without a result; it costs no retry."""

    type: ClassVar[str] = "gate-interrupted"
    only_caused: ClassVar[str] = "`sprintlog gate run` records it when it finds a lost run"
    reason: str | None = None


class GateRepaired(AboutGate, frozen=True):
    """An agent's run to repair what a gate found ended: its script is to be run again."""

    type: ClassVar[str] = "gate-repaired"
    is_quiet: ClassVar[bool] = True


class GateBlocked(AboutGate, frozen=True):
    """A gate failed as often as it may: its phase is blocked."""

    type: ClassVar[str] = "gate-blocked"
    only_caused: ClassVar[str] = "a gate that failed as often as it may causes it"
    as_decision: ClassVar[AsDecision | None] = AsDecision("gate", ("error",), stops=True)
    as_evidence: ClassVar[tuple[str, ...] | None] = ("error",)
    error: str


GATE_EVENTS: tuple[type[Event], ...] = (
    GateStarted,
    GateChecked,
    GateInterrupted,
    GateRepaired,
    GateBlocked,
)
