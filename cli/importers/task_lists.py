"""Reader for JSON task lists: prd.json, feature_list.json, Task Master's tasks.json etc.

`task_lists.toml` describes every supported format. Items become phases, and their subtasks
become steps. Unknown keys stay on the phase; keys with a different meaning in sprintlog
are prefixed.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import sha256
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.errors import InvalidInputError
from sprintlog.extensions import ForeignFile, ImportedSprint, Unread

COMPLETED, PENDING = "completed", "pending"
CHILDREN = ("phases", "steps", "phases")
"""The key that contains the nodes of each level."""
Data = dict[str, Any]


class ListShape(NamedTuple):
    """A task list format."""

    key: str
    noun: str
    files: str


FORMS = tomllib.loads(files(__package__).joinpath("task_lists.toml").read_text("utf-8"))
SHAPES = [ListShape(**one) for one in FORMS["shapes"]]
FIELDS: dict[str, list[str]] = FORMS["fields"]
STATUSES = {word: name for name, words in FORMS["words"].items() for word in words.split()}
TAGS_MAX = 200
WHOLE_MIN = 2
"""The minimum number of entries for a file's top-level mapping to count as a list."""
_PREFIX = "source-"


class TaskList(NamedTuple):
    """A task list from a file: the plan of one sprint."""

    document: Data | None
    """A document in PROGRESS.yaml format without an id; None if the list is empty."""
    names: tuple[str, ...]
    """Possible names of the sprint, best first; if empty, the file's name is used."""
    noun: str
    total: int
    passed: int
    """The number of completed leaves."""


class TaskFile(NamedTuple):
    """All task lists in a file."""

    lists: Sequence[TaskList]
    digest: str
    unread: Sequence[Unread]


def read_task_lists(content: bytes, *, file: str) -> TaskFile:
    """Return the task lists in a file; raise `InvalidInputError` for an invalid field."""
    given = ForeignFile(Path(file), content=content).json()
    unread: list[Unread] = []
    lists = [
        _Reading(file, listed, unread).task_list(top, tag)
        for tag, top, listed in _lists(given)
    ]
    if not lists:
        known = ", ".join(one.key for one in SHAPES if one.key)
        problem = "has no list of tasks with an id or a title"
        raise InvalidInputError(problem, file=file, hint=f"known lists: {known}")
    if len(lists) > TAGS_MAX:
        raise InvalidInputError(f"has more than {TAGS_MAX} lists", file=file)
    return TaskFile(lists, sha256(content).hexdigest(), unread)


def is_task_file(given: object) -> bool:
    """Return whether a JSON value is an empty task list or states which items are done."""
    return any(
        any(map(_states, items)) if items else one in SHAPES[:4]
        for _, _, (one, items) in _lists(given)
    )


Listed = tuple[ListShape, list[Any]]


def _lists(given: object) -> Iterator[tuple[str, Data, Listed]]:
    """Yield each task list with its tag and the mapping that contains it."""
    if found := _listed(given):
        yield "", given if isinstance(given, dict) and found[0].key else {}, found
    elif isinstance(given, dict):
        for tag, inner in given.items():
            if isinstance(inner, dict) and (found := _listed(inner)) and found[0].key:
                yield tag, inner, found


def _listed(given: object) -> Listed | None:
    """Return the first list with completion states, else the first with named items."""
    plain: Listed | None = None
    for one in SHAPES:
        value = given.get(one.key) if one.key and isinstance(given, dict) else given
        if one.key and not isinstance(given, dict):
            continue
        items = _items(value, is_whole=not one.key)
        if items is None:
            continue
        if any(map(_states, items)):
            return one, items
        if plain is None and all(map(_is_named, items)) and (one.key or not items):
            plain = one, items
    return plain


