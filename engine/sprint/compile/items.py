"""The items of a SPRINT.yaml: both generations, their ids and their dependencies."""

from typing import Any, NamedTuple

from ...errors import RefusedError
from ..plan.create import check_id
from ..state.document_fields import list_of, text_of
from .problems import Definition, Path, Problems, is_given, nearest

FIRST_GENERATION = "step"
"""The collection that a `steps` list stands for."""
RESERVED = ("phase", "sprint")


class Collection(NamedTuple):
    """A named list of items, each as templates see it, and where it stands."""

    items: list[Definition]
    path: Path


def collections_of(sprint: Definition, problems: Problems) -> dict[str, Collection]:
    """Return the collections by name; `steps` is the one called `step`."""
    data = sprint.data
    if "steps" in data and "collections" in data:
        problems.add(
            "mixed-generations",
            sprint,
            ("steps",),
            "`steps` and `collections` are both there; only one of them may be",
            hint="`steps: […]` is the same as `collections: {step: […]}`",
        )
    given = data.get("collections")
    found = {}
    for name, items in given.items() if isinstance(given, dict) else ():
        path: Path = ("collections", name)
        if name in RESERVED:
            problems.add("bad-id", sprint, path, f"a collection cannot be called {name!r}")
        found[name] = _collection(sprint, name, items, path, problems)
    if "steps" in data and FIRST_GENERATION not in found:
        found[FIRST_GENERATION] = _collection(
            sprint, FIRST_GENERATION, data["steps"], ("steps",), problems
        )
    return found


def _collection(
    sprint: Definition, name: str, given: Any, path: Path, problems: Problems
) -> Collection:
    if given == []:
        problems.add(
            "empty-collection",
            sprint,
            path,
            "has no items",
            hint="an item is `- prompt: …`",
        )
    items: list[Definition] = []
    seen: dict[str, int] = {}
    for index, data in enumerate(given if isinstance(given, list) else ()):
        if not isinstance(data, dict):
            continue
        where = (*path, index)
        identity = text_of(data, "id") or f"{name}-{index}"
        if check_text_id(identity, sprint, (*where, "id"), problems) and identity in seen:
            problems.add(
                "duplicate-id",
                sprint,
                (*where, "id"),
                f"{identity!r} is the id of item {seen[identity]} already",
                hint="ids must be unique in a collection",
            )
        seen.setdefault(identity, index)
        seen_by_templates = {
            "type": name,
            **data,
            "prompt": text_of(data, "prompt") or "",
            "id": identity,
            "index": index,
        }
        items.append(sprint.part(seen_by_templates, *where))
    for item in items:
        _check_dependencies(item, seen, problems)
    return Collection(items, path)


def _check_dependencies(
    item: Definition, places: dict[str, int], problems: Problems
) -> None:
    own = item.data["id"]
    for index, name in enumerate(list_of(item.data, "depends-on")):
        path = ("depends-on", index)
        if name == own:
            problems.add("self-reference", item, path, f"item {own!r} depends on itself")
        elif isinstance(name, str) and name not in places:
            problems.add(
                "unknown-item",
                item,
                path,
                f"there is no item {name!r}",
                hint=nearest(name, list(places)),
            )
        elif isinstance(name, str) and places[name] > item.data["index"]:
            problems.add(
                "later-dependency",
                item,
                path,
                f"{name!r} comes after {own!r}; items are run in the order written",
                hint=f"move {name!r} up",
            )


def check_text_id(identity: str, where: Definition, path: Path, problems: Problems) -> bool:
    """Return whether a text is a valid id; report a problem if not."""
    try:
        check_id(identity, field="id")
    except RefusedError as error:
        problems.add("bad-id", where, path, error.message.partition(": ")[2])
        return False
    return True


def missing_items(sprint: Definition, problems: Problems) -> None:
    """Take it as a problem when there are neither `steps` nor `collections`."""
    if not is_given(sprint.data, "steps") and not is_given(sprint.data, "collections"):
        problems.add(
            "missing-items",
            sprint,
            (),
            "there are neither `steps` nor `collections`",
            hint="list what is to be done: `collections: {step: [{prompt: …}]}`",
        )
