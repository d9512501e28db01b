"""The commands that record a gate's runs and results, and the effects of their events.

The first failure sets the status to `retrying`; a failed retry sets it to `failed`. Once
the retries are used up, the gate, its phase and the sprint are `blocked` (SPR-107).
"""

from collections.abc import Callable
from typing import Any

from ...command import Command, Events
from ...errors import RefusedError
from ...log.event import Event, Takers, made_from
from .. import events as f
from ..state import words
from ..state.completion import breakpoint_after, done_work
from ..state.sprint import Evolve, Evolves, Plan, Sprint
from ..state.transitions import check_running
from ..state.tree import Node, gate_is_open, gate_status, put
from . import gate as gates

SECONDS_MAX = 10**7
"""The maximum timeout of a gate's script, in seconds."""


class StartGate(Command, frozen=True):
    """Start a run of a gate's script; an earlier run whose process has died is interrupted.

    Nothing is recorded if the gate has passed. Raise `RefusedError` if another process is
    running the script, or if the phase is not ready for its gate.
    """

    needs_context = True

    run: str
    pid: int
    process_started: str
    boot_id: str
    phase: str | None = None
    lost: str | None = None
    """A run that is in progress according to the log but whose process is gone."""
    timeout_seconds: float | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        node = gates.find_gate(sprint, self.phase)
        if not gate_is_open(node.data):
            return []
        check_running(sprint, f"check the gate of phase {node.address}")
        events = _check_free(sprint, node, self.lost)
        gate = gates.gate_of(node)
        if gate.script is None:
            raise RefusedError(
                f"the gate of phase {node.address} has no script",
                hint="use `sprintlog gate record --exit-code N` to record a result from "
                "elsewhere",
                phase=node.address,
            )
        given = self.timeout_seconds
        seconds = gate.timeout_seconds if given is None else given
        if not seconds > 0:
            raise RefusedError(
                f"invalid timeout {seconds} s: must be greater than 0", field="timeout"
            )
        attempt = gates.next_attempt(sprint.plan, node)
        ms = max(round(1000 * min(seconds, SECONDS_MAX)), 1)
        place = {"phase": node.address, "attempt": attempt, "timeout_ms": ms}
        return [*events, made_from(f.GateStarted, self, **place)]


class CheckGate(Command, frozen=True):
    """Record the end of a gate's run, regardless of the sprint's status.

    Raise `RefusedError` only if the run is no longer valid.
    """

    phase: str
    run: str
    result: gates.GateResult

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        node = sprint.plan.tree.find(self.phase)
        started = _started_as(sprint, node, self.run)
        if node is None or started is None:
            raise RefusedError(
                f"the gate run of {self.phase} was discarded: the phase was changed, "
                "rolled back or taken over by another run in the meantime",
                hint="use `sprintlog gate run` to run the gate again",
                phase=self.phase,
                command="gate",
            )
        return _checked(sprint, node, started.attempt, self.result, elsewhere=False)


class RepairGate(Command, frozen=True):
    """Record the end of an agent's attempt to fix a failed gate."""

    phase: str

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the end of the repair; empty if no repair is due."""
        node = gates.find_gate(sprint, self.phase)
        waits = gates.repair_prompt(sprint.plan, node) is not None
        return [f.GateRepaired(node.address)] if waits else []


class InterruptGate(Command, frozen=True):
    """Record that a gate's run ended without a result, if the run is still valid."""

    phase: str
    run: str
    reason: str

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        started = _started_as(sprint, sprint.plan.tree.find(self.phase), self.run)
        return [f.GateInterrupted(self.phase, self.reason)] if started else []


class RecordGate(Command, frozen=True):
    """Record the result of a gate's script that was run outside sprintlog.

    The event is marked accordingly. The sprint may be paused or stopped, unless a person
    must first decide about a blocked gate. With `attempt`, the same result of the same
    attempt is recorded only once.
    """

    needs_context = True

    result: gates.GateResult
    phase: str | None = None
    attempt: int | None = None
    lost: str | None = None
    """A run that is in progress according to the log but whose process is gone."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        node = gates.find_gate(sprint, self.phase)
        made = gates.attempts_of(node)
        again = _event(node, made, self.result, elsewhere=True)
        is_over = not gate_is_open(node.data)
        if (is_over or self.attempt == made) and sprint.plan.last.gates.of(
            node.address
        ) == again:
            return []
        if is_over:
            raise RefusedError(
                f"the gate of phase {node.address} has passed",
                hint=f"use `sprintlog phase reopen {node.address}` to make it due again",
                phase=node.address,
                state=words.PASSED,
                command="gate",
            )
        if sprint.plan.status in (words.NOT_STARTED, words.COMPLETED) or _is_blocked(node):
            check_running(sprint, f"record a result of the gate of phase {node.address}")
        events = _check_free(sprint, node, self.lost)
        following = gates.next_attempt(sprint.plan, node)
        if self.attempt not in (None, following):
            raise RefusedError(
                f"attempt {self.attempt} of the gate of {node.address} is not the next "
                f"one; allowed: {following}",
                phase=node.address,
                allowed=[following],
                field="attempt",
            )
        return [*events, *_checked(sprint, node, following, self.result, elsewhere=True)]


def run_of(plan: Plan, node: Node) -> f.GateStarted | None:
    """Return the start of the gate's current run; None if sprintlog did not start it."""
    if gate_status(node.data) != words.RUNNING:
        return None
    last = plan.last.gates.of(node.address)
    return last if isinstance(last, f.GateStarted) else None


def _hands_in(event: f.GateChecked) -> RecordGate:
    result = made_from(gates.GateResult, event)
    return RecordGate(result, event.phase, event.attempt or None)