def _items(value: object, *, is_whole: bool = False) -> list[Any] | None:
    """Return the items of a list, or the items of a mapping whose keys are ids."""
    if isinstance(value, list) and (not value or isinstance(value[0], dict)):
        return value
    if not isinstance(value, dict) or len(value) < (WHOLE_MIN if is_whole else 1):
        return None
    inner = [*value.values()]
    if not all(isinstance(one, dict) for one in inner):
        return None
    if is_whole and not all(_states(one, len(CHILDREN)) for one in inner):
        return None
    return [{"id": name, **one} for name, one in value.items()]


def _states(item: object, level: int = 0) -> bool:
    """Return whether an item or one of its descendants states whether it is done."""
    if not isinstance(item, dict):
        return False
    has_flag = any(isinstance(item.get(key), bool) for key in FIELDS["flag"])
    if "passes" in item or has_flag:
        return True
    if _word(item)[1] in STATUSES and first_of(item, "id", "title", "text"):
        return True
    _, below = next(_below(item, level), ("", []))
    return any(map(partial(_states, level=level + 1), below))


def _below(item: Data, level: int) -> Iterator[tuple[str, list[Any]]]:
    """Yield the key and the items of each non-empty list of an item's children."""
    for key in FIELDS["children"] if level + 1 < len(CHILDREN) else ():
        if below := _items(item.get(key)):
            yield key, below


def _children(item: Data, level: int) -> tuple[str, list[Any]]:
    """Return the key and the list of an item's children.

    The children must state whether they are done. If the item itself does not state whether
    it is done, it is sufficient that the children have names.
    """
    for key, below in _below(item, level):
        if any(_states(one, level + 1) for one in below):
            return key, below
        if not _states(item, len(CHILDREN)) and all(map(_is_named, below)):
            return key, below
    return "", []


def _is_named(item: object) -> bool:
    return bool(first_of(item, "title", "text"))


def first_of(item: object, *fields: str) -> str:
    """Return the first text or number in the given fields, or else an empty string."""
    for key in (key for field in fields for key in FIELDS[field]):
        value = item.get(key) if isinstance(item, dict) else None
        is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
        if is_text and (text := str(value).strip()):
            return text
    return ""


def _word(item: Data) -> tuple[str, str]:
    """Return the key and the normalized value of an item's status."""
    for key in FIELDS["status"]:
        if isinstance(word := item.get(key), str) and word.strip():
            return key, re.sub(r"[\s_]+", "-", word.strip().lower())
    return "", ""


