"""The transition tables, and the checks that reject a command (SPR-041, SPR-051)."""

from collections.abc import Collection

from ...errors import InvalidInputError, NotFoundError, RefusedError
from ...log.event import Event, Kind
from ..events import PhaseStarted, SprintCompleted
from . import times, words
from .sprint import Sprint
from .tree import Node

ID_CHARS_MAX = 128

SPRINT_FROM: dict[str, Collection[str]] = {
    "start": (words.NOT_STARTED,),
    "pause": (words.IN_PROGRESS,),
    "block": (words.IN_PROGRESS,),
    "needs-human": (words.IN_PROGRESS, words.BLOCKED),
    "interrupt": (words.IN_PROGRESS,),
    "resume": words.STOPPED,
    "complete": (words.IN_PROGRESS,),
    "reopen": (words.COMPLETED,),
}
"""The sprint statuses in which each command is allowed."""

PHASE_FROM: dict[str, Collection[str]] = {
    "start": (words.PENDING,),
    "complete": (words.IN_PROGRESS,),
    "fail": (words.IN_PROGRESS,),
    "block": (words.PENDING, words.IN_PROGRESS),
    "skip": (words.PENDING, words.IN_PROGRESS, words.FAILED, words.BLOCKED),
    "retry": (words.FAILED, words.BLOCKED),
    "reopen": (words.COMPLETED, words.SKIPPED),
}
"""The leaf statuses in which each command is allowed while the sprint is in progress."""

PHASE_TO = {
    "start": words.IN_PROGRESS,
    "complete": words.COMPLETED,
    "skip": words.SKIPPED,
    "block": words.BLOCKED,
    "fail": words.FAILED,
    "retry": words.PENDING,
    "reopen": words.PENDING,
}
SPRINT_TO = {
    "start": words.IN_PROGRESS,
    "resume": words.IN_PROGRESS,
    "reopen": words.IN_PROGRESS,
    "pause": words.PAUSED,
    "block": words.BLOCKED,
    "interrupt": words.INTERRUPTED,
    "complete": words.COMPLETED,
}
"""The status of the leaf or the sprint after each command."""

_REOPEN = "`sprintlog sprint reopen` first"


def check_id(identity: object, *, field: str) -> None:
    """Raise `RefusedError` unless a value is a valid id: 1 to 128 printable characters."""
    problem = None
    if not isinstance(identity, str) or not identity:
        problem = "is missing or not a string"
    elif len(identity) > ID_CHARS_MAX:
        problem = f"is longer than {ID_CHARS_MAX} characters"
    elif not identity.isprintable():
        # Imported here: invalid ids are rare.
        from ...readable import unprintable

        problem = unprintable(identity)
    if problem:
        raise RefusedError(
            f"{field}: {problem}; an id must have 1 to {ID_CHARS_MAX} printable characters",
            field=field,
        )


def check_exists(sprint: Sprint) -> None:
    """Raise `NotFoundError` unless the sprint exists."""
    if not sprint.exists:
        raise NotFoundError(
            f"there is no sprint {sprint.id}",
            hint="use `sprintlog compile`, `sprintlog sprint create ID --plan FILE` or "
            "`sprintlog import progress FILE` to create one",
            sprint=sprint.id,
        )


def check_sprint(sprint: Sprint, command: str) -> None:
    """Raise `RefusedError` unless the sprint's status allows the command."""
    check_exists(sprint)
    status = sprint.plan.status
    if status in SPRINT_FROM[command]:
        return
    allowed = [name for name, states in SPRINT_FROM.items() if status in states]
    raise _refused(sprint, command, f"{command} it; allowed: {', '.join(allowed)}", allowed)


def check_running(sprint: Sprint, command: str) -> None:
    """Raise `RefusedError` unless the sprint is in progress."""
    if sprint.plan.status == words.IN_PROGRESS:
        return
    check_exists(sprint)
    status = sprint.plan.status
    ways = (name for name in ("start", "resume", "reopen") if status in SPRINT_FROM[name])
    way = next(ways, "start")
    # Resuming such a sprint requires stating who resolved the problem, and how.
    how = " --by NAME --why TEXT" if status in (words.BLOCKED, words.NEEDS_HUMAN) else ""
    said = f"{command}; the sprint must be {words.IN_PROGRESS} for that"
    raise _refused(sprint, command, said, [way], f"run `sprintlog sprint {way}{how}` first")


def _refused(
    sprint: Sprint, command: str, said: str, allowed: list[str], hint: str | None = None
) -> RefusedError:
    """Return the error for a command that the sprint's status does not allow."""
    status = sprint.plan.status
    return RefusedError(
        f"sprint {sprint.id} is {status}: cannot {said}",
        hint=hint,
        sprint=sprint.id,
        state=status,
        command=command,
        allowed=allowed,
    )


