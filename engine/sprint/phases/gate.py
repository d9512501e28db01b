"""A gate: its policy in the plan, its state, when it is due, and its repair prompt.

A gate is a script that must pass before its phase can finish. The policy is read here for
every plan, compiled or imported; `gate_checks.py` records the gate's runs.
"""

import math
from typing import Any, TypeGuard

import msgspec

from ...errors import RefusedError
from ..events import GateChecked
from ..state import document_fields, transitions, tree, words
from ..state.sprint import Plan, Sprint

GATE_RETRIES = 3
"""The default number of retries after a failed gate."""
GATE_TIMEOUT_SECONDS = 60
"""The default timeout of a gate's script, in seconds."""
GATE_TIMEOUT_SECONDS_MAX = 7 * 24 * 60 * 60
"""The maximum timeout: one week, which the system's timers still support."""

FIELDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "script": (("script",),),
    "on-fail-prompt": (("on-fail-prompt",), ("on-fail", "prompt")),
    "max-retries": (("max-retries",), ("on-fail", "max-retries")),
    "timeout": (("timeout",),),
}
"""The paths of each part of a gate: first in the compiled, then in the authored form."""
_WAYS = {
    words.PENDING: "start",
    words.IN_PROGRESS: "complete",
    words.FAILED: "retry",
    words.BLOCKED: "retry",
}
"""The command that continues unfinished work, for each status of a leaf."""


class GateResult(msgspec.Struct, frozen=True):
    """The result of a gate script's run, with the same fields as a `gate-checked` event."""

    exit_code: int
    timed_out: bool = False
    duration_ms: int | None = None
    output: str = ""
    output_bytes: int | None = None
    output_sha256: str | None = None
    left_behind: int = 0


class GatePolicy(msgspec.Struct, frozen=True):
    """A gate's policy in a plan, with defaults filled in."""

    script: str | None
    on_fail_prompt: str | None
    retries_max: int = GATE_RETRIES
    timeout_seconds: float = GATE_TIMEOUT_SECONDS

    @property
    def attempts_max(self) -> int:
        """Return the number of attempts after which the gate blocks."""
        return 1 + self.retries_max


def said_of_gate(gate: object, part: str) -> tuple[tuple[str, ...], Any]:
    """Return the path and the value of a part of a gate; the value may be None."""
    for path in FIELDS[part]:
        value = gate
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            return path, value
    return FIELDS[part][0], None


def gate_of(node: tree.Node) -> GatePolicy:
    """Return the policy of a node's gate; invalid parts are ignored."""
    gate = node.data.get("gate")
    said = {
        part: value
        for part in FIELDS
        if _problem(part, value := said_of_gate(gate, part)[1]) is None
    }
    return GatePolicy(
        said.get("script"),
        said.get("on-fail-prompt"),
        said.get("max-retries", GATE_RETRIES),
        said.get("timeout", GATE_TIMEOUT_SECONDS),
    )


def gate_problems(gate: tree.Data) -> list[tuple[str, str]]:
    """Return the field and the problem of each invalid part of a gate."""
    found = []
    for part in FIELDS:
        path, value = said_of_gate(gate, part)
        problem = _problem(part, value)
        if problem is not None and (value is not None or part == "script"):
            found.append((".".join(path), problem))
    return found


def check_gate(gate: object, field: str) -> None:
    """Raise `RefusedError` unless the gate is valid."""
    if not isinstance(gate, dict):
        raise RefusedError(f"{field}: must be a mapping with a script", field=field)
    if not isinstance(gate.get("on-fail", {}), dict):
        raise RefusedError(f"{field}.on-fail: must be a mapping", field=f"{field}.on-fail")
    for part, problem in gate_problems(gate):
        raise RefusedError(f"{field}.{part}: {problem}", field=f"{field}.{part}")


def check_gates(nodes: object, field: str, *, level: int = 1) -> None:
    """Raise `RefusedError` unless all gates at or below these nodes are valid."""
    for index, node in enumerate(nodes if isinstance(nodes, list) else ()):
        where = f"{field}[{index}]"
        if isinstance(node, dict):
            if node.get("gate") is not None:
                check_gate(node["gate"], f"{where}.gate")
            if level < len(tree.CHILDREN):
                key = tree.CHILDREN[level]
                check_gates(node.get(key), f"{where}.{key}", level=level + 1)


def _problem(part: str, value: object) -> str | None:
    """Return why a value is invalid for a part of a gate; None if it is valid."""
    if part == "max-retries":
        is_one = type(value) is int and value >= 0
        return None if is_one else "must be a whole number, 0 or more"
    if part == "timeout":
        if _is_duration(value) and value <= GATE_TIMEOUT_SECONDS_MAX:
            return None
        return f"must be greater than 0 and at most {GATE_TIMEOUT_SECONDS_MAX} seconds"
    if not isinstance(value, str):
        return "must be text"
    if not value.strip():
        return "has no text"
    return "holds a NUL, which no script can" if "\0" in value else None


def _is_duration(value: object) -> TypeGuard[float]:
    return type(value) in (int, float) and 0 < value < math.inf  # type: ignore[operator]


def attempts_of(node: tree.Node) -> int:
    """Return the number of checks since the gate was last reset."""
    return document_fields.count_of(
        document_fields.mapping_of(node.data, "gate-tracking"), "attempts"
    )


def is_due(node: tree.Node) -> bool:
    """Return whether a node's gate is due because the preceding work is done."""
    if node.children:
        return tree.waits_for_gate(node)
    if node.leaf < 0 or not tree.gate_is_open(node.data):
        return False
    # A phase without steps has no work before its gate.
    has_none = node.is_empty and node.status == words.PENDING
    # A leaf blocked only by its gate needs no work before the gate runs again.
    is_stuck = node.status == words.BLOCKED and tree.gate_status(node.data) == words.BLOCKED
    return has_none or is_stuck or node.status in (words.IN_PROGRESS, words.COMPLETED)


