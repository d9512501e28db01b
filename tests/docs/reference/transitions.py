"""The transition tables, by trying every command in every status on the rules."""

from typing import Any

from sprintlog.engine.command import Command, decided
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint.events import InjectionPosition
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.iterations.hook_tasks import TASK_FROM
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.phases.gate import GATE_RETRIES, GateResult
from sprintlog.engine.sprint.phases.gate_checks import RecordGate, StartGate
from sprintlog.engine.sprint.plan.injection import InjectPhases
from sprintlog.engine.sprint.queue.decisions import (
    END_OF_PHASE,
    ApproveRequest,
    BacklogRequest,
    DeferRequest,
    RejectRequest,
    ReopenRequest,
)
from sprintlog.engine.sprint.state.queue import QUEUE
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.transitions import PHASE_FROM, SPRINT_FROM
from sprintlog.engine.sprint.state.tree import gate_status
from sprintlog.engine.sprint.state.words import (
    COMPLETED,
    DECISIONS,
    HOOK_TASK_STATUSES,
    IN_PROGRESS,
    PENDING,
    PHASE_STATUSES,
    REQUEST_STATUSES,
    SPAWNED,
    SPRINT_STATUSES,
)

AT = "2026-01-15T09:00:00Z"
END = InjectionPosition("end-of-workflow")

SPRINT: dict[str, Command] = {
    "start": lifecycle.StartSprint(),
    "pause": lifecycle.PauseSprint(),
    "block": lifecycle.BlockSprint(reason="why"),
    "needs-human": lifecycle.NeedHuman(reason="why"),
    "interrupt": lifecycle.InterruptSprint(),
    "resume": lifecycle.ResumeSprint(by="ana", why="done"),
    "complete": lifecycle.CompleteSprint(),
    "reopen": lifecycle.ReopenSprint(),
}
PHASE: dict[str, Command] = {
    "start": leaves.StartPhase(),
    "complete": leaves.CompletePhase(),
    "fail": leaves.FailPhase(error="why"),
    "block": leaves.BlockPhase(reason="why"),
    "skip": leaves.SkipPhase(),
    "retry": leaves.RetryPhase(),
    "reopen": leaves.ReopenPhase(phase="a"),
}
NONE, ONE = ("pending", "blocked", "running"), ("retrying", "running")
LAST = ("failed", "running")
TRANSITIONS = """\
# Transitions

{note}

This page lists the states in which each command is allowed, and the state that it leads
to. In other states it is refused with the state, the command and the allowed ones, and
nothing is recorded. Repeating a command with the same content is accepted and records
nothing.

## The sprint

{sprint}

- `resume` after `blocked` and `needs-human` requires who resolved the problem and why.
  After a breakpoint on the last phase it completes the sprint if nothing else is open.
- `complete` requires every leaf to be completed or skipped, and every critical or high
  request to be decided. An open goal requires `goal complete`, or `sprint complete
  --abandon-goal --reason TEXT`.
- `resume --retry` also applies `phase retry` to failed and blocked leaves.
- `needs-human` also blocks its leaf.

## A leaf, in a sprint that is in progress

{phase}

- `complete` is refused while the phase has an open gate. While the sprint is paused,
  blocked, interrupted or waits for a person it records the work (`work-done`), and the
  leaf stays in progress until `complete` after the resume.
- `fail` schedules a retry if the policy allows it; otherwise the sprint is blocked.
  `block` always blocks the sprint.
- The end of a phase with `break: true` pauses the sprint. A phase with `steps: []` is
  completed from pending, by its gate or by `phase complete`.
- `reopen` and `retry` make passed and blocked gates above the leaf due again.
- `skip`, `retry` and `reopen` of a step or phase apply to every leaf below it that
  permits them, in one append.
- Retries are counted from the last intervention of a person (`sprint resume --by`, or
  `phase retry` without a scheduled retry). `retry-count` in the document is not reset.

## A gate that its phase waits for

{gate}

- It may run when the sprint and the leaf are in progress, or all leaves of the for-each
  phase are finished. A second run is refused while one is alive; a run whose process
  ended is recorded as interrupted, and the gate returns to its earlier state.
- `max-retries` (3) failures may follow the first one; a timeout is a failure. The last
  one blocks the gate, its phase and the sprint.
- After `sprint resume --by`, or `phase retry` by a person, a failed or blocked gate has
  all of its attempts again. A blocked one can then be run without repeating the work.
- The result of a run is recorded whatever happened to the sprint meanwhile. An external
  result (`gate record`) is also accepted while the sprint is stopped, unless the gate is
  blocked.
- Passing completes a for-each phase; a leaf is then completed by `phase complete`.

## A hook task

{hook}

- `hook-task spawned` begins one for each hook and iteration; with `--again` also if it is
  spawned or running and its process is gone.
- Steps towards a goal (`step update`) may change between `pending`, `in-progress`,
  `completed` and `blocked` freely.

## A request of the operator queue

{request}

- `queue reopen` makes the request pending again and changes nothing else; injected work
  stays.
- Every decision requires its reasoning. `approve` injects in the same append, so it is
  refused whenever `phase inject` is.
- A deferral to `end-of-phase` or `end-of-sprint` is refused if nothing is left that could
  end.
- A deferred request is pending again (`request-returned`) in the append that reaches its
  boundary: the end of the pointer's top phase, or of all work. In Ralph mode the end of
  the sprint is the goal, or would be without urgent requests. A request deferred to
  `next-sprint` is queued again by the next sprint of the log that starts.
- `sprint complete` is refused while critical or high requests are pending; others stay
  pending.

## Injected phases and steps

{injection}

- Parents are derived from all children: a completed phase that receives work is in
  progress again, without its end, and its gate is due again.
- `current` stays on the current work until that is finished, then moves to the first
  unfinished leaf. Starting injected work by name moves it there at once. If nothing was
  left to do, or only the gate of the phase, it moves to the injected work, which the gate
  then checks as well.
- `step inject` has the same rules.
"""


