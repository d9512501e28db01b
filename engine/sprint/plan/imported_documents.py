"""Documents from other tools: older formats, rule violations, and changes as events.

Violations are reported, never corrected. The events are derived from the difference between
two versions of a document. First-generation documents have tasks in a queue instead of
phases: each task is imported as a simple phase.
"""

from collections.abc import Iterator
from copy import deepcopy

from ...errors import InvalidInputError, RefusedError
from ...log.event import Event
from .. import events as f
from ..phases.gate import gate_problems
from ..state import sprint, times, words
from ..state.document_fields import count_of, list_of, mapping_of
from ..state.tree import Data, Node, Tree, derived_status
from ..state.words import BLOCKED, COMPLETED, FAILED, IN_PROGRESS, PENDING, SKIPPED

_TIMES = ("started-at", "completed-at", "next-retry-at", "injected-at")


def contradictions(document: Data) -> list[str]:
    """Return one sentence for each rule that a document violates.

    The document is imported unchanged (SPR-170): sprintlog derives figures, the pointer and
    parents only after it has recorded an event itself.
    """
    view = sprint.settled(deepcopy(document))
    return [
        *_in_nodes(Tree(document)),
        *_in_hooks(document),
        *_in_times(document, "", ("last-activity",)),
        *_in_times(mapping_of(document, "stats"), "stats.", _TIMES),
        *_in_figures(document, view),
        *_in_pointer(document, view),
    ]


def _in_nodes(tree: Tree) -> list[str]:
    found = [
        f"{address} has no id or no status and takes no part"
        for address in sorted(tree.inert)
        if _is_by_index(address)
    ]
    for node in tree.root.walk():
        found.extend(_in_node(node))
    return found


def _in_node(node: Node) -> list[str]:
    found = []
    if node.children and (derived := derived_status(node)) != node.status:
        found.append(f"{node.address} is {node.status}, its children say {derived}")
    if node.level == 1 and "prompt" in node.data and "steps" in node.data:
        found.append(f"{node.address} has both a prompt and steps")
    if node.level == 1 and "prompt" not in node.data and "steps" not in node.data:
        found.append(f"{node.address} has neither a prompt nor steps")
    if _is_by_index(node.address):
        found.append(f"{node.address} has the id of a sibling")
    if (identity := node.data["id"]) in (".", "..") or "/" in identity or "\\" in identity:
        found.append(f"{node.address} has an id that would lead elsewhere: {identity}")
    if _has_nul(node.data.get("prompt")):
        found.append(f"{node.address} has a prompt with a NUL, which no agent can be given")
    if isinstance(gate := node.data.get("gate"), dict):
        found.extend(
            f"{node.address} has a gate whose {field} counts as not given: it {problem}"
            for field, problem in gate_problems(gate)
        )
    return [*found, *_in_times(node.data, f"{node.address}.", _TIMES)]


def _in_hooks(document: Data) -> list[str]:
    return [
        f"hook {hook.get('id')} has a {key} with a NUL, which no program can be given"
        for hook in list_of(document, "per-iteration-hooks")
        for key in ("command", "prompt")
        if isinstance(hook, dict) and _has_nul(hook.get(key))
    ]


def _in_times(data: Data, where: str, fields: tuple[str, ...]) -> list[str]:
    return [
        f"{where}{field} is {data[field][:40]!r}, which is no time"
        for field in fields
        if isinstance(data.get(field), str) and not _is_time(data[field])
    ]


def _is_time(text: str) -> bool:
    try:
        times.parse(text)
    except InvalidInputError:
        return False
    return True


def _has_nul(text: object) -> bool:
    return isinstance(text, str) and "\0" in text


def _in_figures(document: Data, view: Data) -> list[str]:
    given = mapping_of(document, "stats")
    return [
        f"stats.{key} is {given[key]}, the tree says {view['stats'].get(key)}"
        for key in ("total-phases", "completed-phases", "total-steps", "completed-steps")
        if key in given and given[key] != view["stats"].get(key)
    ]


