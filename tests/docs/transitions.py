"""The transition tables, by trying every command in every status on the rules."""

from collections.abc import Callable

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.fact import Fact
from sprintlog.engine.sprint import lifecycle, phases
from sprintlog.engine.sprint.facts import InjectionPosition
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.injection import inject_phases
from sprintlog.engine.sprint.state import Sprint
from sprintlog.engine.sprint.transitions import PHASE_FROM, SPRINT_FROM
from sprintlog.engine.sprint.words import (
    COMPLETED,
    IN_PROGRESS,
    PENDING,
    PHASE_STATUSES,
    SPRINT_STATUSES,
)

AT = "2026-01-15T09:00:00Z"
Command = Callable[[Sprint], list[Fact]]
END = InjectionPosition("end-of-workflow")

SPRINT: dict[str, Command] = {
    "start": lifecycle.start_sprint,
    "pause": lifecycle.pause_sprint,
    "block": lambda sprint: lifecycle.block_sprint(sprint, reason="why"),
    "needs-human": lambda sprint: lifecycle.need_human(sprint, reason="why"),
    "interrupt": lifecycle.interrupt_sprint,
    "resume": lambda sprint: lifecycle.resume_sprint(sprint, by="ana", why="done"),
    "complete": lifecycle.complete_sprint,
    "reopen": lifecycle.reopen_sprint,
}
PHASE: dict[str, Command] = {
    "start": phases.start_phase,
    "complete": phases.complete_phase,
    "fail": lambda sprint: phases.fail_phase(sprint, error="why", at=AT),
    "block": lambda sprint: phases.block_phase(sprint, reason="why"),
    "skip": phases.skip_phase,
    "retry": phases.retry_phase,
    "reopen": lambda sprint: phases.reopen_phase(sprint, phase="a"),
}


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


def injection_table() -> str:
    """Return in which status of the sprint something may come in."""

    def command(sprint: Sprint) -> list[Fact]:
        return inject_phases(sprint, nodes=[{"id": "n", "prompt": "p"}], position=END)

    found = {
        status: sprint.plan.status
        for status in SPRINT_STATUSES
        if (sprint := _after(command, sprint=status, leaf=COMPLETED))
    }
    assert all(status == after for status, after in found.items())
    return _table({"phase inject": dict.fromkeys(found, "as it was")})


def _after(command: Command, *, sprint: str, leaf: str) -> Sprint | None:
    """Return the sprint after a command, or None when it was refused."""
    state = Sprint("tried")
    state.version = 1
    state.plan.replace(
        {"status": sprint, "phases": [{"id": "a", "prompt": "p", "status": leaf}]}
    )
    try:
        facts = command(state)
    except RefusedError:
        return None
    return fold(state, [(2 + n, AT, fact) for n, fact in enumerate(facts)])


def _table(rows: dict[str, dict[str, str]]) -> str:
    lines = ["| command | from | to |", "|---|---|---|"]
    for name, found in rows.items():
        (to,) = set(found.values())
        lines.append(f"| `{name}` | {', '.join(found)} | {to} |")
    return "\n".join(lines)
