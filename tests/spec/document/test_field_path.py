"""How fields are named: the grammar, and that each name leads to its field."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.state.patch import (
    MISSING,
    find,
    named_items,
    parse_path,
    under_key,
)

DOCUMENT: dict[str, Any] = {
    "status": None,
    "phases": [
        {"id": "a.b", "status": "one", "steps": [{"id": "0", "prompt": "x"}, {}]},
        {"id": "a.b", "status": "two"},
        {"id": 'c"d]', "status": "three"},
    ],
    "odd key/": {"": 1, "x.y": [7, [8]]},
    "1": "one",
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("status", None),
        ("phases[a.b].status", "one"),
        ("phases[0].status", "one"),
        ("phases[1].status", "two"),
        (r'phases["c\"d]"].status', "three"),
        ('phases[a.b].steps["0"].prompt', "x"),
        ("phases[a.b].steps[0].prompt", "x"),
        ("phases[a.b].steps[1]", {}),
        ("phases[9]", MISSING),
        ("phases[nobody].status", MISSING),
        ("status.more", MISSING),
        ('["odd key/"][""]', 1),
        ('["odd key/"]["x.y"][1][0]', 8),
        ("1", "one"),
        ("/phases/2/status", "three"),
        ("/odd key~1/x.y/0", 7),
        ("/odd key~1/", 1),
    ],
)
def test_leads_to_a_field(text: str, value: Any) -> None:
    """A name in brackets is an id, a number an index, text in quotes always text."""
    assert find(DOCUMENT, parse_path(text)) == value


@pytest.mark.parametrize(
    "text", ["", ".", "a..b", "a.", "[0]", "[a]", "a[", "a[]", 'a["x]', "a]b", r'a["\x"]']
)
def test_refuses_what_names_nothing(text: str) -> None:
    """Any other text is refused, with examples of valid ones."""
    with pytest.raises(InvalidInputError, match="does not name a field"):
        parse_path(text)


texts = st.text(max_size=4) | st.sampled_from(["0", "a.b", '"', "]", "[x]", "/", "id", " "])
documents = st.recursive(
    st.integers(0, 3),
    lambda inner: st.one_of(
        st.dictionaries(texts, inner, max_size=3),
        st.lists(inner | st.fixed_dictionaries({"id": texts, "x": inner}), max_size=3),
    ),
    max_leaves=8,
)


def fields(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return the name of every field below a value, and its value."""
    found: list[tuple[str, Any]] = [(name, value)] if name else []
    if isinstance(value, dict):
        for key, inside in value.items():
            found += fields(under_key(name, key), inside)
    elif isinstance(value, list):
        for place, item in named_items(name, value):
            found += fields(place, item)
    return found


@given(st.dictionaries(texts, documents, max_size=3))
def test_every_name_leads_back(document: dict[str, Any]) -> None:
    """The name of a field leads to it, and no two fields have the same name."""
    named = fields("", document)
    assert len({name for name, _ in named}) == len(named)
    for name, value in named:
        assert find(document, parse_path(name)) is value