def _in_pointer(document: Data, view: Data) -> list[str]:
    if document.get("current") == view["current"]:
        return []
    given, derived = _text(document.get("current")), _text(view["current"])
    return [f"current is {given}, the first open leaf is {derived}"]


def _text(pointer: object) -> str:
    if not isinstance(pointer, dict):
        return "missing"
    indices = (pointer.get(key) for key in ("phase", "step", "sub-phase"))
    return "/".join("null" if index is None else str(index) for index in indices)


def _is_by_index(address: str) -> bool:
    return address.rsplit("/", 1)[-1].startswith("#")


_STEP_LEVEL = 2
"""The level of steps: phases are above, sub-phases below."""
_SAID_CHARS_MAX = 2_000


def observations(before: Data, after: Data, *, source: str) -> list[Event]:
    """Return events that explain the changes between two versions, in a plausible order."""
    older, newer = Tree(before), Tree(after)
    known = {node.address: node for node in _nodes(older.root)}
    return [
        *_of_the_sprint(before, after, source),
        *_iteration(before, after),
        *(e for node in _nodes(newer.root) for e in _injected(node, known)),
        *(
            e
            for leaf in newer.leaves
            for e in _of_leaf(leaf, known.get(leaf.address), source)
        ),
        *_end(before, after),
    ]


def losses(before: Data, after: Data) -> tuple[str, ...]:
    """Return the leaves that were finished before but are now open or missing."""
    there = {leaf.address: leaf.status for leaf in Tree(after).leaves}
    done = (leaf.address for leaf in Tree(before).leaves if leaf.status in words.FINISHED)
    parents = {node.address for node in _nodes(Tree(after).root)} - there.keys()
    return tuple(
        address
        for address in done
        if address not in parents and there.get(address) not in words.FINISHED
    )


def _nodes(node: Node) -> Iterator[Node]:
    """Yield all descendants of a node, parents before children."""
    for child in node.children:
        yield child
        yield from _nodes(child)


def _of_the_sprint(before: Data, after: Data, source: str) -> Iterator[Event]:
    was, is_now = before.get("status"), after.get("status")
    if was == words.NOT_STARTED and is_now not in (words.NOT_STARTED, was):
        yield f.SprintStarted()
    if was == words.COMPLETED and is_now != words.COMPLETED:
        yield f.SprintReopened(f"{is_now} in {source}")


def _end(before: Data, after: Data) -> Iterator[Event]:
    if after.get("status") == words.COMPLETED != before.get("status"):
        yield f.SprintCompleted()


def _iteration(before: Data, after: Data) -> Iterator[Event]:
    was, number = (
        count_of(mapping_of(one, "stats"), "current-iteration") for one in (before, after)
    )
    if number > was:
        yield f.IterationStarted(number)


def _injected(node: Node, known: dict[str, Node]) -> Iterator[Event]:
    """Yield the injection of a node, unless its parent was injected as well."""
    parent = node.parent
    if node.address in known or parent is None:
        return
    if parent.level and parent.address not in known:
        return
    siblings = parent.children
    index = siblings.index(node)
    after = siblings[index - 1].address if index else None
    behind = (one.address for one in siblings[index + 1 :] if one.address in known)
    before = next(behind, None) if after is None else None
    kind = f.StepInjected if node.level == _STEP_LEVEL else f.PhaseInjected
    position = f.InjectionPosition("after" if after else "before", after or before)
    if not (after or before):
        position = f.InjectionPosition(
            "end-of-phase" if parent.level else "end-of-workflow"
        )
    into = parent.address if parent.level else ""
    yield kind([deepcopy(node.data)], position, into=into, after=after, before=before)


