"""A patch leads from one document to exactly the other: key order, types, all bytes."""

from copy import deepcopy
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintlog.engine.sprint.state.patch import apply, diff, same
from tests.lengths import examples

laws = settings(max_examples=examples(100), deadline=None)

keys = st.sampled_from(["id", "status", "a", "b", "", "-", "0", "a/b", "~", "~1", "ü"])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0.0, -0.0, 1.0, 2.0, 1e300]),
    st.sampled_from(["", "a", "1", "true"]),
)
documents = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(keys, inner, max_size=6)
    ),
    max_leaves=25,
)
mappings = st.dictionaries(keys, documents, max_size=6)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Any, Any]:
    """Return a document, and one that differs from it by a few changes."""
    old = draw(mappings)
    new = deepcopy(old)
    for _ in range(draw(st.integers(0, 4))):
        node: Any = new
        while isinstance(node, dict | list) and node and draw(st.booleans()):
            inner = list(node.values()) if isinstance(node, dict) else node
            child = draw(st.sampled_from(inner))
            if not isinstance(child, dict | list):
                break
            node = child
        if isinstance(node, dict):
            changed = draw(st.permutations(list(node.items())))
            node.clear()
            node.update(changed[draw(st.integers(0, 1)) :])
            node[draw(keys)] = draw(documents)
        elif node:
            node[:] = draw(st.permutations(node))
            node.insert(draw(st.integers(0, len(node))), draw(documents))
    return old, new


def alike(values: list[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    """Return two small documents with values that look equal or nearly equal."""
    document = st.dictionaries(st.sampled_from("ab"), st.sampled_from(values))
    return st.tuples(document, document)


pairs = st.one_of(
    st.tuples(documents, documents),
    neighbours(),
    alike([0, 0.0, -0.0, False]),
    alike([1, 1.0, True, "1"]),
)


@laws
@given(pairs)
def test_leads_exactly_to_the_other(pair: tuple[Any, Any]) -> None:
    """apply(a, diff(a, b)) is b, byte for byte."""
    old, new = pair
    reached = apply(deepcopy(old), diff(old, new))
    assert msgspec.json.encode(reached) == msgspec.json.encode(new)
    assert same(reached, new)


@laws
@given(pairs)
def test_survives_being_stored(pair: tuple[Any, Any]) -> None:
    """A patch that was recorded and read again leads to the same document."""
    old, new = pair
    stored = msgspec.json.decode(msgspec.json.encode(diff(old, new)))
    assert msgspec.json.encode(apply(deepcopy(old), stored)) == msgspec.json.encode(new)


@laws
@given(pairs)
def test_is_empty_for_equals_alone(pair: tuple[Any, Any]) -> None:
    """There are no operations if and only if the bytes are the same."""
    old, new = pair
    is_same = msgspec.json.encode(old) == msgspec.json.encode(new)
    assert (diff(old, new) == []) is is_same
    assert same(old, new) is is_same


@laws
@given(pairs)
def test_changes_neither_document(pair: tuple[Any, Any]) -> None:
    """Comparing two documents changes neither of them."""
    old, new = pair
    before = deepcopy(pair)
    diff(old, new)
    assert same(list(before), list(pair))