def _started_as(sprint: Sprint, node: Node | None, run: str) -> f.GateStarted | None:
    started = None if node is None else run_of(sprint.plan, node)
    return started if started is not None and started.run == run else None


def _check_free(sprint: Sprint, node: Node, lost: str | None) -> list[Event]:
    """Return the end of a lost run; raise `RefusedError` if a new run may not start."""
    gates.check_due(node)
    if gate_status(node.data) != words.RUNNING:
        return []
    if (started := run_of(sprint.plan, node)) is not None and started.run != lost:
        raise RefusedError(
            f"the gate of phase {node.address} is being run by process {started.pid}, "
            f"attempt {started.attempt}",
            hint="wait for its result, or run `sprintlog gate run` again if the process "
            "no longer exists",
            phase=node.address,
            state=words.RUNNING,
            command="gate",
            pid=started.pid,
        )
    whose = f"process {started.pid}" if started else "whoever ran it"
    return [f.GateInterrupted(node.address, f"{whose} is gone and left no result")]


def _checked(
    sprint: Sprint, node: Node, attempt: int, result: gates.GateResult, *, elsewhere: bool
) -> list[Event]:
    """Return the event of a check and the events that follow from it."""
    event = _event(node, attempt, result, elsewhere=elsewhere)
    if (status := sprint.plan.status) == words.COMPLETED:
        # The sprint was closed without waiting for this gate, so nothing follows.
        return [event]
    if gates.verdict_of(event) == words.PASSED:
        # A leaf that is still in progress reaches its breakpoint when it completes.
        is_end = node.children or node.is_empty or node.status == words.COMPLETED
        return [event, *(breakpoint_after(node, words.COMPLETED) if is_end else ())]
    if attempt < gates.gate_of(node).attempts_max or not gates.is_due(node):
        return [event]
    times = "once" if attempt == 1 else f"{attempt} times"
    how = "ran into its time limit" if result.timed_out else f"exit code {result.exit_code}"
    error = f"the gate failed {times}, as often as it may; last: {how}"
    blocked = f.GateBlocked(node.address, error)
    if status in (words.BLOCKED, words.NEEDS_HUMAN):
        # A person has already been asked, with the reason.
        return [event, blocked]
    return [event, blocked, f.SprintBlocked(f"phase {node.address}: {error}")]


def _is_blocked(node: Node) -> bool:
    return gate_status(node.data) == words.BLOCKED


def _event(
    node: Node, attempt: int, result: gates.GateResult, *, elsewhere: bool
) -> f.GateChecked:
    more = {"phase": node.address, "attempt": attempt, "elsewhere": elsewhere}
    return made_from(f.GateChecked, result, **more)


def _take_up(plan: Plan, node: Node, at: str) -> None:
    """Resume a leaf that its gate had blocked, now that the gate is checked again."""
    plan.renewed.pop(node.address, None)
    if plan.waiting is not None and plan.waiting.phase == node.address:
        plan.waiting = None
    if node.leaf >= 0 and node.status == words.BLOCKED and _is_blocked(node):
        node.data.pop("error", None)
        plan.tree.set_status(node, words.IN_PROGRESS, at)


def _started(node: Node, event: f.GateStarted, plan: Plan, at: str) -> None:
    _take_up(plan, node, at)
    gates.track(node, max(event.attempt - 1, 0), words.RUNNING)


def _was_checked(node: Node, event: f.GateChecked, plan: Plan, at: str) -> None:
    _take_up(plan, node, at)
    attempts, verdict = max(event.attempt, 0), gates.verdict_of(event)
    last = {"last_output": event.output, "last_exit_code": event.exit_code}
    gates.track(node, attempts, verdict, **last)


def _interrupted(node: Node, event: f.GateInterrupted, plan: Plan, at: str) -> None:
    gates.track(node, gates.attempts_of(node), gates.word_after(gates.attempts_of(node)))


def _repaired(node: Node, event: f.GateRepaired, plan: Plan, at: str) -> None:
    plan.last.repaired[node.address] = event


def _blocked(node: Node, event: f.GateBlocked, plan: Plan, at: str) -> None:
    gates.track(node, gates.attempts_of(node), words.BLOCKED, error=event.error)
    if node.leaf >= 0:
        put(node.data, "error", event.error)
        plan.tree.set_status(node, words.BLOCKED, at)


def _evolves(change: Callable[[Node, Any, Plan, str], None]) -> Evolve:
    """Return a handler that changes a gate and then updates its ancestors."""

    def evolve(plan: Plan, event: Any, at: str) -> None:
        node = plan.tree.find(event.phase)
        # An observed event may name a phase without a gate, or an unknown phase.
        if node is None or gate_status(node.data) is None:
            return
        change(node, event, plan, at)
        plan.tree.derive_gate(node, at)
        if isinstance(event, f.GateStarted | f.GateChecked):
            if isinstance(event, f.GateChecked):
                plan.last.repaired.pop(node.address, None)
            plan.last.gates[node.address] = event
            if node.leaf >= 0 and done_work(plan, node.address) is None:
                # Checking a leaf's gate implies that the leaf's work is done.
                plan.last.work[node.address] = f.WorkDone(node.address)

    return evolve


_CHANGES: Takers = {
    f.GateStarted: _started,
    f.GateChecked: _was_checked,
    f.GateInterrupted: _interrupted,
    f.GateRepaired: _repaired,
    f.GateBlocked: _blocked,
}

EVOLVE: Evolves = {event: _evolves(change) for event, change in _CHANGES.items()}


CAUSED: Events = {f.GateChecked: _hands_in, f.GateRepaired: RepairGate}