BEGINS = StartGate(run="r", pid=1, process_started="", boot_id="")
PASSES, FAILS = RecordGate(GateResult(0)), RecordGate(GateResult(1))
GATE: dict[str, tuple[Command, dict[str, int]]] = {
    "begins to run": (BEGINS, {**dict.fromkeys(NONE, 0), "retrying": 1, "failed": 2}),
    "exits with 0": (PASSES, {**dict.fromkeys(NONE, 0), "retrying": 1, "failed": 2}),
    "fails for the first time": (FAILS, dict.fromkeys(NONE, 0)),
    "fails again": (FAILS, {**dict.fromkeys(ONE, 1), "failed": 2}),
    "fails with its retries used up": (FAILS, dict.fromkeys(LAST, GATE_RETRIES)),
}
"""Gate transitions: the command, and the attempts made before it from each state."""


def sprint_table() -> str:
    """Return the transitions of the sprint commands."""
    assert SPRINT.keys() == SPRINT_FROM.keys()
    rows = {}
    for name, command in SPRINT.items():
        leaf = COMPLETED if name in ("complete", "reopen") else PENDING
        rows[f"sprint {name}"] = {
            status: sprint.plan.status
            for status in SPRINT_STATUSES
            if (sprint := _after(command, sprint=status, leaf=leaf))
        }
    return _table(rows)


def phase_table() -> str:
    """Return the transitions of the phase commands."""
    assert PHASE.keys() == PHASE_FROM.keys()
    return _table(
        {
            f"phase {name}": {
                status: sprint.plan.tree.leaves[0].status
                for status in PHASE_STATUSES
                if (sprint := _after(command, sprint=IN_PROGRESS, leaf=status))
            }
            for name, command in PHASE.items()
        }
    )


def request_table() -> str:
    """Return the transitions of the queue commands."""
    decisions: dict[str, Command] = {
        "approve": ApproveRequest(request="r", reasoning="w"),
        "reject": RejectRequest(request="r", reasoning="w"),
        "defer": DeferRequest(request="r", reasoning="w", until=END_OF_PHASE),
        "backlog": BacklogRequest(request="r", reasoning="w"),
    }
    assert tuple(decisions) == DECISIONS
    decisions["reopen"] = ReopenRequest(request="r", reason="w")
    rows: dict[str, dict[str, str]] = {}
    for name, command in decisions.items():
        found = rows[f"queue {name}"] = {}
        for status in REQUEST_STATUSES:
            queue = {QUEUE: [{"id": "r", "title": "t", "status": status}]}
            sprint = _after(command, sprint=IN_PROGRESS, leaf=IN_PROGRESS, beside=queue)
            if sprint is not None:
                found[status] = sprint.queue[0]["status"]
    return _table(rows)


def injection_table() -> str:
    """Return the statuses of a sprint in which work can be injected."""
    command = InjectPhases([{"id": "n", "prompt": "p"}], END)
    found = {
        status: sprint.plan.status
        for status in SPRINT_STATUSES
        if (sprint := _after(command, sprint=status, leaf=COMPLETED))
    }
    assert all(status == after for status, after in found.items())
    return _table({"phase inject": dict.fromkeys(found, "unchanged")})


def gate_table() -> str:
    """Return the transitions of a gate that its phase waits for."""
    rows = {}
    for name, (command, words) in GATE.items():
        found: dict[str, str] = {}
        rows[name] = found
        for word, attempts in words.items():
            tracking = {"attempts": attempts, "status": word}
            gate = {"gate": {"script": "x"}, "gate-tracking": tracking}
            sprint = _after(command, sprint=IN_PROGRESS, leaf=IN_PROGRESS, more=gate)
            assert sprint is not None
            found[word] = gate_status(sprint.plan.tree.leaves[0].data) or ""
    return _table(rows).replace("command", "a script that", 1).replace("`", "")


def hook_table() -> str:
    """Return the transitions of a hook task."""
    assert set(TASK_FROM) == set(HOOK_TASK_STATUSES) - {SPAWNED}
    return _table(
        {f"hook-task {w}": dict.fromkeys(states, w) for w, states in TASK_FROM.items()}
    )


def _after(
    command: Command,
    *,
    sprint: str,
    leaf: str,
    more: dict[str, Any] | None = None,
    beside: dict[str, Any] | None = None,
) -> Sprint | None:
    """Return the sprint after a command, or None when it was refused."""
    state = Sprint("tried")
    state.version = 1
    state.plan.replace(
        {
            "status": sprint,
            "phases": [{"id": "a", "prompt": "p", "status": leaf, **(more or {})}],
            **(beside or {}),
        }
    )
    try:
        events = decided(command, state, AT)
    except RefusedError:
        return None
    return fold(state, [(2 + n, AT, event) for n, event in enumerate(events)])


def _table(rows: dict[str, dict[str, str]]) -> str:
    lines = ["| command | from | to |", "|---|---|---|"]
    for name, found in rows.items():
        (to,) = set(found.values())
        lines.append(f"| `{name}` | {', '.join(found)} | {to} |")
    return "\n".join(lines)


def transitions_page(note: str) -> str:
    """Return the page of transitions."""
    tables = {"sprint": sprint_table(), "phase": phase_table(), "gate": gate_table()}
    tables |= {"injection": injection_table(), "hook": hook_table()}
    tables["request"] = request_table()
    return TRANSITIONS.format(note=note, **tables)
