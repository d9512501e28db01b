"""The events of a phase's gate: the runs of its script and their results."""

from ...log.event import AsDecision, Reach, events_of
from .phases import AboutPhase


class AboutGate(AboutPhase, frozen=True):
    """A change to a node's gate; derived fields of its descendants may change as well."""

    reach = Reach.BRANCH


class GateStarted(AboutGate, frozen=True):
    """The script of a phase's gate is about to run."""

    stays = ("phase", "run", "process_started", "boot_id")
    only_caused = "`sprintlog gate run` records it before it runs the script"
    is_quiet = True
    attempt: int
    run: str
    """The id of this run; only the result of the current run counts."""
    pid: int
    """The id of the process that runs the script and will record the result."""
    process_started: str
    """The start time of that process, in the operating system's notation."""
    boot_id: str
    """The machine's boot id."""
    timeout_ms: int


class GateChecked(AboutGate, frozen=True):
    """A gate's script ended or timed out."""

    as_decision = AsDecision(
        "gate", (), ("attempt", "exit_code", "timed_out", "duration_ms", "output_sha256")
    )
    as_evidence = ("exit_code",)
    attempt: int
    exit_code: int
    """The exit code; 128 plus the signal's number if a signal ended the script."""
    timed_out: bool = False
    duration_ms: int | None = None
    output: str = ""
    """The output; only its head and tail if it is long."""
    output_bytes: int | None = None
    """The size of the full output in bytes."""
    output_sha256: str | None = None
    """The SHA-256 of the full output, in hexadecimal."""
    left_behind: int = 0
    """The number of processes that the script left running, which were ended."""
    elsewhere: bool = False
    """Whether another program submitted the result, so the script was not run here."""


class GateInterrupted(AboutGate, frozen=True):
    """A gate's run ended without a result; the run does not use up a retry."""

    only_caused = "`sprintlog gate run` records it when it finds a lost run"
    reason: str | None = None


class GateRepaired(AboutGate, frozen=True):
    """An agent's run to fix a failed gate ended, so the gate's script must run again."""

    is_quiet = True


class GateBlocked(AboutGate, frozen=True):
    """A gate used up its attempts, so its phase is blocked."""

    only_caused = "a gate that failed as often as it may causes it"
    as_decision = AsDecision("gate", ("error",), stops=True)
    as_evidence = ("error",)
    error: str


GATE_EVENTS = events_of(__name__)
