"""JSON Patches between documents, by cases worked out by hand."""

from copy import deepcopy
from typing import Any

import msgspec
import pytest

from sprintlog.engine.sprint.state.patch import apply, diff, escape, same, segments


@pytest.mark.parametrize(
    ("old", "new", "operations"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}]),
        ({"a": 1, "b": 2}, {"b": 2}, [{"op": "remove", "path": "/a"}]),
        ({"a": 1}, {"a": 1, "b": 2}, [{"op": "add", "path": "/b", "value": 2}]),
        (
            {"b": 2},
            {"a": 1, "b": 2},
            [
                {"op": "add", "path": "/a", "value": 1},
                {"op": "move", "from": "/b", "path": "/b"},
            ],
        ),
        (
            {"a": 1, "b": 2},
            {"b": 2, "a": 1},
            [
                {"op": "move", "from": "/b", "path": "/b"},
                {"op": "move", "from": "/a", "path": "/a"},
            ],
        ),
        ({"x": {"y": [1]}}, {"x": {"y": [1, 2]}}, [("add", "/x/y/1", 2)]),
        ({"a/b~c": 1}, {"a/b~c": 2}, [("replace", "/a~1b~0c", 2)]),
        (
            {"": 1, "-": [1]},
            {"": 2, "-": [2]},
            [("replace", "/", 2), ("replace", "/-/0", 2)],
        ),
        ({"a": 1}, [1], [("replace", "", [1])]),
        ({"a": {}}, {"a": []}, [("replace", "/a", [])]),
    ],
)
def test_says_what_changed(old: Any, new: Any, operations: list[Any]) -> None:
    """Operations are RFC 6902; a move of a key onto itself puts it last."""
    expected = [
        dict(zip(("op", "path", "value"), o, strict=True)) if isinstance(o, tuple) else o
        for o in operations
    ]
    assert diff(old, new) == expected
    assert same(apply(deepcopy(old), diff(old, new)), new)


@pytest.mark.parametrize(
    ("old", "new"),
    [(1, 1.0), (1, True), (0, False), (0.0, -0.0), ("1", 1), (None, False), (None, 0)],
)
def test_tells_equal_values_of_types_apart(old: Any, new: Any) -> None:
    """Values that compare equal but are written differently are different."""
    assert not same(old, new)
    after = apply({"a": [old]}, diff({"a": [old]}, {"a": [new]}))
    assert msgspec.json.encode(after) == msgspec.json.encode({"a": [new]})


def test_follows_items_by_their_id() -> None:
    """Inserting into a list results in one new item, not in many moved ones."""
    old = [{"id": "a", "n": 1}, {"id": "b", "n": 1}]
    new = [{"id": "x"}, {"id": "a", "n": 1}, {"id": "b", "n": 2}]
    assert diff(old, new) == [
        {"op": "add", "path": "/0", "value": {"id": "x"}},
        {"op": "replace", "path": "/2/n", "value": 2},
    ]


def test_removes_from_lists_in_order() -> None:
    """Indices refer to the list at the time of each operation."""
    assert diff([1, 2, 3, 4], [1, 4]) == [{"op": "remove", "path": "/1"}] * 2
    assert apply([1, 2, 3, 4], diff([1, 2, 3, 4], [1, 4])) == [1, 4]


def test_applies_what_other_tools_write() -> None:
    """`-` is the end of a list, and a replacement may be the whole document."""
    assert apply({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}]) == {"a": [1, 2]}
    assert apply({"a": [1]}, [{"op": "replace", "path": "", "value": 7}]) == 7


@pytest.mark.parametrize("key", ["", "a", "~", "/", "~1", "~01", "a/b~c", "#0", "ü"])
def test_escapes_pointers_and_back(key: str) -> None:
    """A JSON Pointer can contain any key (RFC 6901)."""
    assert segments(f"/x/{escape(key)}/0") == ["x", key, "0"]


def test_pairs_many_items_without_id() -> None:
    """Long lists whose items have no id are compared in one pass."""
    old = [{"n": n} for n in range(20_000)]
    new = [*old, {"n": -1}]
    assert diff(old, new) == [{"op": "add", "path": "/20000", "value": {"n": -1}}]