class _Reading:
    """Converts one list into a plan."""

    def __init__(self, file: str, listed: Listed, unread: list[Unread]) -> None:
        self._file = file
        self._shape, self._items = listed
        self._unread = unread
        self._total = self._passed = 0
        self._reserved = ImportedSprint.reserved()

    def task_list(self, top: Data, tag: str) -> TaskList:
        """Return the list as the plan of a sprint."""
        phases = self._nodes(self._items, self._shape.key, 0)
        own = {k: v for k, v in top.items() if k != self._shape.key}
        document = None
        if phases:
            more = _kept(own, ImportedSprint.reserved(is_top=True))
            more |= {"tag": tag} if tag else {}
            sprint = ImportedSprint("list", phases, more=more)
            document = sprint.document(kind="prd", file=Path(self._file))
            del document["sprint-id"]
        meta = own.get("meta") or own.get("project")
        names = (
            first_of(own, "branch").removeprefix("ralph/"),
            "" if tag == "master" else tag,
            first_of(own, "project") or first_of(meta, "project"),
        )
        named = tuple(filter(None, names))
        return TaskList(document, named, self._shape.noun, self._total, self._passed)

    def _nodes(self, items: Sequence[Any], where: str, level: int) -> list[Data]:
        nodes: list[Data] = []
        seen: set[str] = set()
        for number, item in enumerate(items):
            at = f"{where}[{number}]"
            if not isinstance(item, dict):
                raise self._error("must be an object", at)
            id_ = self._id(item, at, number + 1, level)
            if id_ in seen:
                given = id_
                id_ = next(x for n in count(2) if (x := f"{given}-{n}") not in seen)
                problem = f"{at}.id: occurs twice; the second is {id_[:50]!r}"
                self._unread.append(Unread.of(self._file, problem, given))
            seen.add(id_)
            nodes.append(self._node(item, id_, at, level))
        # Loops process items by priority, starting with 1; other items keep their order.
        order = [_priority(item) for item in items]
        return [nodes[n] for n in sorted(range(len(nodes)), key=order.__getitem__)]

    def _id(self, item: Data, at: str, number: int, level: int) -> str:
        given = next((item[key] for key in FIELDS["id"] if item.get(key) is not None), "")
        if isinstance(given, bool | list | dict) or not str(given).isprintable():
            raise self._error(f"{str(given)[:40]!r} is not a valid id", f"{at}.id")
        if not str(given).strip() and not first_of(item, "title", "text"):
            raise self._error("has neither an id nor a description", at)
        return str(given).strip() or f"{'task' if level else self._shape.noun}-{number:03}"

    def _error(self, problem: str, field: str) -> InvalidInputError:
        return InvalidInputError(problem, file=self._file, field=field)

    def _node(self, item: Data, id_: str, at: str, level: int) -> Data:
        key, below = _children(item, level)
        read = {"id", "passes", key}
        own = _kept({k: v for k, v in item.items() if k not in read}, self._reserved)
        if below:
            children = self._nodes(below, f"{at}.{key}", level + 1)
            title = first_of(item, "title") or id_
            return {"id": id_, "title": title, **own, CHILDREN[level + 1]: children}
        status = self._status(item, at)
        self._total += 1
        self._passed += status == COMPLETED
        return {"id": id_, "prompt": _prompt(item) or id_, "status": status, **own}

    def _status(self, item: Data, at: str) -> str:
        """Return a leaf's status; a Boolean flag, if present, determines completion."""
        passes = item.get("passes")
        if not isinstance(passes, bool | None):
            raise self._error("must be true or false", f"{at}.passes")
        flags = [passes, *(item.get(key) for key in FIELDS["flag"])]
        flag = next((one for one in flags if isinstance(one, bool)), None)
        key, word = _word(item)
        status = STATUSES.get(word)
        if word and status is None:
            problem = f"{at}.{key}: unknown status"
            self._unread.append(Unread.of(self._file, problem, item[key]))
        if flag:
            return COMPLETED
        return PENDING if status is None or (status, flag) == (COMPLETED, False) else status


def _kept(own: Data, taken: set[str]) -> Data:
    """Return a mapping in which reserved keys have a prefix."""
    prefixed = {key for key in own if key in taken and (key, type(own[key])) != _SUMMARY}
    return {f"{_PREFIX}{k}" if k in prefixed else k: v for k, v in own.items()}


_SUMMARY = ("summary", str)


def _priority(item: Data) -> float:
    given = item.get("priority")
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return float(given) if is_number and given is not None else float("inf")


def _prompt(item: Data) -> str:
    texts = [first_of({key: item.get(key)}, "text") for key in FIELDS["text"]]
    said = [*filter(None, dict.fromkeys([first_of(item, "title"), *texts]))]
    for heading, keys in FORMS["sections"].items():
        wanted: Any = next((item[key] for key in keys if item.get(key)), [])
        points = [_text(one) for one in (wanted if isinstance(wanted, list) else [wanted])]
        if any(points):
            said.append("\n".join([f"{heading}:", *(f"- {one}" for one in points if one)]))
    return "\n\n".join(said)


def _text(value: object) -> str:
    """Return a criterion as text; for an object, its description or all its strings."""
    if not isinstance(value, dict):
        return "" if value is None or isinstance(value, list) else str(value).strip()
    named = ("description", "text", "criterion", "criteria", "requirement", "title", "name")
    for key in named:
        if isinstance(text := value.get(key), str) and text.strip():
            return text.strip()
    return ", ".join(f"{k}: {v}" for k, v in value.items() if isinstance(v, str | int))