def find_gate(sprint: Sprint, phase: str | None) -> tree.Node:
    """Return the node at an address, or the node whose gate the pointer waits for.

    Without an address, this is the first node with an open gate from the pointer's leaf
    upwards, preferably a node whose gate is due. Raise `RefusedError` if there is no gate.
    """
    node = transitions.find_node(sprint, phase)
    if phase is not None and tree.gate_status(node.data) is not None:
        return node
    found = []
    while phase is None and node.parent is not None:
        if tree.gate_is_open(node.data):
            found.append(node)
        node = node.parent
    if not found:
        raise RefusedError(
            f"phase {phase} has no gate" if phase else "no gate waits at the pointer",
            hint="run `sprintlog gate show` to list the gates",
            phase=phase,
            command="gate",
        )
    return next(filter(is_due, found), found[0])


def check_due(node: tree.Node) -> None:
    """Raise `RefusedError` unless the node is waiting for its gate."""
    if is_due(node):
        return
    leaf = next((x for x in node.leaves() if x.status not in words.FINISHED), None)
    waits_for = leaf or next(filter(is_due, node.walk()), node)
    raise RefusedError(
        f"the gate of phase {node.address} cannot be checked: "
        f"{waits_for.address} is {waits_for.status}",
        hint=_way_on(waits_for),
        phase=node.address,
        state=node.status,
        command="gate",
    )


def _way_on(node: tree.Node) -> str | None:
    """Return a hint with the command that must come before a node's gate, or None."""
    if is_due(node):
        return f"run `sprintlog gate run --phase {node.address}` first"
    way = _WAYS.get(node.status) if node.leaf >= 0 else None
    return f"`sprintlog phase {way} {node.address}` first" if way else None


def next_attempt(plan: Plan, node: tree.Node) -> int:
    """Return the number of the next check; the count restarts after a person intervenes."""
    begins_anew = (
        tree.gate_status(node.data) == words.BLOCKED or node.address in plan.renewed
    )
    return 1 if begins_anew else attempts_of(node) + 1


def verdict_of(event: GateChecked) -> str:
    """Return a gate's status after a check, regardless of how many retries are left."""
    if event.exit_code == 0 and not event.timed_out:
        return words.PASSED
    return word_after(event.attempt)


def word_after(attempts: int) -> str:
    """Return a gate's status after a number of failed attempts."""
    if attempts < 1:
        return words.PENDING
    return words.RETRYING if attempts == 1 else words.FAILED


def forget_gates(node: tree.Node) -> None:
    """Make the gates of a node and its ancestors due again, because work on it restarts.

    A failed gate that may be retried retains its count, which limits the retries. A gate
    whose attempts were used up after its leaf had failed was not blocked; it is reset as
    well.
    """
    over = node
    while over.parent is not None:
        # Most nodes have no gate, and every fold executes this code.
        if "gate" in over.data and (status := tree.gate_status(over.data)) is not None:
            attempts = attempts_of(over)
            is_used_up = attempts >= gate_of(over).attempts_max
            if status in (words.PASSED, words.BLOCKED) or is_used_up:
                track(over, 0, words.PENDING)
            elif status == words.RUNNING:
                # The gate's result would refer to discarded work.
                track(over, attempts, word_after(attempts))
        over = over.parent


def track(node: tree.Node, attempts: int, status: str, **fields: Any) -> None:
    """Write a gate's state with its keys in the document's order (SPR-104)."""
    old = document_fields.mapping_of(node.data, "gate-tracking")
    tracking: tree.Data = {"attempts": attempts, "status": status}
    tracking.update((k, v) for k, v in old.items() if k not in tracking)
    tracking.pop("error", None)
    tracking.update({name.replace("_", "-"): value for name, value in fields.items()})
    tree.put(node.data, "gate-tracking", tracking)


def repair_prompt(plan: Plan, node: tree.Node) -> str | None:
    """Return the prompt for repairing a failed gate, or None if no repair is due.

    The prompt consists of the gate's own prompt and a description of the failure.
    """
    has_failed = tree.gate_status(node.data) in (words.RETRYING, words.FAILED)
    if not has_failed or plan.last.repaired.of(node.address) is not None:
        return None
    gate, tracking = gate_of(node), node.data["gate-tracking"]
    last = plan.last.gates.of(node.address)
    failure = failure_text(
        gate,
        phase=node.address,
        attempt=attempts_of(node),
        exit_code=tracking.get("last-exit-code"),
        timed_out=isinstance(last, GateChecked) and last.timed_out,
        output=str(tracking.get("last-output") or ""),
    )
    prompt = gate.on_fail_prompt
    return f"{prompt.rstrip()}\n\n{failure}" if prompt else failure


def failure_text(
    gate: GatePolicy,
    *,
    phase: str,
    attempt: int,
    exit_code: object,
    timed_out: bool,
    output: str,
) -> str:
    """Return a description of a gate's failure, with its script and output indented."""
    # If the script was ended, its exit status is only that of the signal.
    how = "at its time limit" if timed_out else f"with exit code {exit_code}"
    parts = [
        f"The gate of {phase} failed {how} (attempt {attempt} of {gate.attempts_max})."
    ]
    if gate.script:
        parts += ["Its script:", _indented(gate.script)]
    shown = _indented(output)
    parts += ["What it printed:", shown] if shown else ["It printed nothing."]
    return "\n\n".join(parts)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip().split("\n")).rstrip()
