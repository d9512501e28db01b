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

What each command may be given from, and where it leads. Anything else is refused with the
state, the command and what is allowed, and nothing is recorded. The same command with the
same content again is accepted and records nothing.

## The sprint

{sprint}

- `resume` after `blocked` and `needs-human` needs who resolved it and why. After a
  breakpoint on the last phase it completes the sprint, where nothing keeps it open.
- `complete` needs every leaf to be completed or skipped, and every critical or high request
  of the operator queue to be decided. A goal that is not reached keeps the sprint open
  until `goal complete`, or `sprint complete --abandon-goal --reason TEXT`.
- `resume --retry` also gives `phase retry` to what failed or is blocked.
- `needs-human` also blocks the leaf it is about.

## A leaf, in a sprint that is in progress

{phase}

- `complete` is refused while the phase has a gate that has not passed. While the sprint is
  paused, blocked, interrupted or waits for a person it keeps the work as done
  (`work-done`). The leaf is in progress until `complete` is given after the resume.
- `fail` schedules another attempt when the policy retries the category; if not, the
  sprint blocks. `block` always blocks the sprint.
- The end of a phase with `break: true` pauses the sprint at a breakpoint. One with
  `steps: []` is completed from pending: by its gate, else by `phase complete`.
- `reopen` and `retry` make passed and blocked gates above the leaf due again.
- `skip`, `retry` and `reopen` of a step or a phase are for every leaf below it that they
  may be given from, in one append.
- Retries are counted since a person stepped in last: by `sprint resume --by`, or by
  `phase retry` where none was scheduled. `retry-count` in the document goes on.

## A gate that its phase waits for

{gate}

- It may be checked when the sprint is in progress and the leaf too, or all leaves of the
  for-each phase are finished. A run that is alive is refused a second one; one whose
  process is gone is recorded as interrupted, and the gate is what it was before.
- `max-retries` (3) failures may follow the first one; a time limit is a failure. With the
  last one the gate, its phase and the sprint are blocked.
- After `sprint resume --by`, or `phase retry` by a person, a gate that failed or has
  blocked has all of its attempts again. One that has blocked can be run again alone then,
  also that of a leaf.
- The verdict of a run that was begun is recorded whatever became of the sprint meanwhile.
  A result from elsewhere (`gate record`) is taken while the sprint is stopped, too, unless
  the gate has blocked.
- Passing completes a for-each phase; a leaf is then completed by `phase complete`.

## A hook task

{hook}

- `hook-task spawned` begins one for each hook and iteration; with `--again` also where it
  is spawned or running, and what ran it is gone.
- Steps towards a goal (`step update`) may go from each of `pending`, `in-progress`,
  `completed` and `blocked` to each other one.

## A request of the operator queue

{request}

- `queue reopen` takes a decision back: the request is pending again, and nothing else
  changes. What an approval put into the plan stays there.
- Every decision needs its reasoning. `approve` injects in the same append, so it is
  refused where `phase inject` is.
- A deferral to `end-of-phase` or `end-of-sprint` is refused when nothing is left that
  could end.
- A deferred request is pending again (`request-returned`) in the same append as the event
  that reaches what it was deferred to: the end of the top phase that the pointer was in,
  or that nothing is left to do. In Ralph mode that is the goal: it is reached, or would be
  but for urgent requests. What was deferred
  to `next-sprint` stays so; the next sprint of the log that starts queues it again.
- `sprint complete` is refused while critical or high requests are pending. Others stay so.

## Phases and steps that come in

{injection}

- What is above gets its status from all that is below: a completed phase that something
  comes into is in progress again, without its end, and its gate is due again.
- `current` stays on the same work until that is finished, also when something comes in
  before it; then it is the first leaf that is not finished. Starting what came in by name
  moves `current` there at once. With nothing left to do it goes to what came in; so it does
  when all that was left in the phase was its gate: that checks what came in, too.
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
"""What happens to a gate, from which words, and how many attempts were made before."""


def sprint_table() -> str:
    """Return what every command of a sprint is allowed from, and leads to."""
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
    """Return what every command of a leaf is allowed from, and leads to."""
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
    """Return what every decision on a request is allowed from, and leads to."""
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
    """Return in which status of the sprint something may come in."""
    command = InjectPhases([{"id": "n", "prompt": "p"}], END)
    found = {
        status: sprint.plan.status
        for status in SPRINT_STATUSES
        if (sprint := _after(command, sprint=status, leaf=COMPLETED))
    }
    assert all(status == after for status, after in found.items())
    return _table({"phase inject": dict.fromkeys(found, "as it was")})


def gate_table() -> str:
    """Return which word of a gate leads to which, when its phase waits for it."""
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
    """Return what may be said of a hook task, and from which word."""
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
    """Return the page of what each command may be given from, and where it leads."""
    tables = {"sprint": sprint_table(), "phase": phase_table(), "gate": gate_table()}
    tables |= {"injection": injection_table(), "hook": hook_table()}
    tables["request"] = request_table()
    return TRANSITIONS.format(note=note, **tables)