def check_goal(sprint: Sprint, command: str) -> None:
    """Raise `RefusedError` unless the sprint is in Ralph mode and not completed."""
    check_open(sprint, command)
    if not sprint.plan.is_ralph:
        raise RefusedError(
            f"sprint {sprint.id} has no goal: cannot {command}",
            hint="use `sprintlog goal set TEXT` to start Ralph mode",
            sprint=sprint.id,
            command=command,
        )


def check_open(sprint: Sprint, command: str) -> None:
    """Raise `RefusedError` if the sprint is completed."""
    check_exists(sprint)
    if sprint.plan.status == words.COMPLETED:
        raise _refused(sprint, command, f"{command}; allowed: reopen", ["reopen"], _REOPEN)


def check_growing(sprint: Sprint) -> None:
    """Raise `RefusedError` if the plan cannot grow because the sprint is completed."""
    if sprint.plan.status == words.COMPLETED:
        raise _refused(sprint, "inject", "inject anything into it", ["reopen"], _REOPEN)


def check_phase(leaf: Node, command: str) -> None:
    """Raise `RefusedError` unless the leaf's status allows the command."""
    if leaf.status in PHASE_FROM[command]:
        return
    allowed = [name for name, states in PHASE_FROM.items() if leaf.status in states]
    raise RefusedError(
        f"phase {leaf.address} is {leaf.status}: cannot {command} it; "
        f"allowed: {', '.join(allowed)}",
        hint=f"run `sprintlog phase start {leaf.address}` first"
        if command in ("complete", "fail") and leaf.status == words.PENDING
        else None,
        phase=leaf.address,
        state=leaf.status,
        command=command,
        allowed=allowed,
    )


def find_leaf(sprint: Sprint, address: str | None) -> Node:
    """Return the leaf at an address, by default the leaf at the pointer.

    Raise `NotFoundError` if there is no node, or `RefusedError` if the node is inert or is
    a parent, whose status is derived.
    """
    node = find_node(sprint, address)
    if node.leaf < 0:
        leaves = [
            leaf.address
            for leaf in sprint.plan.tree.leaves
            if leaf.address.startswith(f"{address}/")
        ]
        raise RefusedError(
            f"the status of phase {address} follows from its parts",
            hint=f"specify a phase without parts, such as {leaves[0]}" if leaves else None,
            phase=address,
            allowed=leaves[:20],
        )
    return node


def find_node(sprint: Sprint, address: str | None) -> Node:
    """Return the node at an address, by default the leaf at the pointer.

    Raise `NotFoundError` if there is no node, or `RefusedError` if it is inert.
    """
    check_exists(sprint)
    if address is None:
        if (pointed := sprint.plan.pointed()) is None:
            raise NotFoundError(f"sprint {sprint.id} has no phases", sprint=sprint.id)
        return pointed
    tree = sprint.plan.tree
    if (node := tree.find(address)) is None and address in tree.inert:
        raise RefusedError(
            f"phase {address} has no id or no status, so it is ignored", phase=address
        )
    if node is None:
        raise NotFoundError(
            f"there is no phase {address} in sprint {sprint.id}",
            hint=_example(sprint),
            unknown=(address, (one.address for one in tree.nodes.values())),
            phase=address,
        )
    return node


def _example(sprint: Sprint) -> str | None:
    pointed = sprint.plan.pointed()
    return (
        f"an address is phase/step/sub-phase, like {pointed.address}" if pointed else None
    )


def check_moment(sprint: Sprint, events: list[Event], at: str) -> None:
    """Raise `RefusedError` if a leaf or the sprint would end before it started."""
    for event in events:
        if isinstance(event, SprintCompleted):
            _check(f"sprint {sprint.id}", sprint.plan.given_stats.get("started-at"), at)
        phase = getattr(event, "phase", None)
        node = sprint.plan.tree.find(phase) if phase else None
        is_about = event.kind is Kind.EXECUTION and not isinstance(event, PhaseStarted)
        if node is not None and is_about:
            _check(f"phase {node.address}", node.data.get("started-at"), at)


def _check(what: str, started: object, at: str) -> None:
    try:
        is_before = isinstance(started, str) and times.parse(at) < times.parse(started)
    except InvalidInputError:
        # Another tool wrote an invalid time, which cannot be compared.
        return
    if is_before:
        raise RefusedError(
            f"--at {at} is before {what} started, at {started}", field="at", at=at
        )


_INTERMEDIATE = {"start", "resume", "retry", "reopen"}
"""The commands that may be intermediate steps on the way to a status."""


def shortest_way(
    allowed: dict[str, Collection[str]], leads: dict[str, str], start: str, end: str
) -> list[str] | None:
    """Return the shortest sequence of commands from one status to another, or None."""
    ways: list[tuple[str, list[str]]] = [(start, [])]
    seen: set[str] = set()
    for status, way in ways:
        if status == end:
            return way
        if way and way[-1] not in _INTERMEDIATE:
            continue
        for command, to in leads.items():
            if status in allowed[command] and (
                to == end or command in _INTERMEDIATE - seen
            ):
                seen.add(command)
                ways.append((to, [*way, command]))
    return None
