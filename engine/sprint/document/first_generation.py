"""Documents of the first generation: tasks in a queue, and lists of what became of them.

Each task is read as a simple phase, first those that are completed, then the blocked ones,
then the queue: nothing that is open may be taken for done.
"""

from ...errors import RefusedError
from ..state.tree import Data
from ..state.words import BLOCKED, COMPLETED, FAILED, IN_PROGRESS, PENDING, SKIPPED

LISTS = {"completed": COMPLETED, "blocked": BLOCKED, "queue": PENDING}
"""The lists of tasks in the order they are read, with the status of their tasks."""
_MAY_SAY = {
    "completed": (COMPLETED, SKIPPED),
    "blocked": (BLOCKED, FAILED),
    "queue": (PENDING, IN_PROGRESS, FAILED, BLOCKED, SKIPPED),
}
CURRENT = "current-task"
_TEXTS = ("prompt", "description", "title", "name")
_MEANS = {"summary": "notes", "error": "reason"}
"""Fields of a phase, and their former names."""


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
    """Return a document of the first generation with its tasks as phases.

    The phases replace the first of the lists. Raise `RefusedError` for an invalid task.
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
    tasks = document.get(name)
    if tasks is not None and not isinstance(tasks, list):
        raise _unread(name, "must be a list of tasks")
    return tasks or []


def _phase(task: object, name: str, where: str, current: object) -> Data:
    given: Data = {"id": task} if isinstance(task, str) else task  # type: ignore[assignment]
    if not isinstance(given, dict):
        raise _unread(where, "must be a task or its id")
    identity, status = given.get("id"), given.get("status", LISTS[name])
    if not isinstance(identity, str) or not identity:
        raise _unread(f"{where}.id", "is missing or not text")
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