def _of_leaf(leaf: Node, older: Node | None, source: str) -> Iterator[Event]:
    """Yield the events that explain a leaf's change of status."""
    was, is_now = older.status if older else words.PENDING, leaf.status
    if was == is_now:
        return
    address = leaf.address
    if was in words.FINISHED and is_now not in words.FINISHED:
        yield f.PhaseReopened(address, f"{was} before, {is_now} in {source}")
    elif is_now == words.PENDING:
        yield f.PhaseRetried(address, f"{was} before, {is_now} in {source}")
    error = _said(leaf, "error") or f"{is_now} in {source}"
    events = {
        words.IN_PROGRESS: f.PhaseStarted(address),
        words.COMPLETED: f.PhaseCompleted(address, _said(leaf, "summary")),
        words.FAILED: f.PhaseFailed(address, error),
        words.BLOCKED: f.PhaseBlocked(address, error),
        words.SKIPPED: f.PhaseSkipped(address),
    }
    if is_now in events:
        yield events[is_now]


def _said(leaf: Node, key: str) -> str | None:
    value = leaf.data.get(key)
    return value[:_SAID_CHARS_MAX] if isinstance(value, str) and value else None


LISTS = {"completed": COMPLETED, "blocked": BLOCKED, "queue": PENDING}
"""The lists of tasks in reading order, with the status of their tasks."""
_MAY_SAY = {
    "completed": (COMPLETED, SKIPPED),
    "blocked": (BLOCKED, FAILED),
    "queue": (PENDING, IN_PROGRESS, FAILED, BLOCKED, SKIPPED),
}
CURRENT = "current-task"
_TEXTS = ("prompt", "description", "title", "name")
_MEANS = {"summary": "notes", "error": "reason"}
"""The renamed fields of a phase, with their former names."""


def is_first_generation(document: object) -> bool:
    """Return whether a document has a queue of tasks instead of phases.

    An empty list of phases is ignored, so that the tasks are not lost.
    """
    if not isinstance(document, dict) or document.get("phases"):
        return False
    if "phases" in document:
        return any(document.get(name) for name in LISTS)
    return any(name in document for name in LISTS)


def with_phases(document: Data) -> Data:
    """Return a first-generation document with its tasks converted to phases.

    The phases replace the task lists. Raise `RefusedError` if a task is invalid.
    """
    phases = [
        _phase(task, name, f"{name}[{index}]", document.get(CURRENT))
        for name in LISTS
        for index, task in enumerate(_tasks(document, name))
    ]
    read: Data = {}
    for key, value in document.items():
        if key in LISTS:
            read.setdefault("phases", phases)
        elif key not in (CURRENT, "phases"):
            read[key] = value
    return read


def _tasks(document: Data, name: str) -> list[object]:
    if (tasks := document.get(name)) is not None and not isinstance(tasks, list):
        raise _unread(name, "must be a list of tasks")
    return tasks or []


def _phase(task: object, name: str, where: str, current: object) -> Data:
    given: Data = {"id": task} if isinstance(task, str) else task  # type: ignore[assignment]
    if not isinstance(given, dict):
        raise _unread(where, "must be a task or its id")
    identity, status = given.get("id"), given.get("status", LISTS[name])
    if not isinstance(identity, str) or not identity:
        raise _unread(f"{where}.id", "is missing or not a string")
    if status not in _MAY_SAY[name]:
        raise _unread(f"{where}.status", f"{status!r} is in the list {name!r}")
    if status == PENDING and current == identity:
        status = IN_PROGRESS
    phase: Data = {"id": identity, "status": status, "prompt": _prompt(given)}
    phase |= {key: value for key, value in given.items() if key not in phase}
    for field, called in _MEANS.items():
        if field not in phase and isinstance(given.get(called), str):
            phase[field] = given[called]
    return phase


def _prompt(task: Data) -> str:
    said = [task[key] for key in _TEXTS if isinstance(task.get(key), str) and task[key]]
    prompt: str = said[0] if said else task["id"]
    done_when = task.get("done-when")
    return f"{prompt}\n\nDone when: {done_when}" if isinstance(done_when, str) else prompt


def _unread(field: str, problem: str) -> RefusedError:
    return RefusedError(f"{field}: {problem}", field=field)
